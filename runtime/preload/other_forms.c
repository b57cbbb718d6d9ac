/*
 * The other forms of the collectives: counted for the report, then passed to MPI. Of persistent
 * ones the starts are counted (starts.c). In: a call of the program. Out: MPI's answer. O(1) a
 * call.
 */
#include "runtime/preload/preload.h"

#include <stdio.h>

void form_count(enum form form, enum form_kind kind, MPI_Comm comm)
{
	struct preload *p = preload_get();
	struct held *h = p ? held_of(p, comm) : NULL;

	if (h && h->counts)
		atomic_fetch_add_explicit(&p->forms[form][kind], 1, memory_order_relaxed);
}

/* ---- the report ---------------------------------------------------------------------------- */

#define ROW(what, NUMBER, Name, name, n, types) \
	[FORM_##NUMBER] = { what, { "MPI_" #Name, "MPI_I" #name, "MPI_" #Name "_init" } },
static const struct {
	enum collective what;
	const char *names[FORM_KINDS];
} rows[] = { FORMS(ROW) };
#undef ROW

static const char *reason(enum form_kind kind)
{
	switch (kind) {
	case EACH_COUNT: return "has one count per rank";
	case NOT_BLOCKING: return "is nonblocking";
	case PERSISTENT:
	case FORM_KINDS: break;
	}
	return "is persistent";
}

void forms_tally(struct preload *p)
{
	for (int form = 0; form < NFORMS; form++)
		for (int kind = 0; kind < FORM_KINDS; kind++) {
			enum collective what = rows[form].what;
			char by[WHY];

			snprintf(by, sizeof(by), "MPI: %s %s", rows[form].names[kind],
				 reason((enum form_kind)kind));
			if (p->forms[form][kind])
				tally_add(p, what, p->entries.named[what] ? by : TALLY_UNNAMED,
					  p->forms[form][kind]);
		}
}

/* ---- MPI's functions ------------------------------------------------------------------------- */

#define IS_EACH_COUNT(what, NUMBER, Name, name, n, types) \
	int NAME(MPI_##Name)(PARAMETERS##n types MPI_Comm comm) \
	{ \
		form_count(FORM_##NUMBER, EACH_COUNT, comm); \
		return NAME(PMPI_##Name)(ARGUMENTS##n comm); \
	}
#define IS_NOT_BLOCKING(what, NUMBER, Name, name, n, types) \
	int NAME(MPI_I##name)(PARAMETERS##n types MPI_Comm comm, MPI_Request * request) \
	{ \
		form_count(FORM_##NUMBER, NOT_BLOCKING, comm); \
		return NAME(PMPI_I##name)(ARGUMENTS##n comm, request); \
	}
#define IS_PERSISTENT(what, NUMBER, Name, name, n, types) \
	int NAME(MPI_##Name##_init)(PARAMETERS##n types MPI_Comm comm, MPI_Info info, \
				    MPI_Request * request) \
	{ \
		int error = NAME(PMPI_##Name##_init)(ARGUMENTS##n comm, info, request); \
\
		if (!error) \
			starts_of(FORM_##NUMBER, comm, *request); \
		return error; \
	}

#pragma GCC visibility push(default)

#define COUNT int
#define PLACE int
#define NAME(name) name
FORMS_OF_COUNTS(IS_EACH_COUNT)
FORMS(IS_NOT_BLOCKING)
#if HAS_PERSISTENT
FORMS(IS_PERSISTENT)
#endif
#undef COUNT
#undef PLACE
#undef NAME

#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define NAME(name) name##_c
FORMS_OF_COUNTS(IS_EACH_COUNT)
FORMS_OF_COUNTS(IS_NOT_BLOCKING)
FORMS_OF_ONE_COUNT(IS_NOT_BLOCKING)
FORMS_OF_COUNTS(IS_PERSISTENT)
FORMS_OF_ONE_COUNT(IS_PERSISTENT)
#endif

#pragma GCC visibility pop
