/*
 * What the driver of our own (tests/fake_cuda) refuses: it must, for the other suites to
 * mean something. Each misuse is made in a process of its own, which it ends.
 *
 * usage: cuda_refused_test, with FAKE_CUDA_GPUS=3 and the library in LD_LIBRARY_PATH
 *        (tests/cuda/cuda_driver_test.sh does that)
 */
#include "tests/support/parts.h"
#include "tests/support/processes.h"
#include "tests/support/say.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Two places that reach each other, set up. */
static void both(struct place *p, bool reached)
{
	place_open(p, 0, 0);
	place_open(p + 1, 1, 1);
	p[0].seen.part[1] = p[1].seen.part[1];
	p[1].seen.part[0] = p[0].seen.part[0];
	if (reached) {
		place_reach(p, p + 1);
		place_reach(p + 1, p);
	}
	place_set_up(p, 0);
	place_set_up(p + 1, 1);
}

static ccs_status launch_of(struct place *p, const struct ccs_dev_call *c, cuda_stream s,
			    unsigned threads)
{
	struct ccs_dev_call copy = *c;
	void *params[] = { &copy };
	int mode;
	ccs_status rc = cuda_enter(&p->cuda, &mode);

	if (rc)
		return rc;
	rc = cuda_launch(&p->cuda, p->kernel, 1, threads, 0, s, params);
	cuda_leave(&p->cuda, mode);
	return rc;
}

static ccs_status launch(struct place *p, const struct ccs_dev_call *c, cuda_stream s)
{
	return launch_of(p, c, s, 32);
}

static void no_access(void)
{
	struct place p[2];

	both(p, false);
	place_start(p, 0);
}

static void not_far(void)
{
	struct ccs_dev_call c;
	struct place p[2];

	both(p, true);
	c = part_call(&p[0].seen, 0);
	c.far = 0;
	launch(p, &c, p[0].stream);
}

static void not_pinned(void)
{
	static _Alignas(16) char host[sizeof(struct part)];
	struct place p[2];

	both(p, true);
	p[0].seen.host = (uintptr_t)host;
	place_set_up(p, 0);
	place_start(p, 0);
}

static void nobody_answers(void)
{
	struct ccs_dev_call c;
	struct place p[2];

	both(p, true);
	setenv("FAKE_CUDA_PATIENCE", "0", 1);
	c = part_call(&p[1].seen, 1);
	c.limit = 0;
	launch(p + 1, &c, p[1].stream);
	places_finish(p);
}

/* Rank 0 twice, in two streams: with room for both messages. */
static void two_streams(cuda_ptr turn)
{
	struct ccs_dev_call c;
	struct place p[2];
	cuda_stream other;
	int mode;

	both(p, true);
	c = part_call(&p[0].seen, 0);
	cuda_enter(&p[0].cuda, &mode);
	driver_stream_new(the_driver(), &other);
	if (turn) {
		cuda_alloc(&p[0].cuda, &turn, 16, "a turn");
		cuda_zero(&p[0].cuda, turn, 16, "a turn");
	}
	cuda_leave(&p[0].cuda, mode);
	c.turn = (uint64_t *)(uintptr_t)turn;
	c.ntiles = 1;
	c.count = TILE;
	c.launch = 1;
	launch(p, &c, p[0].stream);
	c.launch = 2;
	launch(p, &c, other);
	places_finish(p);
}

/* Two communicators' kernels on one GPU that wait for each other, each as large as a
 * multiprocessor. */
static void beside(const char *sms)
{
	struct place p[2];

	setenv("FAKE_CUDA_SMS", sms, 1);
	setenv("FAKE_CUDA_REGISTERS", "255", 1);
	setenv("FAKE_CUDA_PATIENCE", "1", 1);
	place_open(p, 0, 0);
	place_open(p + 1, 0, 1);
	p[0].seen.part[1] = p[1].seen.part[1];
	p[1].seen.part[0] = p[0].seen.part[0];
	for (unsigned i = 0; i < 2; i++)
		place_set_up(p + i, i);
	for (unsigned i = 2; i-- > 0;) { /* the one that waits first */
		struct ccs_dev_call c = part_call(&p[i].seen, i);

		c.limit = 0;
		c.abort = (uint32_t *)(uintptr_t)(p[i].seen.part[i] + offsetof(struct part, abort));
		launch_of(p + i, &c, p[i].stream, CCS_THREADS);
	}
	places_finish(p);
}

static void no_room_beside(void)
{
	beside("1");
}

static void room_beside(void)
{
	beside("2");
}

static void not_ordered(void)
{
	two_streams(0);
}

static void by_turns(void)
{
	two_streams(1);
}

static void freed_too_early(void)
{
	int fd[2];
	struct place p;
	char word = 1;
	unsigned rank;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		return;
	rank = fork() != 0;
	close(fd[1 - rank]); /* so that the end of one ends the other's wait */
	place_open(&p, 0, rank);
	place_exchange(&p, fd[rank], rank);
	socket_swap(fd[rank], &word, &word, 1); /* both have mapped the other's */
	if (rank)
		place_close(&p, rank);
	socket_swap(fd[rank], &word, &word, 1);
}

struct misuse {
	void (*act)(void);
};

static int run_misuse(void *of, int index)
{
	const struct misuse *m = of;

	(void)index;
	m->act();
	return 0;
}

/* Whether it ends as illegal, and says that; NULL: it must not. */
static void refuses(void (*act)(void), const char *text, const char *what)
{
	struct misuse m = { act };
	FILE *log = tmpfile();
	int status = process_run(run_misuse, &m, log);
	bool said = false;
	char line[512];

	while (fgets(line, sizeof(line), log))
		said |= strstr(line, "ILLEGAL") && (!text || strstr(line, text));
	fclose(log);
	say(text ? said && WIFSIGNALED(status) : !said && !status, "%s", what);
}

int main(void)
{
	refuses(no_access, "without peer access", "a kernel without access to its peer is refused");
	refuses(not_far, "`far` is not set", "... and one that does not know that it has a peer");
	refuses(not_pinned, "in no live allocation", "... or uses memory that is not pinned");
	refuses(nobody_answers, "nothing comes", "... or waits for a kernel that is not there");
	refuses(no_room_beside, "nothing comes",
		"... or for one that does not fit on the GPU beside it");
	refuses(room_beside, NULL, "... unless it does");
	refuses(not_ordered, "not ordered", "launches that nothing orders are refused");
	refuses(by_turns, NULL, "... unless they take turns");
	refuses(freed_too_early, "has the memory mapped still",
		"what others have mapped is not freed");
	return 0;
}
