/*
 * What kernels do with the memory of other GPUs, of other processes and of the host,
 * against a driver of our own (tests/fake_cuda): a message goes from a kernel on one GPU
 * to one on another. See cuda_refused_test.c for what that driver refuses.
 *
 * usage: cuda_parts_test places|processes|graphs, with FAKE_CUDA_GPUS=3 and the library
 *        in LD_LIBRARY_PATH (tests/cuda/cuda_driver_test.sh does that)
 */
#include "tests/support/parts.h"
#include "tests/support/processes.h"
#include "tests/support/say.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- several GPUs in one process -------------------------------------------------------- */

static void test_reach(struct place *p)
{
	p[0].seen.part[1] = p[1].seen.part[1];
	p[1].seen.part[0] = p[0].seen.part[0];
	says(place_reach(p, p + 1), CCS_OK, NULL, "GPU 0 reaches GPU 1");
	says(place_reach(p + 1, p), CCS_OK, NULL, "GPU 1 reaches GPU 0");
	says(place_reach(p, p + 1), CCS_OK, NULL, "... again is fine");
	says(place_reach(p, p), CCS_OK, NULL, "... so is itself");
}

static bool set_up_both(struct place *p)
{
	return place_set_up(p, 0) && place_set_up(p + 1, 1);
}

static void test_stuck(struct place *p)
{
	struct part part;
	bool ok;

	setenv("FAKE_CUDA_STUCK", "0", 1);
	ok = place_start(p, 0) && place_start(p + 1, 1);
	unsetenv("FAKE_CUDA_STUCK");
	ok = ok && places_finish(p) && place_fetch(p, 0, &part);
	say(ok && part.abort && !part.report->taken,
	    "a kernel whose message does not come ends all");
	say(ok && place_fetch(p + 1, 1, &part) && part.report->taken == 1 &&
		    part.report->kind == CCS_DEV_STUCK_RECV && part.report->worker == 1 &&
		    part.report->op == 0 && part.report->fifo == 0,
	    "... and reports");
}

static void test_places(void)
{
	struct place p[2];
	bool ok = place_open(p, 0, 0) && place_open(p + 1, 1, 1);

	test_reach(p);
	for (int i = 0; i < 20 && ok; i++) /* counters go on from call to call */
		ok = (i % 5 || set_up_both(p)) && place_start(p, 0) && place_start(p + 1, 1) &&
		     places_finish(p) && place_arrived(p + 1);
	say(ok, "messages from GPU 0 to GPU 1");
	test_stuck(p);
	place_close(p + 1, 1);
	place_close(p, 0);

	setenv("FAKE_CUDA_PEERS", "none", 1);
	place_open(p, 0, 0);
	place_open(p + 1, 1, 1);
	says(place_reach(p + 1, p), CCS_EUNSUPPORTED, "cuCtxEnablePeerAccess",
	     "a GPU that is no peer is not reached");
	unsetenv("FAKE_CUDA_PEERS");
	place_close(p + 1, 1);
	place_close(p, 0);
}

static void test_pinned(void)
{
	size_t bytes = (sizeof(struct part) + 4095) / 4096 * 4096;
	char *host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct place p[2];
	int mode = 0;
	bool ok;

	ok = place_open(p, 0, 0) && place_open(p + 1, 1, 1) && !cuda_enter(&p[1].cuda, &mode);
	says(cuda_pin(&p[1].cuda, host, bytes, "a segment"), CCS_OK, NULL,
	     "the host's memory is pinned");
	says(cuda_pin(&p[1].cuda, host, bytes, "a segment"), CCS_ESYSTEM, "cuMemHostRegister",
	     "... but not twice");
	ok = ok && !cuda_pinned(&p[0].cuda, host, &p[0].seen.host, "a segment") &&
	     !cuda_pinned(&p[1].cuda, host + 64, &p[1].seen.host, "a segment");
	say(ok && p[1].seen.host == p[0].seen.host + 64, "... and has an address in its middle");
	p[1].seen.host = p[0].seen.host;
	ok = ok && set_up_both(p) && place_start(p, 0) && place_start(p + 1, 1) && places_finish(p);
	say(ok && place_arrived(p + 1), "a message by the host's memory, without peer access");
	cuda_unpin(&p[1].cuda, host);
	says(cuda_pin(&p[1].cuda, host, bytes, "a segment"), CCS_OK, NULL,
	     "... which is free then");
	cuda_unpin(&p[1].cuda, host);
	cuda_leave(&p[1].cuda, mode);
	place_close(p + 1, 1);
	place_close(p, 0);
	munmap(host, bytes);
}

