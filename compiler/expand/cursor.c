/*
 * The cursor's engine: one loop over instructions.
 *
 * In: the code of one function for the whole program, a rank. Out: the rank's
 * operations in the lanes' room, in the order of the text. The window, the room
 * and the counters are in locals while it runs; what is rare is in cursor_op.c.
 * A rank costs O(instructions run).
 *
 * Work without operations is counted, by the length of the code of each iteration
 * and call, and is limited: every program ends. ccs(5) 8.
 */
#include "compiler/expand/cursor.h"

#include <string.h>

void cursor_init(struct cursor *v, struct code *k, struct tables *t, struct arena *a)
{
	memset(v, 0, sizeof *v);
	v->code = k;
	v->program = k->program;
	v->tables = t;
	v->arena = a;
	v->quiet = k->quiet;
	v->ntasks = k->program->nranks;
}

static bool reserve(struct cursor *v, uint64_t n)
{
	if (n <= v->capstack)
		return true;
	if (n > LIMIT_STACK)
		return false;
	uint32_t cap = v->capstack ? v->capstack : 256;
	while (cap < n)
		cap *= 2;
	v->stack = arena_grow(v->arena, v->stack, v->capstack * sizeof *v->stack,
			      cap * sizeof *v->stack);
	v->capstack = cap;
	return true;
}

bool cursor_push(struct cursor *v, const struct insn *in, uint32_t func, uint32_t d)
{
	const struct func *f = &v->code->funcs[func];
	if (v->nframes >= LIMIT_CALL_DEPTH) {
		cursor_fail(v, in, FAIL_DEPTH, 0, 0);
		return false;
	}
	if (!reserve(v, (uint64_t)v->base + d + f->nregs)) {
		cursor_fail(v, in, FAIL_STACK, 0, 0);
		return false;
	}
	v->idle += 1 + (f->end - f->entry) / 4;
	if (v->idle > LIMIT_IDLE_WORK) {
		cursor_fail(v, in, FAIL_WORK, 0, 0);
		return false;
	}
	ARENA_PUSH(v->arena, v->frames, v->nframes, v->capframes) =
		(struct frame){ (uint32_t)(in - v->code->insns), v->base, func, v->top };
	v->base += d;
	v->pc = f->entry;
	return true;
}

void cursor_set(struct cursor *v, uint32_t reg, int64_t value)
{
	v->stack[reg] = value;
}

void cursor_start(struct cursor *v, uint32_t func, uint32_t rank)
{
	const struct func *f = &v->code->funcs[func];
	v->rank = rank;
	v->report_rank = rank;
	v->rank_key = ((uint64_t)rank + 1) << 32;
	v->func = func;
	v->pc = f->entry;
	v->base = 0;
	reserve(v, f->nregs + 4u); /* below LIMIT_STACK: LIMIT_REGISTERS */
	v->stack[0] = rank;
	v->stack[1] = v->program->nranks;
	v->stack[2] = 0;
	v->stack[3] = 1;
	v->nframes = 0;
	for (uint32_t i = 0; i < v->nlanes; i++)
		v->lane_of[v->lanes[i].path] = 0;
	v->nlanes = 0;
	v->npars = v->njoins = 0;
	v->channel = 0;
	v->at = 0;
	v->lane = NONE;
	v->out = v->end = NULL;
	v->top = v->high = v->program->cells;
	if (v->most < v->top)
		v->most = v->top;
	v->nterms = 0;
	v->nmembers = 0;
	v->wrong = false;
}

/* x modulo m > 0, for an x that is mostly within one m of the right range. */
static inline int64_t modulo(int64_t x, int64_t m)
{
	if ((uint64_t)x < (uint64_t)m)
		return x;
	if (x < 0 && x >= -m)
		return x + m;
	if (x > 0 && x - m < m)
		return x - m;
	int64_t r = x % m;
	return r < 0 ? r + m : r;
}

