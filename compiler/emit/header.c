/*
 * --emit=header: the C header of a module's typed function.
 *
 * In:  the bytes of a module. Out: a header with an include guard of its own, the
 * module's symbol, and the prototype that link.c compiles into the shared object:
 * the parameters of NCCL's collective of the same kind, in NCCL's order.
 *
 * Only the head, the buffers and the first plan are read: O(1).
 */
#include "compiler/emit/module.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* Words of C and C++ that a schedule may have as its name, and one more that no
 * library may define. */
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

/* The schedule's name, with a `_` behind where C, or libccs, has it already. */
struct function_name module_function(const struct bytes *module)
{
	const struct ccs_module_head *h = module_head(module);
	const char *name = module_text(module, h->schedule);
	bool taken = !strncmp(name, "ccs_", 4);

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		taken |= !strcmp(name, words[i]);
	return (struct function_name){ .name = name, .suffix = taken ? "_" : "" };
}

/* The call's signature: which of NCCL's parameters there are. */
struct signature module_signature(const struct bytes *module)
{
	const struct ccs_module_head *h = module_head(module);
	const struct ccs_buffer *b = MODULE_TABLE(module, h->buffers);
	const struct ccs_plan *plan = MODULE_TABLE(module, h->plans);
	struct signature s = {
		.count = "count",
		.buffers = h->buffers.n > 0,
		.redop = h->flags & CCS_MODULE_REDUCES,
		.root = h->root_param != CCS_NONE,
	};
	uint32_t in = 0, out = 0;

	if (h->plans.n == 0)
		return s;
	const struct ccs_shape *shape = MODULE_TABLE(module, plan->shapes);
	for (uint64_t i = 0; i < h->buffers.n; i++) {
		if (b[i].direction != CCS_OUT && shape[i].blocks > in)
			in = shape[i].blocks;
		if (b[i].direction != CCS_IN && shape[i].blocks > out)
			out = shape[i].blocks;
	}
	/* as ncclAllGather and ncclReduceScatter name it */
	if (in < out)
		s.count = "sendcount";
	else if (in > out)
		s.count = "recvcount";
	return s;
}

static void print_buffers(const struct bytes *m, FILE *out)
{
	const struct ccs_module_head *h = module_head(m);
	const struct ccs_buffer *b = MODULE_TABLE(m, h->buffers);
	static const char *const held[] = {
		[CCS_IN] = "in sendbuff",
		[CCS_OUT] = "in recvbuff",
		[CCS_INOUT] = "in sendbuff before the call, in recvbuff after it",
	};

	if (h->plans.n == 0)
		return;
	for (uint64_t i = 0; i < h->buffers.n; i++) {
		uint32_t blocks = module_blocks(m, i);

		fprintf(out, " *   %-8s ", module_text(m, b[i].name));
		if (blocks == BLOCKS_N)
			fprintf(out, "(number of ranks) * ");
		else if (blocks == BLOCKS_VARY)
			fprintf(out, "(number of blocks) * ");
		else if (blocks > 1)
			fprintf(out, "%" PRIu32 " * ", blocks);
		fprintf(out, "%s elements %s\n", module_signature(m).count, held[b[i].direction]);
	}
}

/* "2-16", "2, 4, 8": plans ascend by their number of ranks. */
static void print_ranks(const struct bytes *m, FILE *out)
{
	const struct ccs_module_head *h = module_head(m);
	const struct ccs_plan *plan = MODULE_TABLE(m, h->plans);
	const char *before = "";

	fprintf(out, " * Compiled for ");
	for (uint64_t i = 0; i < h->plans.n;) {
		uint32_t first = plan[i].nranks, last = first;
		while (i < h->plans.n && plan[i].nranks - last <= 1)
			last = plan[i++].nranks;
		fprintf(out, "%s%" PRIu32, before, first);
		if (last > first)
			fprintf(out, "%s%" PRIu32, last > first + 1 ? "-" : ", ", last);
		before = ", ";
	}
	fprintf(out, " ranks.\n");
}

static void print_prototype(const struct bytes *m, FILE *out)
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

static bool has_inout(const struct bytes *m)
{
	const struct ccs_module_head *h = module_head(m);
	const struct ccs_buffer *b = MODULE_TABLE(m, h->buffers);

	for (uint64_t i = 0; i < h->buffers.n; i++)
		if (b[i].direction == CCS_INOUT)
			return true;
	return false;
}

static void print_comment(const struct bytes *m, FILE *out)
{
	const struct ccs_module_head *h = module_head(m);
	struct signature s = module_signature(m);
	struct function_name f = module_function(m);

	fprintf(out, "/**\n * %s: %s.\n", module_text(m, h->schedule), module_text(m, h->contract));
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
		fprintf(out, " * `op` combines the ranks' values; CCS_AVG is refused here.\n");
	else if (s.redop)
		fprintf(out, " * `op` combines the ranks' values.\n");
	if (s.root)
		fprintf(out, " * `root`: 0 .. number of ranks - 1, the same on every rank.\n");
	if (h->flags & CCS_MODULE_EVEN_COUNTS)
		fprintf(out, " * The chunks of a block must divide `%s` (else CCS_EINVAL).\n",
			s.count);
	fprintf(out,
		" * `stream` is for devices; NULL on the CPU.\n"
		" *\n * Called on every rank: within ccs_group_start/end, or from a thread a rank.\n"
		" * Returns CCS_OK or a negative status, whose text is ccs_error(): CCS_EINVAL (an\n"
		" * argument is wrong), CCS_ENOPLAN (not compiled for this number of ranks),\n"
		" * CCS_ETIMEOUT (no progress), CCS_EABORTED (the communicator failed before),\n"
		" * CCS_ENOMEM, CCS_ESYSTEM, CCS_EUNSUPPORTED (what this machine lacks).\n"
		" * Link with the shared object that ccc made, and with -lccs.%s\n */\n",
		f.suffix[0] ? "\n * (The name has a `_` behind because C or libccs has the other.)"
			    : "");
}

static void print_guard(const struct bytes *m, const char *directive, FILE *out)
{
	fprintf(out, "%s CCS_SCHEDULE_", directive);
	for (const char *s = module_text(m, module_head(m)->schedule); *s; s++)
		fputc(toupper((unsigned char)*s), out);
	fprintf(out, "_H\n");
}

void header_print(const struct bytes *module, FILE *out)
{
	const struct ccs_module_head *h = module_head(module);

	fprintf(out, "/* Made by ccc %s from %s. */\n", module_text(module, h->compiler),
		module_main_file(module));
	print_guard(module, "#ifndef", out);
	print_guard(module, "#define", out);
	fprintf(out, "\n#include <ccs.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
	fprintf(out,
		"/* The compiled schedule, for ccs_module_open(); its first 8 bytes are its size.\n"
		" * A program that links several schedules sees only one by this name, and one that\n"
		" * uses it must be linked again when the schedule was compiled again. */\n"
		"extern const unsigned char ccs_module_v1[];\n\n");
	print_comment(module, out);
	print_prototype(module, out);
	fprintf(out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}
