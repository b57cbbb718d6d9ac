/*
 * --emit=header: the C header of a module's typed function.
 *
 * In: the bytes of a module. Out: a header with an include guard, the module's symbol, and the
 * prototype that link.c compiles into the shared object: the parameters of NCCL's collective of the
 * same kind, in NCCL's order.
 *
 * Only the head, the buffers and the first plan are read: O(1).
 */
#include "compiler/emit/module_bytes.h"

#include <ctype.h>
#include <string.h>

/* Words of C and C++ that may be names of schedules, and `main`, which no library may define. */
static const char *const words[] = {
	"alignas",   "alignof", "and",	    "asm",	"auto",	    "bool",	 "break",
	"case",	     "catch",	"char",	    "class",	"const",    "constexpr", "continue",
	"decltype",  "default", "delete",   "do",	"double",   "else",	 "enum",
	"explicit",  "export",	"extern",   "false",	"float",    "for",	 "friend",
	"goto",	     "if",	"inline",   "int",	"long",	    "main",	 "mutable",
	"namespace", "new",	"not",	    "nullptr",	"operator", "or",	 "private",
	"protected", "public",	"register", "restrict", "return",   "short",	 "signed",
	"sizeof",    "static",	"struct",   "switch",	"template", "this",	 "throw",
	"true",	     "try",	"typedef",  "typeof",	"typename", "union",	 "unsigned",
	"using",     "virtual", "void",	    "volatile", "while",    "xor",
};

/* The schedule's name, with `_` appended if C or libccs uses it already. */
struct function_name module_function(const struct ccs_module *m)
{
	const char *name = m->text + m->head->schedule;
	bool taken = !strncmp(name, "ccs_", 4);

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		taken |= !strcmp(name, words[i]);
	return (struct function_name){ .name = name, .suffix = taken ? "_" : "" };
}

/* The call's signature: the parameters of NCCL that it has. */
struct signature module_signature(const struct ccs_module *m)
{
	const struct ccs_buffer *b = m->buffers;
	struct signature s = {
		.count = "count",
		.buffers = m->nbuffers > 0,
		.redop = m->head->flags & CCS_MODULE_REDUCES,
		.root = m->head->root_param != CCS_NONE,
	};
	uint32_t in = 0, out = 0;

	for (uint32_t i = 0; i < m->nbuffers && m->nplans; i++) {
		const struct ccs_shape *shape = m->plans[0].shapes;
		if (b[i].direction != CCS_OUT && shape[i].blocks > in)
			in = shape[i].blocks;
		if (b[i].direction != CCS_IN && shape[i].blocks > out)
			out = shape[i].blocks;
	}
	/* the names in ncclAllGather and ncclReduceScatter */
	if (in < out)
		s.count = "sendcount";
	else if (in > out)
		s.count = "recvcount";
	return s;
}

/* The blocks of buffer `i`, the same for every N; BLOCKS_N: N of them; BLOCKS_VARY. */
#define BLOCKS_N 0u
#define BLOCKS_VARY UINT32_MAX

static uint32_t blocks_of(const struct ccs_module *m, uint32_t i)
{
	uint32_t first = m->plans[0].shapes[i].blocks;
	bool n = true, same = true;

	for (size_t p = 0; p < m->nplans; p++) {
		uint32_t blocks = m->plans[p].shapes[i].blocks;
		same &= blocks == first;
		n &= blocks == m->plans[p].plan->nranks;
	}
	/* With one number of ranks only, N blocks are more likely meant. */
	if (n && first > 1)
		return BLOCKS_N;
	return same ? first : n ? BLOCKS_N : BLOCKS_VARY;
}

static void print_buffers(const struct ccs_module *m, FILE *out)
{
	const struct ccs_buffer *b = m->buffers;
	static const char *const held[] = {
		[CCS_IN] = "in sendbuff",
		[CCS_OUT] = "in recvbuff",
		[CCS_INOUT] = "in sendbuff before the call, in recvbuff after it",
	};

	for (uint32_t i = 0; i < m->nbuffers && m->nplans; i++) {
		uint32_t blocks = blocks_of(m, i);

		fprintf(out, " *   %-8s ", m->text + b[i].name);
		if (blocks == BLOCKS_N)
			fprintf(out, "(number of ranks) * ");
		else if (blocks == BLOCKS_VARY)
			fprintf(out, "(number of blocks) * ");
		else if (blocks > 1)
			fprintf(out, "%u * ", blocks);
		fprintf(out, "%s elements %s\n", module_signature(m).count, held[b[i].direction]);
	}
}