/* ---- processes ----------------------------------------------------------------------------- */

/* One of two processes; whether all went well. */
static bool process(int fd, unsigned rank, int device)
{
	struct part part;
	struct place p;
	char word = 1;
	int mode;
	bool ok = place_open(&p, device, rank) && place_exchange(&p, fd, rank);

	for (int i = 0; i < 10 && ok; i++)
		ok = place_set_up(&p, rank) && socket_swap(fd, &word, &word, 1) &&
		     place_start(&p, rank) &&
		     (rank ? place_arrived(&p) : place_fetch(&p, 0, &part)) &&
		     socket_swap(fd, &word, &word, 1);
	if (!ok)
		printf("# process %u: %s\n", rank, ccs_error());
	cuda_enter(&p.cuda, &mode);
	cuda_unmap(&p.cuda, p.seen.part[1 - rank]);
	cuda_leave(&p.cuda, mode);
	socket_swap(fd, &word, &word, 1); /* nobody frees what another one has mapped */
	place_close(&p, rank);
	return ok;
}

struct pair {
	int fd[2], device[2];
};

static int run_process(void *of, int index)
{
	const struct pair *p = of;

	close(p->fd[1 - index]);
	return !process(p->fd[index], (unsigned)index, p->device[index]);
}

static void test_processes(int device0, int device1, const char *what)
{
	struct pair p = { .device = { device0, device1 } };
	struct timeval most = { .tv_sec = 60 }; /* if the other one ends for a fault */

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, p.fd))
		exit(1);
	for (int i = 0; i < 2; i++)
		setsockopt(p.fd[i], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	say(processes_run(2, run_process, &p), "%s", what);
	close(p.fd[0]);
	close(p.fd[1]);
}

/* ---- graphs -------------------------------------------------------------------------------- */

/* A graph of kernels on two GPUs that wait for each other: the second GPU's stream joins
 * the capture and comes back. */
static bool capture_two(struct place *p, cuda_event *e, cuda_graph *g)
{
	int mode;
	bool ok = !cuda_enter(&p[0].cuda, &mode) && !cuda_event_new(&p[0].cuda, e) &&
		  !driver_capture_begin(the_driver(), p[0].stream) &&
		  !cuda_order(&p[0].cuda, e[0], p[0].stream, p[1].stream) && place_start(p, 0) &&
		  place_start(p + 1, 1);
	int mode1 = 0;

	ok = ok && !cuda_enter(&p[1].cuda, &mode1) && !cuda_event_new(&p[1].cuda, e + 1) &&
	     !cuda_order(&p[1].cuda, e[1], p[1].stream, p[0].stream);
	cuda_leave(&p[1].cuda, mode1);
	ok = ok && !driver_capture_end(the_driver(), p[0].stream, g);
	cuda_leave(&p[0].cuda, mode);
	return ok;
}

static void test_graph_of_two(void)
{
	cuda_event e[2] = { NULL, NULL };
	struct place p[2];
	cuda_graph g = NULL;
	bool ok = place_open(p, 0, 0) && place_open(p + 1, 1, 1);
	int mode;

	test_reach(p);
	ok = ok && set_up_both(p) && capture_two(p, e, &g);
	say(ok && !place_arrived(p + 1), "kernels on two GPUs are captured");
	cuda_enter(&p[0].cuda, &mode);
	for (int i = 0; i < 10 && ok; i++)
		ok = !driver_graph_launch(the_driver(), g, p[0].stream);
	ok = ok && !cuda_sync(&p[0].cuda, p[0].stream);
	say(ok && place_arrived(p + 1), "... and replayed");
	driver_graph_free(the_driver(), g);
	cuda_event_free(&p[0].cuda, e[0]);
	cuda_leave(&p[0].cuda, mode);
	cuda_enter(&p[1].cuda, &mode);
	cuda_event_free(&p[1].cuda, e[1]);
	cuda_leave(&p[1].cuda, mode);
	place_close(p + 1, 1);
	place_close(p, 0);
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (!strcmp(what, "places")) {
		test_places();
		test_pinned();
	} else if (!strcmp(what, "processes")) {
		test_processes(0, 1, "two processes on two GPUs");
		test_processes(1, 1, "two processes on one GPU");
	} else if (!strcmp(what, "graphs")) {
		test_graph_of_two();
	} else {
		fprintf(stderr, "usage: cuda_parts_test places|processes|graphs\n");
		return 2;
	}
	return 0;
}
