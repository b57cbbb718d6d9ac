/*
 * Tunings: which module runs a collective, and how, by the size of the call. ccs.h has the public
 * calls; this is the representation.
 *
 * The text is the tuning: a line with format and version, and sections of lines of words.
 *
 *     ccs-tuning 1
 *
 *     collective allreduce ranks 4 engine tasks
 *     measured float32 sum on ...
 *     # up to  module  tile  us     next best  tile  us
 *     4K       rd.so   auto  1.20   ring.so    auto  2.10
 *     rest     ring.so 64K   90.50
 *
 * Lines may be for several numbers of ranks, `ranks 5..16`: each number then gets a section with
 * the same rows, unless other lines are for that number alone.
 *
 * tuning_read.c cuts a copy of the text into words, to which sections and rows point, and reports
 * each wrong line with the words that may stand there; tuning_ranks.c makes a section for each
 * number of ranks; tuning_load.c loads the modules; tuning.c answers queries; tuning_write.c
 * replaces a section's lines and reads the result again, so every written file can be read. After
 * that nothing changes, so any threads may query.
 *
 * A short form names modules and tunings in one line: tuning_parts.c reads it, and the caller loads
 * them.
 *
 * All memory is bounded by the length of the text, at most TUNING_BYTES.
 */
#ifndef CCS_RUNTIME_PLAN_TUNING_TUNING_H
#define CCS_RUNTIME_PLAN_TUNING_TUNING_H

#include "runtime/plan/load.h"

#include <string.h>

#define TUNING_BYTES ((size_t)1 << 20)
#define TUNING_RANKS 1000000u		  /* most ranks of a section */
#define TUNING_SPREAD 4096		  /* numbers of ranks of all lines that are for several */
#define TUNING_TILE_LEAST ((uint64_t)512) /* smaller tiles exist nowhere */
#define TUNING_TILE_MOST ((uint64_t)1 << 30)

struct tuning_section {
	struct ccs_tuning_section of;
	int row;	 /* its first row */
	unsigned line;	 /* of its first line, from 1 */
	size_t from, to; /* bytes of its lines in the text, up to the end of its last row */
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
	char *folder; /* of the modules: "", or ends in a slash */
	char *text;
	size_t len;
	char *words; /* the copy of the text that is cut into words */
	struct tuning_section *sections;
	int nsections;
	struct tuning_row *rows; /* of all sections, in order */
	int nrows;
	struct tuning_module *modules; /* each once; NULL: modules were not loaded */
	int nmodules;
	uint64_t digest;
};

/** The columns of a row that say how its module is run. */
enum tuning_how { TUNING_TILE, TUNING_PROTOCOL, TUNING_NOTHING };
/** Those of an engine; false: no engine has that name. */
bool tuning_how_of(const char *engine, enum tuning_how *how);
/** Whether both are for one collective and engine. */
static inline bool tuning_alike(const struct ccs_tuning_section *x,
				const struct ccs_tuning_section *y)
{
	return !strcmp(x->engine, y->engine) && !strcmp(x->collective, y->collective);
}
/** The section of lines that are for this number of ranks alone; NULL: none. O(sections). */
const struct tuning_section *tuning_alone(const struct ccs_tuning *t,
					  const struct ccs_tuning_section *x, int ranks);
/** Makes a section for each number of ranks of lines for several. CCS_EFILE: too many.
 *  O(numbers x sections). */
ccs_status tuning_spread(struct ccs_tuning *t);
/** Whether a section is the first of its lines. */
bool tuning_is_first(const struct ccs_tuning *t, int section);
/** Makes a tuning of that text, `name` and `folder`, which are copied. CCS_EFILE. O(len). */
ccs_status tuning_parse(struct ccs_tuning **out, const char *name, const char *folder,
			const char *text, size_t len);

#endif
