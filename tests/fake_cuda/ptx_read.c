/*
 * Reading PTX. See ptx.h. A text is words and signs; a statement ends with ';'. Names of registers
 * are a declared prefix and a number; names of parameters and labels are those of a function.
 */
#include "tests/fake_cuda/ptx_reader.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- operands ---------------------------------------------------------------------------- */

static bool find_register(const struct ptx_reader *r, const char *text, uint32_t *at)
{
	size_t n = strcspn(text, "0123456789");
	char *end;

	for (uint32_t i = 0; i < r->registers.n; i++) {
		const struct ptx_name *d = r->registers.v + i;
		unsigned long k;

		if (!d->more && !strcmp(d->text, text)) {
			*at = d->value;
			return true;
		}
		if (!d->more || strlen(d->text) != n || memcmp(d->text, text, n) || !text[n])
			continue;
		k = strtoul(text + n, &end, 10);
		if (*end || k >= d->more)
			return false;
		*at = d->value + (uint32_t)k;
		return true;
	}
	return false;
}

static struct ptx_operand named(struct ptx_reader *r, const char *text)
{
	static const struct {
		const char *name;
		enum ptx_special special;
	} specials[] = { { "%tid.x", TID },	   { "%ntid.x", NTID }, { "%ctaid.x", CTAID },
			 { "%nctaid.x", NCTAID },  { "%laneid", LANE }, { "%gridid", GRID },
			 { "%globaltimer", CLOCK } };
	struct ptx_operand o = { .kind = AT_REGISTER };
	const struct ptx_name *name;

	if (find_register(r, text, &o.at))
		return o;
	for (size_t i = 0; i < sizeof(specials) / sizeof(*specials); i++)
		if (!strcmp(text, specials[i].name))
			return (struct ptx_operand){ .kind = AT_SPECIAL,
						     .at = specials[i].special };
	name = ptx_find(&r->params, text);
	o.kind = AT_PARAM;
	if (!name) {
		name = ptx_find(&r->shared, text);
		o.kind = AT_SHARED;
	}
	if (!name)
		ptx_fail(r, "'%s' is not known", text);
	o.at = name->value;
	return o;
}

static struct ptx_operand operand(struct ptx_reader *r)
{
	struct ptx_operand o = { .kind = AT_NUMBER };
	char text[NAME];

	if (ptx_is(r, "-") || (r->word.n && isdigit((unsigned char)*r->word.at))) {
		o.value = ptx_take_number(r);
		return o;
	}
	ptx_take_name(r, text);
	o = named(r, text);
	if (ptx_take(r, "+"))
		o.value = ptx_take_number(r);
	return o;
}

static struct ptx_operand address(struct ptx_reader *r)
{
	struct ptx_operand o;

	ptx_need(r, "[");
	o = operand(r);
	ptx_need(r, "]");
	return o;
}

/* {a, b} or a: how many. */
static uint8_t vector(struct ptx_reader *r, struct ptx_operand *to)
{
	uint8_t n = 0;

	if (!ptx_take(r, "{")) {
		to[0] = operand(r);
		return 1;
	}
	do {
		if (n == 4)
			ptx_fail(r, "more than 4 elements");
		to[n++] = operand(r);
	} while (ptx_take(r, ","));
	ptx_need(r, "}");
	return n;
}

/* ---- statements ---------------------------------------------------------------------------- */

static struct ptx_insn *new_insn(struct ptx_reader *r)
{
	struct ptx *p = r->p;

	p->insn = ptx_room(r, p->insn, p->n, sizeof(*p->insn));
	p->insn[p->n] = (struct ptx_insn){ .guard = -1, .line = r->word.line };
	return p->insn + p->n++;
}

