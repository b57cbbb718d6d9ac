/*
 * Reading PTX. See ptx.h. A text is words and signs; a statement ends with ';'. Names of registers
 * are a declared prefix and a number; names of parameters and labels are those of a function.
 */
#include "tests/fake_cuda/ptx.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME 128
#define NAMES 4096

struct word {
	const char *at;
	size_t n;
	uint32_t line;
};

struct name {
	char text[NAME];
	uint32_t value, more; /* registers: the first, and how many; parameters: offset, bytes */
};

struct names {
	struct name *v;
	uint32_t n;
};

struct fixup {
	char name[NAME];
	uint32_t insn;
};

struct reader {
	const char *at;
	uint32_t line;
	struct word word; /* the one at hand; n 0: the end */
	struct ptx *p;
	struct ptx_function *f; /* that is being read */
	struct names registers, params, labels, shared;
	struct fixup *jumps, *calls;
	uint32_t njumps, ncalls;
	char *why;
	size_t size;
	jmp_buf out;
};

__attribute__((format(printf, 2, 3), noreturn)) static void fail(struct reader *r,
								 const char *format, ...)
{
	int n = snprintf(r->why, r->size, "line %u: ", r->word.line);
	va_list ap;

	va_start(ap, format);
	vsnprintf(r->why + n, r->size - (size_t)n, format, ap);
	va_end(ap);
	longjmp(r->out, 1);
}

static void *room(struct reader *r, void *of, uint32_t n, size_t size)
{
	void *more = of;

	if (!(n & (n - 1))) /* a power of two, or none: twice as many */
		more = realloc(of, (n ? 2 * (size_t)n : 1) * size);
	if (!more)
		fail(r, "out of memory");
	return more;
}

/* ---- words ------------------------------------------------------------------------------- */

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || c == '%';
}

static void next(struct reader *r)
{
	for (;; r->at++) {
		if (r->at[0] == '/' && r->at[1] == '/')
			r->at += strcspn(r->at, "\n");
		if (*r->at == '\n')
			r->line++;
		if (!isspace((unsigned char)*r->at))
			break;
	}
	r->word = (struct word){ r->at, 0, r->line };
	if (!*r->at)
		return;
	if (*r->at == '"')
		r->at += 1 + strcspn(r->at + 1, "\"");
	if (in_word(*r->at))
		while (in_word(*r->at))
			r->at++;
	else
		r->at++;
	r->word.n = (size_t)(r->at - r->word.at);
}

static bool is(const struct reader *r, const char *text)
{
	return r->word.n == strlen(text) && !memcmp(r->word.at, text, r->word.n);
}

static bool take(struct reader *r, const char *text)
{
	if (!is(r, text))
		return false;
	next(r);
	return true;
}

static void need(struct reader *r, const char *text)
{
	if (!take(r, text))
		fail(r, "'%s' is missing before '%.*s'", text, (int)r->word.n, r->word.at);
}

static void take_name(struct reader *r, char *to)
{
	if (!r->word.n || r->word.n >= NAME || !in_word(*r->word.at))
		fail(r, "no name: '%.*s'", (int)r->word.n, r->word.at);
	memcpy(to, r->word.at, r->word.n);
	to[r->word.n] = '\0';
	next(r);
}

/* The last of that name: names of parameters come again in each call. */
static const struct name *find(const struct names *names, const char *text)
{
	for (uint32_t i = names->n; i--;)
		if (!strcmp(names->v[i].text, text))
			return names->v + i;
	return NULL;
}

static void add(struct reader *r, struct names *names, const char *text, uint32_t value,
		uint32_t more)
{
	if (names->n == NAMES)
		fail(r, "more than %d names", NAMES);
	snprintf(names->v[names->n].text, NAME, "%s", text);
	names->v[names->n].value = value;
	names->v[names->n++].more = more;
}

