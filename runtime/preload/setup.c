/*
 * MPI_Init and MPI_Finalize: reads CCS_MPI when MPI has begun, prints the report and gives
 * everything back before it ends. A mistake in CCS_MPI ends the job.
 *
 * The one pointer of this library that can be written is here: a function of MPI's has no
 * argument that leads to it.
 */
#include "runtime/preload/preload.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MISTAKE 2 /* exit status of the job */

/* ---- which MPI ------------------------------------------------------------------------------- */

/* The MPI that this library was compiled for, by its handles. MPI 5's standard ABI has the same
 * handles in every MPI, and a separate library name: MPICH 5 has both. */
enum family { OF_OPEN_MPI, OF_MPICH, OF_STANDARD_ABI };
#if defined(MPI_ABI_VERSION)
#define BUILT_FOR OF_STANDARD_ABI
#elif defined(OPEN_MPI)
#define BUILT_FOR OF_OPEN_MPI
#else
#define BUILT_FOR OF_MPICH
#endif
#define ABI_LIBRARY "libmpi_abi."

static const char *family_name(enum family f)
{
	switch (f) {
	case OF_OPEN_MPI: return "Open MPI";
	case OF_MPICH: return "MPICH's ABI";
	case OF_STANDARD_ABI: break;
	}
	return "MPI 5's standard ABI";
}

/* The first words of a text, up to a comma or the line's end, with one blank between them. */
static void squeeze(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; n + 1 < size && *from && *from != ',' && *from != '\n'; from++)
		if (*from > ' ' || (n && to[n - 1] != ' '))
			to[n++] = *from > ' ' ? *from : ' ';
	to[n] = '\0';
}

/* Of the MPI that the program calls: its libraries come before those of a preloaded library.
 * No handle is needed to ask. */
static enum family family_of_program(char *name, size_t size)
{
	char all[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
	const char *file = "", *slash;
	Dl_info of;
	int len;

	PMPI_Get_library_version(all, &len);
	squeeze(name, size, all);
	if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Get_library_version"), &of) && of.dli_fname)
		file = of.dli_fname;
	slash = strrchr(file, '/');
	if (!strncmp(slash ? slash + 1 : file, ABI_LIBRARY, strlen(ABI_LIBRARY)))
		return OF_STANDARD_ABI;
	return strstr(all, "Open MPI") ? OF_OPEN_MPI : OF_MPICH;
}

/* Handles of another family mean nothing here: not even the rank can be asked for. */
static void check_mpi(void)
{
	char name[100];
	enum family has = family_of_program(name, sizeof(name));

	if (has == BUILT_FOR)
		return;
	fprintf(stderr,
		"libccs-mpi: this program runs with %s (%s), and libccs-mpi.so was built for %s: "
		"build it with the mpicc that made the program (make MPICC_PRELOAD=...)\n",
		name, family_name(has), family_name(BUILT_FOR));
	exit(MISTAKE);
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* All ranks must decide alike: so they have the same text, and the same files. */
static bool same_entries(struct preload *p, char *why, size_t size)
{
	uint64_t first = p->entries.digest;

	PMPI_Bcast(&first, (int)sizeof(first), MPI_BYTE, 0, MPI_COMM_WORLD);
	if (first == p->entries.digest)
		return true;
	snprintf(why, size, "CCS_MPI, or a file that it names, differs from rank 0's");
	return false;
}

/* Not by MPI_Abort, which may take the text along; but processes that others have spawned
 * would wait for these in MPI_Finalize. */
static _Noreturn void end_job(void)
{
	MPI_Comm parent;

	PMPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL)
		PMPI_Abort(MPI_COMM_WORLD, MISTAKE);
	PMPI_Finalize();
	exit(MISTAKE);
}

/* The first rank that has failed says why. */
static void agree(bool ok, const char *why)
{
	int rank, size, failed, first = 0;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	failed = ok ? size : rank;
	PMPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (first == size)
		return;
	if (first == rank) {
		fprintf(stderr, "libccs-mpi: %s%s\n", rank ? "on a rank other than 0: " : "", why);
		fflush(stderr);
	}
	PMPI_Barrier(MPI_COMM_WORLD); /* it is said */
	end_job();
}

static void begin(void)
{
	struct preload *p = calloc(1, sizeof(*p));
	char why[2 * WHY] = "out of memory";
	bool ok, same;

	check_mpi();
	agree(p != NULL, why);
	if (!p)
		return;
	pthread_mutex_init(&p->lock, NULL);
	ok = late_read(&p->timeout, why, sizeof(why)) &&
	     entries_read(&p->entries, getenv("CCS_MPI"), why, sizeof(why));
	agree(ok, why);
	same = same_entries(p, why, sizeof(why));
	agree(same, why);
	PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, held_delete, &p->keyval, p);
	PMPI_Comm_dup(MPI_COMM_SELF, &p->self);
	PMPI_Comm_dup(MPI_COMM_WORLD, &p->job);
	tally_begin(p);
	preload_set(p);
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void end(void)
{
	struct preload *p = preload_set(NULL);

	if (!p)
		return;
	forms_tally(p);
	tally_report(p);
	while (p->held)
		PMPI_Comm_delete_attr(p->held->comm, p->keyval);
	held_free_spare(p);
	PMPI_Comm_free_keyval(&p->keyval);
	PMPI_Comm_free(&p->self);
	PMPI_Comm_free(&p->job);
	tally_free(p);
	starts_free(p);
	entries_free(&p->entries);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* ---- MPI's functions ------------------------------------------------------------------------- */

#pragma GCC visibility push(default)

int MPI_Init(int *argc, char ***argv)
{
	int e = PMPI_Init(argc, argv);

	if (!e)
		begin();
	return e;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int e = PMPI_Init_thread(argc, argv, required, provided);

	if (!e)
		begin();
	return e;
}

int MPI_Finalize(void)
{
	end();
	return PMPI_Finalize();
}

#pragma GCC visibility pop