/* "2-16", "2, 4, 8": plans ascend by their number of ranks. */
static void print_ranks(const struct ccs_module *m, FILE *out)
{
	const struct plan_view *v = m->plans, *end = v + m->nplans;
	const char *before = "";

	fprintf(out, " * Compiled for ");
	while (v < end) {
		uint32_t first = v->plan->nranks, last = first;
		for (; v < end && v->plan->nranks - last <= 1; v++)
			last = v->plan->nranks;
		fprintf(out, "%s%u", before, first);
		if (last > first)
			fprintf(out, "%s%u", last > first + 1 ? "-" : ", ", last);
		before = ", ";
	}
	fprintf(out, " ranks.\n");
}

static void print_prototype(const struct ccs_module *m, FILE *out)
{
	struct signature s = module_signature(m);
	struct function_name f = module_function(m);

	fprintf(out, "ccs_status %s%s(", f.name, f.suffix);
	if (s.buffers)
		fprintf(out,
			"const void *sendbuff, void *recvbuff, size_t %s,\n"
			"\tccs_dtype datatype, ",
			s.count);
	fprintf(out, "%s%sstruct ccs_comm *comm, void *stream);\n", s.redop ? "ccs_redop op, " : "",
		s.root ? "int root, " : "");
}

static bool has_inout(const struct ccs_module *m)
{
	for (uint32_t i = 0; i < m->nbuffers; i++)
		if (m->buffers[i].direction == CCS_INOUT)
			return true;
	return false;
}

static void print_comment(const struct ccs_module *m, FILE *out)
{
	const struct ccs_module_head *h = m->head;
	struct signature s = module_signature(m);
	struct function_name f = module_function(m);

	fprintf(out, "/**\n * %s: %s.\n", m->text + h->schedule, m->text + h->contract);
	print_ranks(m, out);
	fprintf(out, " *\n");
	if (s.buffers)
		fprintf(out,
			" * `%s` is in elements of `datatype`, not in bytes. Each rank holds (buffers "
			"of\n * one kind one after another, in this order):\n",
			s.count);
	print_buffers(m, out);
	if (has_inout(m))
		fprintf(out, " * sendbuff == recvbuff: in place.\n");
	if (s.redop && h->flags & CCS_MODULE_MIXED)
		fprintf(out,
			" * `op` combines the ranks' values; CCS_AVG is not supported here.\n");
	else if (s.redop)
		fprintf(out, " * `op` combines the ranks' values.\n");
	if (s.root)
		fprintf(out, " * `root`: 0 .. number of ranks - 1, the same on every rank.\n");
	if (h->flags & CCS_MODULE_EVEN_COUNTS)
		fprintf(out, " * The number of chunks must divide `%s` (else CCS_EINVAL).\n",
			s.count);
	fprintf(out,
		" * `stream` is for GPUs; NULL on the CPU.\n *\n * Every rank calls this function: "
		"between ccs_group_start and ccs_group_end, or\n * each from its own thread. "
		"Returns CCS_OK or a negative status; ccs_error() has\n * its text: CCS_EINVAL (an "
		"argument is wrong), CCS_ENOPLAN (not compiled for this\n * number of ranks), "
		"CCS_ETIMEOUT (no progress), CCS_EABORTED (the communicator\n * failed before), "
		"CCS_ENOMEM, CCS_ESYSTEM, CCS_EUNSUPPORTED (this machine lacks\n * something). Link "
		"with the shared object that ccc made, and with -lccs.%s\n */\n",
		f.suffix[0]
			? "\n * (The name ends in `_` because C or libccs uses the name without "
			  "it.)"
			: "");
}

static void print_guard(const struct ccs_module *m, const char *directive, FILE *out)
{
	fprintf(out, "%s CCS_SCHEDULE_", directive);
	for (const char *s = m->text + m->head->schedule; *s; s++)
		fputc(toupper((unsigned char)*s), out);
	fprintf(out, "_H\n");
}

void header_print(const struct ccs_module *m, FILE *out)
{
	uint64_t files = m->head->files.n;

	fprintf(out, "/* Made by ccc %s from %s. */\n", m->text + m->head->compiler,
		files ? m->text + m->files[files - 1].name : "");
	print_guard(m, "#ifndef", out);
	print_guard(m, "#define", out);
	fprintf(out, "\n#include <ccs.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
	fprintf(out,
		"/* The compiled schedule, for ccs_module_open(); its first 8 bytes are its size.\n "
		"* A program that links several schedules sees only one under this name. Link the\n "
		"* program again when the schedule has been compiled again. */\nextern const "
		"unsigned char ccs_module_v1[];\n\n");
	print_comment(m, out);
	print_prototype(m, out);
	fprintf(out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}
