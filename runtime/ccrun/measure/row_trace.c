/*
 * --trace: what the ranks did in a call of each row, and when, for Perfetto.
 *
 * The second call of a row is traced, out of place; the first lays out its memory. Both come
 * before the warm-up and the timed calls, which are not traced, so the table's times are the same
 * as without --trace. A first call that never ends is traced, too. Rank 0 writes the file at the
 * end, also if the run has failed. Memory is bounded by MOST_OPERATIONS, over all rows.
 * O(operations).
 */
#include "runtime/ccrun/bench.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_OPERATIONS ((size_t)1 << 17) /* each takes 32 bytes, and about 400 in the file */

bool trace_prints(const struct options *o)
{
	return o->trace && !strcmp(o->trace, "-");
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Checks that are possible before the run. The file may not overwrite the module, the tuning,
 * or the table on stdout. */
static ccs_status check_file(const struct options *o)
{
	const char *const inputs[] = { o->file, o->table };
	const char *file = o->trace;
	struct stat st, other;
	bool there = !stat(file, &st);

	if (trace_prints(o))
		return CCS_OK;
	if (there && !S_ISREG(st.st_mode))
		return ccs_error_set(
			CCS_EFILE,
			"--trace: %s is no regular file: name another, or \"-\", which "
			"prints the trace",
			file);
	for (size_t i = 0; there && i < sizeof(inputs) / sizeof(*inputs); i++)
		if (inputs[i] && !stat(inputs[i], &other) && same_file(&st, &other))
			return ccs_error_set(CCS_EFILE,
					     "--trace: %s is read by this run: name another file",
					     file);
	if (there && !fstat(STDOUT_FILENO, &other) && same_file(&st, &other))
		return ccs_error_set(
			CCS_EFILE,
			"--trace: %s gets the table: name another file, or \"-\", which "
			"prints the trace, and the table on stderr",
			file);
	return file_writable("--trace", file);
}

int trace_open(struct bench *b)
{
	const struct options *o = b->o;
	struct ccs_comm *mine = b->at->comm[b->at->first];
	ccs_status s = CCS_OK;

	if (!o->trace)
		return EXIT_DONE;
	if (!o->rank)
		s = check_file(o);
	s = home_agree(b->at, s);
	if (s)
		return measure_fail(b, SIDE_OURS, s);
	s = ccs_trace_create(&b->trace, mine,
			     MOST_OPERATIONS / (size_t)(b->at->ranks / b->at->local));
	return s ? complain_once(o, EXIT_LACKS, "--trace: %s", ccs_error()) : EXIT_DONE;
}

ccs_status trace_row(struct bench *b, const struct row *r, put_call *put)
{
	ccs_status s = ccs_trace_start(b->trace, 1);
	struct failure first;

	if (!s)
		s = time_run(b, r, put, NULL, 2);
	first = failure_keep(s);
	return failure_first(&first, ccs_trace_stop(b->trace));
}

int trace_close(struct bench *b, int rc)
{
	const char *file = b->o->trace;
	struct ccs_trace_counts n = { 0 };
	ccs_status s = CCS_OK;

	if (b->trace)
		ccs_trace_count(b->trace, &n);
	if (n.calls && !b->o->rank) {
		s = ccs_trace_save(b->trace, file);
		if (s)
			complain(b->o, EXIT_USAGE, "--trace: %s", ccs_error());
		else if (rc == EXIT_DONE)
			fprintf(b->out, "# trace: %s, %llu call%s\n",
				trace_prints(b->o) ? "on stdout" : file,
				(unsigned long long)n.calls, n.calls == 1 ? "" : "s");
		else
			fprintf(stderr, "ccrun: --trace: %s has what was done until then\n",
				trace_prints(b->o) ? "stdout" : file);
	}
	if (n.left_out && !b->o->rank)
		fprintf(stderr,
			"ccrun: --trace: %llu operations more were done, for which there was no "
			"room: trace fewer sizes, or smaller ones\n",
			(unsigned long long)n.left_out);
	ccs_trace_free(b->trace);
	b->trace = NULL;
	return s && rc == EXIT_DONE ? EXIT_USAGE : rc;
}
