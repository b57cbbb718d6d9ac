/*
 * The plug-in for MPI, as its header says: the processes, messages, what it combines, and
 * errors that end nobody. What collectives compute ccrun looks at (mpi_test.sh).
 *
 * Started by mpirun; every process does all of it, and rank 0 tells how it went everywhere.
 * usage: mpirun -np N mpi_calls_test
 */
#include "runtime/mpi/calls.h"
#include "tests/support/say.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 300000, ROOM = 64 };

struct job {
	const struct mpi_calls *mpi;
	struct mpi_world *world;
	int rank, size;
	bool ok; /* all of it, so far */
};

static int run(struct job *j, const char *contract, const struct mpi_job *of)
{
	const struct mpi_collective *c = j->mpi->collectives;

	while (c->contract && strcmp(c->contract, contract) != 0)
		c++;
	return c->contract ? c->run(j->world, of) : -1;
}

/* The line of a test: it is right if it is in every process. */
static void all_say(struct job *j, bool here, const char *what)
{
	int32_t mine = here, least = 0;
	const struct mpi_job of = { &mine, &least, 1, CCS_INT32, CCS_MIN, 0 };

	if (!here)
		printf("# rank %d: not so: %s\n", j->rank, what);
	if (run(j, "allreduce", &of))
		least = 0;
	j->ok &= least == 1;
	if (!j->rank)
		say(least == 1, "%s", what);
}

static void barrier(struct job *j)
{
	run(j, "barrier", &(struct mpi_job){ .type = CCS_INT8 });
}

/* ---- messages ------------------------------------------------------------------------- */

static size_t bytes_of(int from, int to, int tag)
{
	return tag == 2 ? 0 : tag == 1 ? MOST_BYTES : (size_t)(1 + from + 100 * to);
}

static unsigned char byte_of(int from, int to, int tag)
{
	return (unsigned char)(1 + from + 7 * to + 31 * tag);
}

/* One message of each kind from each to each, itself too: short, long, empty. */
static bool exchange(struct job *j, struct mpi_messages *m, unsigned char *send,
		     unsigned char *recv)
{
	bool ok = true;

	for (int k = 0; k < 3 * j->size; k++) {
		int peer = k / 3, tag = 2 - k % 3;
		unsigned char *p = recv + (size_t)k * MOST_BYTES;

		ok &= !j->mpi->recv(m, k, p, bytes_of(peer, j->rank, tag), peer, tag);
	}
	for (int k = 0; k < 3 * j->size; k++) {
		int peer = k / 3, tag = k % 3;
		unsigned char *p = send + (size_t)k * MOST_BYTES;

		memset(p, byte_of(j->rank, peer, tag), MOST_BYTES);
		ok &= !j->mpi->send(m, 3 * j->size + k, p, bytes_of(j->rank, peer, tag), peer, tag);
	}
	return ok;
}

static bool arrived(const struct job *j, const unsigned char *recv)
{
	for (int k = 0; k < 3 * j->size; k++) {
		int peer = k / 3, tag = 2 - k % 3;
		size_t n = bytes_of(peer, j->rank, tag);
		const unsigned char *p = recv + (size_t)k * MOST_BYTES;

		for (size_t i = 0; i < n; i++)
			if (p[i] != byte_of(peer, j->rank, tag))
				return false;
		if (n < MOST_BYTES && p[n] != 0xff)
			return false;
	}
	return true;
}

/* Waits for so many. Whether all of these places are told once, and no other. */
static bool all_through(const struct job *j, struct mpi_messages *m, int n)
{
	bool seen[ROOM] = { false };
	const int *places;
	int now, e = 0;

	for (int left = n; left > 0 && !e; left -= now) {
		e = j->mpi->test(m, &places, &now);
		for (int i = 0; i < now && !e; i++) {
			if (places[i] < 0 || places[i] >= n || seen[places[i]])
				return false;
			seen[places[i]] = true;
		}
	}
	return !e;
}

static void messages(struct job *j, struct mpi_messages *m)
{
	size_t bytes = (size_t)j->size * 3 * MOST_BYTES;
	unsigned char *send = malloc(bytes), *recv = malloc(bytes);
	bool ok = send && recv;

	for (int round = 0; round < 2 && ok; round++) {
		memset(recv, 0xff, bytes);
		ok = exchange(j, m, send, recv) && all_through(j, m, 6 * j->size) &&
		     arrived(j, recv);
	}
	all_say(j, ok, "messages of any length come whole, by their tags");
	free(send);
	free(recv);
}