static int64_t take_number(struct reader *r)
{
	bool minus = take(r, "-");
	char text[NAME], *end;
	int64_t v;

	take_name(r, text);
	if (text[0] == '0' && (text[1] == 'f' || text[1] == 'd') && strlen(text) > 9)
		v = (int64_t)strtoull(text + 2, &end, 16); /* the bits of a float */
	else
		v = (int64_t)strtoull(text, &end, 0);
	if (end == text || (*end && strcmp(end, "U")))
		fail(r, "no number: '%s'", text);
	return minus ? -v : v;
}

/* ---- operands ---------------------------------------------------------------------------- */

static bool find_register(const struct reader *r, const char *text, uint32_t *at)
{
	size_t n = strcspn(text, "0123456789");
	char *end;

	for (uint32_t i = 0; i < r->registers.n; i++) {
		const struct name *d = r->registers.v + i;
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

static struct ptx_operand named(struct reader *r, const char *text)
{
	static const struct {
		const char *name;
		enum ptx_special special;
	} specials[] = { { "%tid.x", TID },	   { "%ntid.x", NTID }, { "%ctaid.x", CTAID },
			 { "%nctaid.x", NCTAID },  { "%laneid", LANE }, { "%gridid", GRID },
			 { "%globaltimer", CLOCK } };
	struct ptx_operand o = { .kind = AT_REGISTER };
	const struct name *name;

	if (find_register(r, text, &o.at))
		return o;
	for (size_t i = 0; i < sizeof(specials) / sizeof(*specials); i++)
		if (!strcmp(text, specials[i].name))
			return (struct ptx_operand){ .kind = AT_SPECIAL,
						     .at = specials[i].special };
	name = find(&r->params, text);
	o.kind = AT_PARAM;
	if (!name) {
		name = find(&r->shared, text);
		o.kind = AT_SHARED;
	}
	if (!name)
		fail(r, "'%s' is not known", text);
	o.at = name->value;
	return o;
}

static struct ptx_operand operand(struct reader *r)
{
	struct ptx_operand o = { .kind = AT_NUMBER };
	char text[NAME];

	if (is(r, "-") || (r->word.n && isdigit((unsigned char)*r->word.at))) {
		o.value = take_number(r);
		return o;
	}
	take_name(r, text);
	o = named(r, text);
	if (take(r, "+"))
		o.value = take_number(r);
	return o;
}

static struct ptx_operand address(struct reader *r)
{
	struct ptx_operand o;

	need(r, "[");
	o = operand(r);
	need(r, "]");
	return o;
}

/* {a, b} or a: how many. */
static uint8_t vector(struct reader *r, struct ptx_operand *to)
{
	uint8_t n = 0;

	if (!take(r, "{")) {
		to[0] = operand(r);
		return 1;
	}
	do {
		if (n == 4)
			fail(r, "more than 4 elements");
		to[n++] = operand(r);
	} while (take(r, ","));
	need(r, "}");
	return n;
}

/* ---- names of instructions ------------------------------------------------------------------ */

static struct ptx_type type_of(struct reader *r, const char *text)
{
	unsigned bits = 0;

	if (!strcmp(text, "pred"))
		return (struct ptx_type){ 'p', 1 };
	if (strchr("bsuf", text[0]))
		bits = (unsigned)atoi(text + 1);
	if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
		fail(r, "type '%s' is not known", text);
	return (struct ptx_type){ text[0], (uint8_t)(bits / 8) };
}

/* How operands follow. */
enum shape { S_UNARY, S_BINARY, S_TERNARY, S_QUAD, S_LOAD, S_STORE, S_ATOM, S_NONE, S_OWN };

static const struct {
	const char *name;
	enum ptx_op op;
	enum shape shape;
} known[] = {
	{ "abs", P_ABS, S_UNARY },	 { "add", P_ADD, S_BINARY },
	{ "and", P_AND, S_BINARY },	 { "atom", P_ATOM, S_ATOM },
	{ "bar", P_BAR, S_OWN },	 { "barrier", P_BAR, S_OWN },
	{ "bfe", P_BFE, S_TERNARY },	 { "bfi", P_BFI, S_QUAD },
	{ "bra", P_BRA, S_OWN },	 { "call", P_CALL, S_OWN },
	{ "cvt", P_CVT, S_UNARY },	 { "cvta", P_CVTA, S_UNARY },
	{ "div", P_DIV, S_BINARY },	 { "exit", P_RET, S_NONE },
	{ "fence", P_FENCE, S_NONE },	 { "fma", P_FMA, S_TERNARY },
	{ "ld", P_LD, S_LOAD },		 { "ldu", P_LD, S_LOAD },
	{ "mad", P_MAD, S_TERNARY },	 { "max", P_MAX, S_BINARY },
	{ "membar", P_FENCE, S_NONE },	 { "min", P_MIN, S_BINARY },
	{ "mov", P_MOV, S_OWN },	 { "mul", P_MUL, S_BINARY },
	{ "nanosleep", P_SLEEP, S_OWN }, { "neg", P_NEG, S_UNARY },
	{ "not", P_NOT, S_UNARY },	 { "or", P_OR, S_BINARY },
	{ "prmt", P_PRMT, S_TERNARY },	 { "rem", P_REM, S_BINARY },
	{ "ret", P_RET, S_NONE },	 { "selp", P_SELP, S_TERNARY },
	{ "setp", P_SETP, S_BINARY },	 { "shl", P_SHL, S_BINARY },
	{ "shr", P_SHR, S_BINARY },	 { "st", P_ST, S_STORE },
	{ "sub", P_SUB, S_BINARY },	 { "xor", P_XOR, S_BINARY },
};

/* Parts of names that change nothing here: rounding that is the default, caches, scopes. */
static bool is_silent(const char *part)
{
	static const char *const silent[] = { "uni",	"rn",	    "rni",     "rzi",	  "to",
					      "sys",	"gpu",	    "cta",     "nc",	  "sc",
					      "param",	"sync",	    "aligned", "acq_rel", "release",
					      "global", "volatile", "shared",  "relaxed" };

	for (size_t i = 0; i < sizeof(silent) / sizeof(*silent); i++)
		if (!strcmp(part, silent[i]))
			return true;
	return false;
}

static bool compare_of(const char *part, struct ptx_insn *to)
{
	static const struct {
		const char *name;
		enum ptx_compare what;
		bool unordered;
	} all[] = {
		{ "eq", C_EQ, 0 },  { "ne", C_NE, 0 },	{ "lt", C_LT, 0 },  { "le", C_LE, 0 },
		{ "gt", C_GT, 0 },  { "ge", C_GE, 0 },	{ "lo", C_LT, 0 },  { "ls", C_LE, 0 },
		{ "hi", C_GT, 0 },  { "hs", C_GE, 0 },	{ "equ", C_EQ, 1 }, { "neu", C_NE, 1 },
		{ "ltu", C_LT, 1 }, { "leu", C_LE, 1 }, { "gtu", C_GT, 1 }, { "geu", C_GE, 1 }
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(part, all[i].name)) {
			to->what = all[i].what;
			to->unordered = all[i].unordered;
			return true;
		}
	return false;
}

static int index_of(const char *part, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(part, names[i]))
			return (int)i;
	return -1;
}

/* One part of an instruction's name that says what it does; false: it is none. */
static bool part_of(const char *part, struct ptx_insn *to)
{
	static const char *const forms[] = { "lo", "hi", "wide" };
	static const char *const atoms[] = { "add", "cas", "exch", "max", "min", "or", "and" };
	int i = -1;

	switch ((int)to->op) {
	case P_SETP: return compare_of(part, to);
	case P_MUL:
	case P_MAD: i = index_of(part, forms, sizeof(forms) / sizeof(*forms)); break;
	case P_ATOM: i = index_of(part, atoms, sizeof(atoms) / sizeof(*atoms)); break;
	case P_BAR:
		if (!strcmp(part, "warp"))
			i = G_WARP;
		else if (!strcmp(part, "or"))
			i = G_OR;
		else if (!strcmp(part, "and"))
			i = G_AND;
		else if (!strcmp(part, "red"))
			return true;
		break;
	case P_LD:
		if (strcmp(part, "acquire") && strcmp(part, "relaxed"))
			return false;
		to->poll = true;
		return true;
	default: break;
	}
	if (i >= 0)
		to->what = (uint8_t)i;
	return i >= 0;
}

/* The name at hand, part by part. */
static enum shape opcode(struct reader *r, struct ptx_insn *to)
{
	char text[NAME], *part, *save = NULL;
	enum shape shape = S_NONE;
	bool typed = false, found = false;

	take_name(r, text);
	part = strtok_r(text, ".", &save);
	for (size_t i = 0; part && i < sizeof(known) / sizeof(*known) && !found; i++)
		if (!strcmp(part, known[i].name)) {
			to->op = known[i].op;
			shape = known[i].shape;
			found = true;
		}
	if (!found)
		fail(r, "instruction '%s' is not known", part ? part : "");
	to->n = 1;
	to->global = to->op == P_ATOM || to->op == P_LD || to->op == P_ST;
	while ((part = strtok_r(NULL, ".", &save))) {
		if (!strcmp(part, "param") || !strcmp(part, "shared"))
			to->global = false;
		if (part_of(part, to) || is_silent(part))
			continue;
		if (part[0] == 'v' && isdigit((unsigned char)part[1]))
			continue; /* the vector says how many */
		if (typed)
			to->from = type_of(r, part);
		else
			to->type = type_of(r, part);
		typed = true;
	}
	return shape;
}

/* ---- statements ---------------------------------------------------------------------------- */

static struct ptx_insn *new_insn(struct reader *r)
{
	struct ptx *p = r->p;

	p->insn = room(r, p->insn, p->n, sizeof(*p->insn));
	p->insn[p->n] = (struct ptx_insn){ .guard = -1, .line = r->word.line };
	return p->insn + p->n++;
}

static void arg(struct reader *r)
{
	const struct name *name;
	char text[NAME];

	take_name(r, text);
	name = find(&r->params, text);
	if (!name)
		fail(r, "'%s' is no parameter", text);
	r->p->args = room(r, r->p->args, r->p->nargs, sizeof(*r->p->args));
	r->p->args[r->p->nargs++] = name->value;
}

/* call (result), name, (a, b); */
static void call(struct reader *r, struct ptx_insn *to)
{
	struct fixup *f;

	to->args = r->p->nargs;
	if (take(r, "(")) {
		to->result = true;
		arg(r);
		need(r, ")");
		need(r, ",");
	}
	r->calls = room(r, r->calls, r->ncalls, sizeof(*r->calls));
	f = r->calls + r->ncalls++;
	f->insn = (uint32_t)(to - r->p->insn);
	take_name(r, f->name);
	if (!take(r, ",") || !take(r, "("))
		return;
	while (!take(r, ")")) {
		arg(r);
		take(r, ",");
	}
}

static void jump(struct reader *r, const struct ptx_insn *to)
{
	struct fixup *f;

	r->jumps = room(r, r->jumps, r->njumps, sizeof(*r->jumps));
	f = r->jumps + r->njumps++;
	f->insn = (uint32_t)(to - r->p->insn);
	take_name(r, f->name);
}

/* bar.sync 0;  bar.red.or.pred p, 0, q;  bar.warp.sync -1; */
static void bar(struct reader *r, struct ptx_insn *to)
{
	if (to->what == G_OR || to->what == G_AND) {
		to->to[0] = operand(r);
		need(r, ",");
	}
	to->b = operand(r);
	if (to->what != G_WARP && (to->b.kind != AT_NUMBER || to->b.value))
		fail(r, "a barrier that is not number 0");
	if (!take(r, ","))
		return;
	to->a = operand(r);
	if (to->what == G_BLOCK)
		fail(r, "a barrier of some of the threads");
}

/* mov a, b;  mov {a, b}, c;  mov a, {b, c}; */
static void move(struct reader *r, struct ptx_insn *to)
{
	struct ptx_operand from[4] = { { 0 } };
	uint8_t n = vector(r, to->to), m;

	need(r, ",");
	m = vector(r, from);
	to->n = n > m ? n : m;
	to->what = m > 1; /* pack */
	to->a = from[0];
	to->b = from[1];
	to->c = from[2];
	to->d = from[3];
}

static void operands(struct reader *r, enum shape shape, struct ptx_insn *to)
{
	struct ptx_operand *const rest[] = { &to->a, &to->b, &to->c, &to->d };
	unsigned n = shape <= S_QUAD ? (unsigned)shape + 1 : 0;

	if (n)
		to->to[0] = operand(r);
	for (unsigned i = 0; i < n; i++) {
		need(r, ",");
		*rest[i] = operand(r);
	}
	switch ((int)shape) {
	case S_LOAD:
		to->n = vector(r, to->to);
		need(r, ",");
		to->a = address(r);
		break;
	case S_STORE:
		to->a = address(r);
		need(r, ",");
		to->n = vector(r, to->to);
		break;
	case S_ATOM:
		to->to[0] = operand(r);
		need(r, ",");
		to->a = address(r);
		need(r, ",");
		to->b = operand(r);
		if (take(r, ","))
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
		else
			to->a = operand(r);
		break;
	default: break;
	}
}

static void instruction(struct reader *r)
{
	struct ptx_insn *to = new_insn(r);
	struct ptx_operand guard;

	if (take(r, "@")) {
		to->unless = take(r, "!");
		guard = operand(r);
		to->guard = (int)guard.at;
	}
	operands(r, opcode(r, to), to);
	need(r, ";");
}

/* .param .align 8 .b8 name[968]: its bytes; its name. */
static uint32_t declared(struct reader *r, char *name)
{
	char text[NAME];
	struct ptx_type type;
	uint32_t n = 1;

	if (take(r, ".align"))
		take_number(r);
	take_name(r, text);
	type = type_of(r, text + 1);
	take_name(r, name);
	if (take(r, "[")) {
		n = (uint32_t)take_number(r);
		need(r, "]");
	}
	return n * type.bytes;
}

static uint32_t in_frame(struct reader *r, const char *name, uint32_t bytes)
{
	uint32_t at = r->f->frame;

	add(r, &r->params, name, at, bytes);
	r->f->frame += (bytes + 7) / 8 * 8;
	return at;
}

/* .reg .b32 %r<30>;  .reg .b32 one; */
static void registers(struct reader *r)
{
	char text[NAME];
	uint32_t n = 0;

	take_name(r, text); /* its type is that of the instructions */
	take_name(r, text);
	if (take(r, "<")) {
		n = (uint32_t)take_number(r);
		need(r, ">");
	}
	add(r, &r->registers, text, r->f->registers, n);
	r->f->registers += n ? n : 1;
}

static void statement(struct reader *r)
{
	const char *at = r->at;
	char text[NAME];

	if (take(r, "{") || take(r, "}") || take(r, ";"))
		return;
	if (*r->word.at == '.') {
		if (take(r, ".reg")) {
			registers(r);
		} else if (take(r, ".param")) {
			uint32_t bytes = declared(r, text);

			in_frame(r, text, bytes);
		} else {
			while (!is(r, ";"))
				next(r);
		}
		need(r, ";");
		return;
	}
	while (isspace((unsigned char)*at))
		at++;
	if (*at == ':') {
		take_name(r, text);
		need(r, ":");
		add(r, &r->labels, text, r->p->n, 0);
		return;
	}
	instruction(r);
}

/* ---- functions ------------------------------------------------------------------------------- */

static void formal(struct reader *r)
{
	struct ptx_function *f = r->f;
	char name[NAME];
	uint32_t bytes;

	need(r, ".param");
	bytes = declared(r, name);
	if (f->nparams == sizeof(f->params) / sizeof(*f->params))
		fail(r, "too many parameters");
	f->bytes[f->nparams] = bytes;
	f->params[f->nparams++] = in_frame(r, name, bytes);
}

static void body(struct reader *r)
{
	struct ptx_function *f = r->f;
	int depth = 0;

	f->first = r->p->n;
	do {
		depth += is(r, "{") - is(r, "}");
		if (!r->word.n)
			fail(r, "a function without an end");
		statement(r);
	} while (depth);
	f->n = r->p->n - f->first;
	for (uint32_t i = 0; i < r->njumps; i++) {
		const struct name *label = find(&r->labels, r->jumps[i].name);

		if (!label)
			fail(r, "no label %s", r->jumps[i].name);
		r->p->insn[r->jumps[i].insn].target = label->value;
	}
}

static void function(struct reader *r, bool entry)
{
	struct ptx *p = r->p;

	p->function = room(r, p->function, p->nfunctions, sizeof(*p->function));
	r->f = p->function + p->nfunctions;
	memset(r->f, 0, sizeof(*r->f));
	r->registers.n = r->params.n = r->labels.n = r->njumps = 0;
	if (take(r, "(")) {
		r->f->result = true;
		formal(r);
		need(r, ")");
	}
	take_name(r, r->f->name);
	if (take(r, "("))
		while (!take(r, ")")) {
			formal(r);
			take(r, ",");
		}
	while (!is(r, "{") && !is(r, ";") && r->word.n)
		next(r);
	if (take(r, ";")) /* of another, or to come */
		return;
	p->nfunctions++;
	body(r);
	if (entry)
		p->entry = p->nfunctions - 1;
}

static void shared(struct reader *r)
{
	char name[NAME];
	uint32_t bytes = declared(r, name);

	add(r, &r->shared, name, r->p->shared, bytes);
	r->p->shared += (bytes + 15) / 16 * 16;
	need(r, ";");
}

static void text(struct reader *r)
{
	bool any = false;

	next(r);
	while (r->word.n) {
		if (take(r, ".shared")) {
			shared(r);
		} else if (take(r, ".entry")) {
			if (any)
				fail(r, "a second entry");
			any = true;
			function(r, true);
		} else if (take(r, ".func")) {
			function(r, false);
		} else if (is(r, ".global") || is(r, ".const") || is(r, ".extern")) {
			fail(r, "'%.*s' is not known", (int)r->word.n, r->word.at);
		} else {
			next(r); /* .visible, .version 9.0, .target sm_90 ... */
		}
	}
	if (!any)
		fail(r, "no entry");
	for (uint32_t i = 0; i < r->ncalls; i++) {
		uint32_t f = 0;

		while (f < r->p->nfunctions && strcmp(r->p->function[f].name, r->calls[i].name))
			f++;
		if (f == r->p->nfunctions)
			fail(r, "no function %s", r->calls[i].name);
		r->p->insn[r->calls[i].insn].target = f;
	}
}

/* What a failure leaves is freed by the caller. */
static bool read_all(struct reader *r)
{
	if (setjmp(r->out))
		return false;
	text(r);
	return true;
}

struct ptx *ptx_read(const char *from, char *why, size_t size)
{
	struct reader r = { .at = from, .line = 1, .why = why, .size = size };
	struct names *const all[] = { &r.registers, &r.params, &r.labels, &r.shared };
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