static void arg(struct ptx_reader *r)
{
	const struct ptx_name *name;
	char text[NAME];

	ptx_take_name(r, text);
	name = ptx_find(&r->params, text);
	if (!name)
		ptx_fail(r, "'%s' is no parameter", text);
	r->p->args = ptx_room(r, r->p->args, r->p->nargs, sizeof(*r->p->args));
	r->p->args[r->p->nargs++] = name->value;
}

/* call (result), name, (a, b); */
static void call(struct ptx_reader *r, struct ptx_insn *to)
{
	struct ptx_fixup *f;

	to->args = r->p->nargs;
	if (ptx_take(r, "(")) {
		to->result = true;
		arg(r);
		ptx_need(r, ")");
		ptx_need(r, ",");
	}
	r->calls = ptx_room(r, r->calls, r->ncalls, sizeof(*r->calls));
	f = r->calls + r->ncalls++;
	f->insn = (uint32_t)(to - r->p->insn);
	ptx_take_name(r, f->name);
	if (!ptx_take(r, ",") || !ptx_take(r, "("))
		return;
	while (!ptx_take(r, ")")) {
		arg(r);
		ptx_take(r, ",");
	}
}

static void jump(struct ptx_reader *r, const struct ptx_insn *to)
{
	struct ptx_fixup *f;

	r->jumps = ptx_room(r, r->jumps, r->njumps, sizeof(*r->jumps));
	f = r->jumps + r->njumps++;
	f->insn = (uint32_t)(to - r->p->insn);
	ptx_take_name(r, f->name);
}

/* bar.sync 0;  bar.red.or.pred p, 0, q;  bar.warp.sync -1; */
static void bar(struct ptx_reader *r, struct ptx_insn *to)
{
	if (to->what == G_OR || to->what == G_AND) {
		to->to[0] = operand(r);
		ptx_need(r, ",");
	}
	to->b = operand(r);
	if (to->what != G_WARP && (to->b.kind != AT_NUMBER || to->b.value))
		ptx_fail(r, "a barrier that is not number 0");
	if (!ptx_take(r, ","))
		return;
	to->a = operand(r);
	if (to->what == G_BLOCK)
		ptx_fail(r, "a barrier of some of the threads");
}

/* mov a, b;  mov {a, b}, c;  mov a, {b, c}; */
static void move(struct ptx_reader *r, struct ptx_insn *to)
{
	struct ptx_operand from[4] = { { 0 } };
	uint8_t n = vector(r, to->to), m;

	ptx_need(r, ",");
	m = vector(r, from);
	to->n = n > m ? n : m;
	to->what = m > 1; /* pack */
	to->a = from[0];
	to->b = from[1];
	to->c = from[2];
	to->d = from[3];
}

/* ld.global.L2::cache_hint a, [b], policy; */
static void policy(struct ptx_reader *r, struct ptx_insn *to)
{
	if (!to->hinted)
		return;
	ptx_need(r, ",");
	to->b = operand(r);
}

static void operands(struct ptx_reader *r, enum ptx_shape shape, struct ptx_insn *to)
{
	struct ptx_operand *const rest[] = { &to->a, &to->b, &to->c, &to->d };
	unsigned n = shape <= S_QUAD ? (unsigned)shape + 1 : 0;

	if (n)
		to->to[0] = operand(r);
	for (unsigned i = 0; i < n; i++) {
		ptx_need(r, ",");
		*rest[i] = operand(r);
	}
	switch ((int)shape) {
	case S_LOAD:
		to->n = vector(r, to->to);
		ptx_need(r, ",");
		to->a = address(r);
		policy(r, to);
		break;
	case S_STORE:
		to->a = address(r);
		ptx_need(r, ",");
		to->n = vector(r, to->to);
		policy(r, to);
		break;
	case S_ATOM:
		to->to[0] = operand(r);
		ptx_need(r, ",");
		to->a = address(r);
		ptx_need(r, ",");
		to->b = operand(r);
		if (ptx_take(r, ","))
			to->c = operand(r);
		break;
	case S_OWN:
		if (to->op == P_CALL)
			call(r, to);
		else if (to->op == P_BRA)
			jump(r, to);
		else if (to->op == P_BAR)
			bar(r, to);
		else if (to->op == P_MOV)
			move(r, to);
		else if (to->op == P_HINT)
			to->to[0] = operand(r);
		else
			to->a = operand(r);
		break;
	default: break;
	}
}