static void set_lane(struct cursor *v, struct op *out)
{
	if (v->lane != NONE)
		v->lanes[v->lane].n = (uint32_t)(out - v->lanes[v->lane].ops);
	v->out = out;
}

/* Another peer than the last time: its FIFO, if it is there already and is one that
 * needs no check. Most are, where a rank talks to many. */
static bool known_fifo(struct cursor *v, struct opsite *s, int64_t peer)
{
	const struct tables *t = v->tables;
	uint64_t n = v->program->nranks;
	if (!t->direct || v->at != 0 || (uint64_t)peer >= n || v->quiet || !v->links->all)
		return false;
	uint64_t row = s->stmt->kind == S_SEND ? v->rank * n + (uint64_t)peer
					       : (uint64_t)peer * n + v->rank;
	if (!t->direct[row])
		return false;
	s->op.fifo = t->direct[row] - 1;
	s->key = v->rank_key ^ (uint64_t)peer;
	s->at = 0;
	return true;
}

/* Cases that are alike: d is set, after which the next instruction comes; d is set unless
 * it overflows; a jump. */
#define SET(OP, VALUE) \
	case OP: R[in->d] = (VALUE); break;
#define CHECKED(OP, WHAT, X, Y) \
	case OP: \
		x = (X); \
		y = (Y); \
		if (__builtin_##WHAT##_overflow(x, y, &r)) \
			goto overflow; \
		R[in->d] = r; \
		break;
#define JUMP(OP, IF) \
	case OP: \
		if (IF) \
			goto jump; \
		break;

enum cursor_state cursor_next(struct cursor *v)
{
	const struct insn *const code = v->code->insns, *in = code + v->pc;
	struct opsite *const sites = v->code->sites, *s;
	int64_t *R, x = 0, y = 0, r;
	uint64_t idle, at, key = v->rank_key;
	struct op *out, *end;
	enum fail f;
	enum slow slow;

	if (v->lane != NONE) {
		v->out = v->lanes[v->lane].ops + v->lanes[v->lane].n;
		v->end = v->lanes[v->lane].ops + v->lanes[v->lane].cap;
	}
load: /* the cursor's state into locals, after anything that may change it */
	R = v->stack + v->base;
	out = v->out;
	end = v->end;
	at = v->at;
	idle = v->idle;
	for (;; in++)
		switch ((enum insn_op)in->op) {
			SET(I_LDI, in->imm)
			SET(I_MOV, R[in->a])
			SET(I_WHOLE, v->rank)
			CHECKED(I_ADD, add, R[in->a], R[in->b])
			CHECKED(I_SUB, sub, R[in->a], R[in->b])
			CHECKED(I_MUL, mul, R[in->a], R[in->b])
			CHECKED(I_ADDI, add, R[in->a], in->imm)
			CHECKED(I_RSUBI, sub, in->imm, R[in->a])
			CHECKED(I_MULI, mul, R[in->a], in->imm)
			SET(I_EQ, R[in->a] == R[in->b])
			SET(I_NE, R[in->a] != R[in->b])
			SET(I_LT, R[in->a] < R[in->b])
			SET(I_LE, R[in->a] <= R[in->b])
			SET(I_EQI, R[in->a] == in->imm)
			SET(I_NEI, R[in->a] != in->imm)
			SET(I_LTI, R[in->a] < in->imm)
			SET(I_LEI, R[in->a] <= in->imm)
			SET(I_GTI, R[in->a] > in->imm)
			SET(I_GEI, R[in->a] >= in->imm)
			SET(I_BANDI, R[in->a] & in->imm)
			SET(I_SARI, R[in->a] >> in->imm)
			SET(I_NOT, !R[in->a])
			SET(I_COMPL, ~R[in->a])
			SET(I_BOOL, R[in->a] != 0)
		case I_MOD:
			x = R[in->a];
			y = R[in->b];
			if (y > 0 && y <= INT32_MAX) {
				R[in->d] = modulo(x, y);
				break;
			}
			goto binary;
		case I_DIV:
		case I_SHL:
		case I_SHR:
		case I_BAND:
		case I_BOR:
		case I_BXOR:
		case I_MIN:
		case I_MAX:
			x = R[in->a];
			y = R[in->b];
		binary:
			f = arith_binary((enum insn_op)in->op, x, y, &r);
			if (f != FAIL_NONE)
				goto fail;
			R[in->d] = r;
			break;
		case I_NEG:
		case I_ABS:
		case I_ILOG2:
		case I_CLOG2:
		case I_ISPOW2:
		case I_POPCOUNT:
		case I_CTZ:
			x = R[in->a];
			f = arith_unary((enum insn_op)in->op, x, &r);
			if (f != FAIL_NONE)
				goto fail;
			R[in->d] = r;
			break;
		case I_DIVI: /* imm > 0: cannot fail */
			(void)arith_div(R[in->a], in->imm, &R[in->d]);
			break;
		case I_MODI:
			x = R[in->a];
			if (in->imm <= INT32_MAX)
				R[in->d] = modulo(x, in->imm);
			else
				(void)arith_mod(x, in->imm, &R[in->d]);
			break;
		case I_ADDMOD:
			x = R[in->a];
			y = R[in->b];
			if (__builtin_add_overflow(x, y, &r))
				goto overflow;
			goto add_k;
		case I_SUBMOD:
			x = R[in->a];
			y = R[in->b];
			if (__builtin_sub_overflow(x, y, &r))
				goto overflow;
			goto add_k;
		case I_ADDIMOD:
			r = R[in->a];
		add_k:
			x = r;
			y = in->k;
			if (__builtin_add_overflow(x, y, &r))
				goto overflow;
			R[in->d] = modulo(r, (int64_t)in->m);
			break;
		case I_ENTRY:
		case I_ENTRYR:
			x = R[in->a];
			y = in->m;
			f = FAIL_ENTRY;
			if ((uint64_t)x >= (uint64_t)y)
				goto fail;
			R[in->d] = in->op == I_ENTRY ? v->code->constants[in->k + x] : R[in->b + x];
			break;
			JUMP(I_JMP, true)
			JUMP(I_JZ, R[in->a] == 0)
			JUMP(I_JNZ, R[in->a] != 0)
			JUMP(I_JEQ, R[in->a] == R[in->b])
			JUMP(I_JNE, R[in->a] != R[in->b])
			JUMP(I_JLT, R[in->a] < R[in->b])
			JUMP(I_JLE, R[in->a] <= R[in->b])
			JUMP(I_JEQI, R[in->a] == in->k)
			JUMP(I_JNEI, R[in->a] != in->k)
			JUMP(I_JLTI, R[in->a] < in->k)
			JUMP(I_JLEI, R[in->a] <= in->k)
			JUMP(I_JGTI, R[in->a] > in->k)
			JUMP(I_JGEI, R[in->a] >= in->k)
			JUMP(I_ENTER, R[in->d] >= R[in->d + 1])
		case I_NEXT:
			if (++R[in->d] < R[in->d + 1])
				goto again;
			break;
		case I_ENTERS:
			x = R[in->d + 2];
			f = FAIL_BY;
			if (x == 0)
				goto fail;
			if (x > 0 ? R[in->d] >= R[in->d + 1] : R[in->d] <= R[in->d + 1])
				goto jump;
			break;
		case I_NEXTS: /* past the last number there is nothing more to do */
			x = R[in->d + 2];
			if (!__builtin_add_overflow(R[in->d], x, &r) &&
			    (x > 0 ? r < R[in->d + 1] : r > R[in->d + 1])) {
				R[in->d] = r;
				goto again;
			}
			break;
		again:
			idle += (uint64_t)in->k;
			if (idle > LIMIT_IDLE_WORK) {
				f = FAIL_WORK;
				goto fail;
			}
		jump:
			in = code + in->m - 1;
			break;
		case I_MESSAGE:
			s = &sites[in->m];
			x = R[in->a];
			y = R[in->b];
			if (out == end)
				goto room;
			if ((uint64_t)x >= s->count)
				goto operation;
			if ((s->key != (key ^ (uint64_t)y) || s->at != at) && !known_fifo(v, s, y))
				goto operation;
			*out = s->op;
			out->cell = s->base + (uint32_t)x;
			out++;
			idle = 0;
			break;
		case I_MESSAGEV:
			s = &sites[in->m];
			x = R[in->a];
			y = R[in->b];
			if (out == end)
				goto room;
			if (!s->whole) { /* its own number is never a key */
				if ((uint64_t)y >= (uint64_t)R[s->g + 1])
					goto operation;
				y = cursor_whole(v, &R[s->g], y);
			}
			if ((s->key != (key ^ (uint64_t)y) || s->at != at) && !known_fifo(v, s, y))
				goto operation;
			if (s->x.is_view) {
				const int64_t *view = &R[s->x.view];
				if ((uint64_t)x >= (uint64_t)view[2])
					goto operation;
				*out = s->op;
				out->cell = (uint32_t)(view[0] + x * view[1]);
				out->n = (uint32_t)view[1];
			} else {
				if ((uint64_t)x >= s->count)
					goto operation;
				*out = s->op;
				out->cell = s->base + (uint32_t)x;
			}
			if (s->maybe_joined) {
				if (v->joined)
					out->kind |= OP_JOINED;
				v->joined = true;
			}
			out++;
			idle = 0;
			break;
		case I_OP:
			if (out == end)
				goto room;
		operation:
			v->idle = idle;
			set_lane(v, out);
			v->pc = (uint32_t)(in - code) + 1;
			slow = cursor_operation(v, in);
			goto slow_done;
		case I_RETF:
			x = R[in->a];
			R[0] = x;
			v->nframes--;
			in = code + v->frames[v->nframes].pc;
			v->base = v->frames[v->nframes].base;
			R = v->stack + v->base;
			break;
		case I_STEP: v->joined = false; break;
		case I_LEAVE:
			if (R[in->d + 3] == 0)
				v->nmembers = (uint32_t)R[in->d + 2];
			break;
		case I_MARK: R[in->d] = v->top; break;
		case I_RELEASE: v->top = (uint32_t)R[in->a]; break;
		case I_VALUE: v->value = R[in->a]; goto done;
		case I_END: goto done;
		case I_SCRATCH:
			if (out == end)
				goto room;
			goto rare;
		case I_CALLF:
		case I_CHANNEL:
		case I_UNCHANNEL:
		case I_WITHIN:
		case I_GROUP:
		case I_PAR:
		case I_BLOCK:
		case I_BLOCKEND:
		case I_PAREND:
		case I_REF:
		case I_CALL:
		case I_RET:
		case I_VIEW:
		case I_SAMEPART:
		case I_WHERE:
		case I_ASSERT:
		case I_LINK:
		case I_TERM:
		case I_TERMS:
		rare:
			v->idle = idle;
			set_lane(v, out);
			v->pc = (uint32_t)(in - code) + 1;
			slow = cursor_slow(v, in);
			goto slow_done;
		}
room: /* no room for the instruction's operation: it is run again afterwards */
	v->idle = idle;
	set_lane(v, out);
	v->pc = (uint32_t)(in - code);
	slow = cursor_room(v);
slow_done:
	if (slow == SLOW_GO) {
		in = code + v->pc;
		goto load;
	}
	return slow == SLOW_ROOM ? CURSOR_ROOM : CURSOR_STOPPED;
done:
	v->idle = idle;
	set_lane(v, out);
	return CURSOR_DONE;
overflow:
	f = FAIL_OVERFLOW;
fail:
	v->idle = idle;
	set_lane(v, out);
	cursor_fail(v, in, f, x, y);
	return CURSOR_STOPPED;
}
