/*
 * What names of instructions say. See ptx_reader.h.
 */
#include "tests/fake_cuda/ptx_reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct ptx_type ptx_type_of(struct ptx_reader *r, const char *text)
{
	static const struct {
		const char *name;
		struct ptx_type type;
	} others[] = { { "pred", { 'p', 1, 1 } },   { "f16x2", { 'f', 4, 2 } },
		       { "bf16", { 'B', 2, 1 } },   { "bf16x2", { 'B', 4, 2 } },
		       { "e4m3x2", { 'X', 2, 2 } }, { "e5m2x2", { 'Y', 2, 2 } } };
	unsigned bits = 0;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(text, others[i].name))
			return others[i].type;
	if (strchr("bsuf", text[0]))
		bits = (unsigned)atoi(text + 1);
	if ((bits != 8 && bits != 16 && bits != 32 && bits != 64) || strchr(text, 'x'))
		ptx_fail(r, "type '%s' is not known", text);
	return (struct ptx_type){ text[0], (uint8_t)(bits / 8), 1 };
}

static const struct {
	const char *name;
	enum ptx_op op;
	enum ptx_shape shape;
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
	{ "sub", P_SUB, S_BINARY },	 { "createpolicy", P_HINT, S_OWN },
	{ "xor", P_XOR, S_BINARY },
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
	} all[] = { { "eq", C_EQ, 0 },	 { "ne", C_NE, 0 },  { "lt", C_LT, 0 },	 { "le", C_LE, 0 },
		    { "gt", C_GT, 0 },	 { "ge", C_GE, 0 },  { "lo", C_LT, 0 },	 { "ls", C_LE, 0 },
		    { "hi", C_GT, 0 },	 { "hs", C_GE, 0 },  { "equ", C_EQ, 1 }, { "neu", C_NE, 1 },
		    { "ltu", C_LT, 1 },	 { "leu", C_LE, 1 }, { "gtu", C_GT, 1 }, { "geu", C_GE, 1 },
		    { "num", C_NUM, 0 }, { "nan", C_NAN, 1 } };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(part, all[i].name)) {
			to->what = (uint8_t)all[i].what;
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
	case P_HINT:
		to->what |= !strcmp(part, "L2::evict_first");
		return !strcmp(part, "fractional") || !strncmp(part, "L2::evict_", 10);
	case P_ST:
		to->hinted |= !strcmp(part, "L2::cache_hint");
		return !strcmp(part, "L2::cache_hint");
	case P_LD:
		if (!strcmp(part, "L2::cache_hint")) {
			to->hinted = true;
			return true;
		}
		if (strcmp(part, "acquire") && strcmp(part, "relaxed"))
			return false;
		to->poll = true;
		return true;
	case P_CVT: to->what |= !strcmp(part, "satfinite"); return !strcmp(part, "satfinite");
	default: break;
	}
	if (i >= 0)
		to->what = (uint8_t)i;
	return i >= 0;
}

enum ptx_shape ptx_opcode(struct ptx_reader *r, struct ptx_insn *to)
{
	char text[NAME], *part, *save = NULL;
	enum ptx_shape shape = S_NONE;
	bool typed = false, found = false;

	ptx_take_name(r, text);
	part = strtok_r(text, ".", &save);
	for (size_t i = 0; part && i < sizeof(known) / sizeof(*known) && !found; i++)
		if (!strcmp(part, known[i].name)) {
			to->op = known[i].op;
			shape = known[i].shape;
			found = true;
		}
	if (!found)
		ptx_fail(r, "instruction '%s' is not known", part ? part : "");
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
			to->from = ptx_type_of(r, part);
		else
			to->type = ptx_type_of(r, part);
		typed = true;
	}
	if (to->op == P_CVT && to->type.lanes > to->from.lanes)
		shape = S_BINARY; /* each lane's value: the upper one, the lower one */
	return shape;
}