static void instruction(struct ptx_reader *r)
{
	struct ptx_insn *to = new_insn(r);
	struct ptx_operand guard;

	if (ptx_take(r, "@")) {
		to->unless = ptx_take(r, "!");
		guard = operand(r);
		to->guard = (int)guard.at;
	}
	operands(r, ptx_opcode(r, to), to);
	ptx_need(r, ";");
}

/* .param .align 8 .b8 name[968]: its bytes; its name. */
static uint32_t declared(struct ptx_reader *r, char *name)
{
	char text[NAME];
	struct ptx_type type;
	uint32_t n = 1;

	if (ptx_take(r, ".align"))
		ptx_take_number(r);
	ptx_take_name(r, text);
	type = ptx_type_of(r, text + 1);
	ptx_take_name(r, name);
	if (ptx_take(r, "[")) {
		n = (uint32_t)ptx_take_number(r);
		ptx_need(r, "]");
	}
	return n * type.bytes;
}

static uint32_t in_frame(struct ptx_reader *r, const char *name, uint32_t bytes)
{
	uint32_t at = r->f->frame;

	ptx_add(r, &r->params, name, at, bytes);
	r->f->frame += (bytes + 7) / 8 * 8;
	return at;
}

/* .reg .b32 %r<30>;  .reg .b32 one; */
static void registers(struct ptx_reader *r)
{
	char text[NAME];
	uint32_t n = 0;

	ptx_take_name(r, text); /* its type is that of the instructions */
	ptx_take_name(r, text);
	if (ptx_take(r, "<")) {
		n = (uint32_t)ptx_take_number(r);
		ptx_need(r, ">");
	}
	ptx_add(r, &r->registers, text, r->f->registers, n);
	r->f->registers += n ? n : 1;
}

/* Of the block; in a function, what no other one uses. */
static void shared(struct ptx_reader *r)
{
	char name[NAME];
	uint32_t bytes = declared(r, name);

	ptx_add(r, &r->shared, name, r->p->shared, bytes);
	r->p->shared += (bytes + 15) / 16 * 16;
}

static void statement(struct ptx_reader *r)
{
	const char *at = r->at;
	char text[NAME];

	if (ptx_take(r, "{") || ptx_take(r, "}") || ptx_take(r, ";"))
		return;
	if (*r->word.at == '.') {
		if (ptx_take(r, ".reg")) {
			registers(r);
		} else if (ptx_take(r, ".shared")) {
			shared(r);
		} else if (ptx_take(r, ".param")) {
			uint32_t bytes = declared(r, text);

			in_frame(r, text, bytes);
		} else {
			while (!ptx_is(r, ";"))
				ptx_next(r);
		}
		ptx_need(r, ";");
		return;
	}
	while (isspace((unsigned char)*at))
		at++;
	if (*at == ':') {
		ptx_take_name(r, text);
		ptx_need(r, ":");
		ptx_add(r, &r->labels, text, r->p->n, 0);
		return;
	}
	instruction(r);
}

/* ---- functions ------------------------------------------------------------------------------- */

static void formal(struct ptx_reader *r)
{
	struct ptx_function *f = r->f;
	char name[NAME];
	uint32_t bytes;

	ptx_need(r, ".param");
	bytes = declared(r, name);
	if (f->nparams == sizeof(f->params) / sizeof(*f->params))
		ptx_fail(r, "too many parameters");
	f->bytes[f->nparams] = bytes;
	f->params[f->nparams++] = in_frame(r, name, bytes);
}