static void order(struct job *j, struct mpi_messages *m)
{
	int next = (j->rank + 1) % j->size, prev = (j->rank + j->size - 1) % j->size;
	int sent[] = { 10 * j->rank, 10 * j->rank + 1 }, got[2] = { -1, -1 }, n = 1;
	const int *places;
	bool ok = true;

	for (int i = 0; i < 2; i++)
		ok &= !j->mpi->recv(m, i, got + i, sizeof(got[i]), prev, 5);
	ok &= !j->mpi->test(m, &places, &n) && !n;
	all_say(j, ok, "a receive returns at once, and is not done before it is sent");
	ok = true;
	for (int i = 0; i < 2; i++)
		ok &= !j->mpi->send(m, 2 + i, sent + i, sizeof(sent[i]), next, 5);
	ok &= all_through(j, m, 4) && got[0] == 10 * prev && got[1] == 10 * prev + 1;
	ok &= !j->mpi->test(m, &places, &n) && !n;
	all_say(j, ok, "messages of one sender and tag stay in order");
}

/* ---- errors, and what there is ---------------------------------------------------------- */

static bool tells(const struct job *j, int e)
{
	char text[100] = "";

	if (e)
		j->mpi->error(e, text, sizeof(text));
	if (!*text)
		printf("# rank %d: no error\n", j->rank);
	return *text != '\0';
}

static void errors(struct job *j, struct mpi_messages *m)
{
	int32_t x = 1, y;
	const struct mpi_job bad = { &x, &y, 1, CCS_INT32, CCS_AVG, 0 };
	const struct mpi_job far = { &x, &y, 1, CCS_INT32, CCS_SUM, j->size };
	const int *places = NULL;
	int n, e = 0;
	bool ok = true;

	all_say(j, tells(j, j->mpi->send(m, 0, &x, sizeof(x), j->size, 0)),
		"a message to a rank that there is not");
	all_say(j, tells(j, run(j, "allreduce", &bad)), "an operator that there is not");
	all_say(j, tells(j, run(j, "broadcast", &far)), "a root that there is not");
	ok = !j->mpi->recv(m, 1, &y, 0, j->rank, 9) && !j->mpi->send(m, 2, &x, 1, j->rank, 9);
	while (ok && !e)
		e = j->mpi->test(m, &places, &n);
	all_say(j, ok && tells(j, e) && places[0] == 1, "a message that is too long has its place");
	ok = true;
	for (int i = 0; i < ROOM; i++)
		ok &= i == 2 || !j->mpi->recv(m, i, &y, 0, j->rank, 8);
	ok &= tells(j, j->mpi->recv(m, 0, &y, 0, j->rank, 8));
	ok &= tells(j, j->mpi->recv(m, ROOM, &y, 0, j->rank, 8));
	all_say(j, ok, "a place that has a message, or that there is not");
	barrier(j);
}

static void combines(struct job *j)
{
	bool ok = true;

	for (int type = 0; type <= CCS_NDTYPES; type++) {
		for (int op = 0; op <= CCS_NREDOPS; op++) {
			bool narrow = type == CCS_FLOAT16 || type == CCS_BFLOAT16 ||
				      type == CCS_FLOAT8E4M3 || type == CCS_FLOAT8E5M2;
			bool is_float = type == CCS_FLOAT32 || type == CCS_FLOAT64;
			bool bits = op == CCS_BAND || op == CCS_BOR || op == CCS_BXOR;
			bool has = !narrow && type < CCS_NDTYPES &&
				   (op < CCS_AVG || (bits && !is_float));

			ok &= !!j->mpi->reduces((ccs_dtype)type, (ccs_redop)op) == has;
		}
	}
	all_say(j, ok, "it combines what MPI has types and operators for");
}

int main(void)
{
	struct job j = { .ok = true };
	struct mpi_messages *m = NULL;
	char text[100], little[5];
	struct mpi_world *again;
	void *library;

	if (!is(ccs_mpi_library(&library), CCS_OK, NULL, "ccs_mpi_library"))
		return 1;
	j.mpi = dlsym(library, "ccs_mpi_calls");
	if (!j.mpi || j.mpi->open(0, &j.world))
		return 1;
	j.rank = j.mpi->rank(j.world);
	j.size = j.mpi->size(j.world);
	j.mpi->name(text, sizeof(text));
	j.mpi->name(little, sizeof(little));
	if (!j.rank)
		printf("# %d processes of %s, %zu elements\n", j.size, text, j.mpi->most);
	all_say(&j, *text && strlen(text) < 40 && !strchr(text, '\n') && strlen(little) == 4,
		"the library has a name, which fits");
	combines(&j);
	all_say(&j, !j.mpi->messages_new(j.world, ROOM, &m), "room for messages");
	messages(&j, m);
	order(&j, m);
	all_say(&j, !j.mpi->open(0, &again) && j.mpi->size(again) == j.size, "MPI is opened twice");
	j.mpi->close(again, MPICALLS_WELL, 0);
	all_say(&j, true, "... and still there when the second is closed");
	errors(&j, m);
	all_say(&j, !j.mpi->messages_free(m), "receives that nobody answers end with their places");
	j.mpi->close(j.world, MPICALLS_WELL, 0);
	return j.ok ? 0 : 1;
}
