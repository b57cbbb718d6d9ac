/*
 * Tunings: which module runs a collective, and how, by the size of the call. ccs.h has the calls;
 * this is how one is kept.
 *
 * The text is the tuning: a line of format and version, and sections of lines of words.
 *
 *     ccs-tuning 1
 *
 *     collective allreduce ranks 4 engine tasks
 *     measured float32 sum on ...
 *     # up to  module  tile  us     next best  tile  us
 *     4K       rd.so   auto  1.20   ring.so    auto  2.10
 *     rest     ring.so 64K   90.50
 *
 * Lines may be for several numbers of ranks, `ranks 5..16`: then each has a section, of the same
 * rows, unless other lines are for that number alone.
 *
 * tuning_read.c cuts a copy of it into words, which sections and rows point to, and says of each
 * line that is wrong what could stand there; tuning_ranks.c makes a section for each number of
 * ranks; tuning_load.c loads the modules that it names; tuning.c answers questions;
 * tuning_write.c puts a section's lines in the place of the old ones, and reads the whole again,
 * so that every file that it writes can be read. Nothing is changed after that, so that any
 * threads can ask.
 *
 * Everything is bounded by the text's length, which is at most TUNING_BYTES.
 */
#ifndef CCS_RUNTIME_PLAN_TUNING_TUNING_H
#define CCS_RUNTIME_PLAN_TUNING_TUNING_H

#include "runtime/plan/load.h"

#define TUNING_BYTES ((size_t)1 << 20)
#define TUNING_RANKS 1000000u		  /* the most of a section */
#define TUNING_SPREAD 4096		  /* numbers of ranks of all lines that are for several */
#define TUNING_TILE_LEAST ((uint64_t)512) /* less is not made anywhere */
#define TUNING_TILE_MOST ((uint64_t)1 << 30)

struct tuning_section {
	struct ccs_tuning_section of;
	int row;	 /* its first */
	unsigned line;	 /* of its head, from 1 */
	size_t from, to; /* its lines' bytes, up to its last row's end */
};

struct tuning_row {
	struct ccs_tuning_row of;
	unsigned line;
};

struct tuning_module {
	char *path;
	struct ccs_module *module;
};

struct ccs_tuning {
	char *name;   /* of the file, for messages */
	char *folder; /* where modules are looked for: "", or it ends in a slash */
	char *text;
	size_t len;
	char *words; /* the copy that is cut */
	struct tuning_section *sections;
	int nsections;
	struct tuning_row *rows; /* of all sections, in their order */
	int nrows;
	struct tuning_module *modules; /* each once; NULL: it was only read */
	int nmodules;
	uint64_t digest;
};

/** What stands in a row for how a module is run. */
enum tuning_how { TUNING_TILE, TUNING_PROTOCOL, TUNING_NOTHING };
/** Of an engine; false: there is none of that name. */
bool tuning_how_of(const char *engine, enum tuning_how *how);
/** Where lines are for several numbers of ranks, sections for each. CCS_EFILE: too many.
 *  O(numbers x sections). */
ccs_status tuning_spread(struct ccs_tuning *t);
/** Whether a section is the first of its lines. */
bool tuning_is_first(const struct ccs_tuning *t, int section);
/** A tuning of that text, `name` and `folder`, which are copied. CCS_EFILE. O(len). */
ccs_status tuning_parse(struct ccs_tuning **out, const char *name, const char *folder,
			const char *text, size_t len);

#endif