static void body(struct ptx_reader *r)
{
	struct ptx_function *f = r->f;
	int depth = 0;

	f->first = r->p->n;
	do {
		depth += ptx_is(r, "{") - ptx_is(r, "}");
		if (!r->word.n)
			ptx_fail(r, "a function without an end");
		statement(r);
	} while (depth);
	f->n = r->p->n - f->first;
	for (uint32_t i = 0; i < r->njumps; i++) {
		const struct ptx_name *label = ptx_find(&r->labels, r->jumps[i].name);

		if (!label)
			ptx_fail(r, "no label %s", r->jumps[i].name);
		r->p->insn[r->jumps[i].insn].target = label->value;
	}
}

static void function(struct ptx_reader *r, bool entry)
{
	struct ptx *p = r->p;

	p->function = ptx_room(r, p->function, p->nfunctions, sizeof(*p->function));
	r->f = p->function + p->nfunctions;
	memset(r->f, 0, sizeof(*r->f));
	r->registers.n = r->params.n = r->labels.n = r->njumps = 0;
	if (ptx_take(r, "(")) {
		r->f->result = true;
		formal(r);
		ptx_need(r, ")");
	}
	ptx_take_name(r, r->f->name);
	if (ptx_take(r, "("))
		while (!ptx_take(r, ")")) {
			formal(r);
			ptx_take(r, ",");
		}
	while (!ptx_is(r, "{") && !ptx_is(r, ";") && r->word.n)
		ptx_next(r);
	if (ptx_take(r, ";")) /* of another, or to come */
		return;
	p->nfunctions++;
	body(r);
	if (entry)
		p->entry = p->nfunctions - 1;
}

static void text(struct ptx_reader *r)
{
	bool any = false;

	ptx_next(r);
	while (r->word.n) {
		if (ptx_take(r, ".shared")) {
			shared(r);
			ptx_need(r, ";");
		} else if (ptx_take(r, ".entry")) {
			if (any)
				ptx_fail(r, "a second entry");
			any = true;
			function(r, true);
		} else if (ptx_take(r, ".func")) {
			function(r, false);
		} else if (ptx_is(r, ".global") || ptx_is(r, ".const") || ptx_is(r, ".extern")) {
			ptx_fail(r, "'%.*s' is not known", (int)r->word.n, r->word.at);
		} else {
			ptx_next(r); /* .visible, .version 9.0, .target sm_90 ... */
		}
	}
	if (!any)
		ptx_fail(r, "no entry");
	for (uint32_t i = 0; i < r->ncalls; i++) {
		uint32_t f = 0;

		while (f < r->p->nfunctions && strcmp(r->p->function[f].name, r->calls[i].name))
			f++;
		if (f == r->p->nfunctions)
			ptx_fail(r, "no function %s", r->calls[i].name);
		r->p->insn[r->calls[i].insn].target = f;
	}
}

/* What a failure leaves is freed by the caller. */
static bool read_all(struct ptx_reader *r)
{
	if (setjmp(r->out))
		return false;
	text(r);
	return true;
}

struct ptx *ptx_read(const char *from, char *why, size_t size)
{
	struct ptx_reader r = { .at = from, .line = 1, .why = why, .size = size };
	struct ptx_names *const all[] = { &r.registers, &r.params, &r.labels, &r.shared };
	bool ok = true;

	r.p = calloc(1, sizeof(*r.p));
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		all[i]->v = calloc(NAMES, sizeof(*all[i]->v));
		ok &= all[i]->v != NULL;
	}
	if (!r.p || !ok)
		snprintf(why, size, "out of memory");
	ok = r.p && ok && read_all(&r);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		free(all[i]->v);
	free(r.jumps);
	free(r.calls);
	if (ok)
		return r.p;
	ptx_free(r.p);
	return NULL;
}

void ptx_free(struct ptx *p)
{
	if (!p)
		return;
	free(p->insn);
	free(p->function);
	free(p->args);
	free(p);
}
