/*
 * What kernels do with the memory of other GPUs, of other processes and of the host,
 * against a driver of our own (tests/fake_cuda): a message goes from a kernel on one GPU
 * to one on another. And what that driver refuses: it must, for the other suites to mean
 * something.
 *
 * usage: cuda_parts_test places|processes|graphs|refused, with FAKE_CUDA_GPUS=3 and the
 *        library in LD_LIBRARY_PATH (tests/cuda_driver_test.sh does that)
 */
#include "runtime/cuda_driver.h"
#include "runtime/device/args.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT 100u
#define TILE 16u
#define SLOTS 2u
#define LIMIT 50000000u		/* ns */

static const char cubin[] = "FAKE CUBIN -DCCS_TYPE=7 -DCCS_OP=0 -DCCS_PROTO=0";

static bool say(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool say(bool ok, const char *format, ...)
{
	va_list ap;

	printf(ok ? "ok - " : "not ok - ");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	return ok;
}

static bool says(ccs_status s, ccs_status want, const char *text, const char *what)
{
	bool ok = s == want && (!text || strstr(ccs_error(), text));

	if (!ok)
		printf("# %s: %s: %s\n", what, ccs_status_name(s), s ? ccs_error() : "");
	return say(ok, "%s", what);
}

/* Opens a GPU and makes it current. */
static int enter(struct cuda *d, int device)
{
	int mode;

	if (cuda_open(d, device) || cuda_enter(d, &mode)) {
		say(false, "GPU %d: %s", device, ccs_error());
		exit(1);
	}
	return mode;
}

static void leave(struct cuda *d, int mode)
{
	cuda_leave(d, mode);
	cuda_close(d);
}

/* ---- a plan of one message: rank 0 sends its buffer to rank 1 -------------------------- */

/* What a part has in its GPU's memory. */
struct part {
	struct ccs_dev_op ops[2];
	struct ccs_dev_worker workers[2];
	struct ccs_dev_cell cell;
	struct ccs_dev_fifo fifo;
	struct ccs_dev_post posts[2];
	uint64_t done[2 * CCS_DEV_LINE], epoch[2 * CCS_DEV_LINE];
	uint64_t head, tail;
	_Alignas(16) uint8_t data[SLOTS * TILE * 4];
	struct ccs_dev_report report;
	uint32_t abort;
	_Alignas(16) float buffer[COUNT];
};

/* Where parts are seen from one of them: its own, the other's, and the host's, if the
 * FIFO lies there. */
struct seen {
	cuda_ptr part[2], host;
};

#define AT(base, member) ((void *)(uintptr_t)((base) + offsetof(struct part, member)))

static void fill_part(struct part *p, const struct seen *s)
{
	*p = (struct part){
		.ops = {
			{ .form = CCS_DEV_A | CCS_DEV_A_INITIAL | CCS_DEV_OUT, .n = 1, .done = 1,
			  .line = 11 },
			{ .form = CCS_DEV_IN | CCS_DEV_DST, .n = 1, .done = 1, .line = 12 },
		},
		.workers = {
			{ .rank = 0, .op = 0, .nops = 1, .count = 1, .of = 1 },
			{ .rank = 1, .op = 1, .nops = 1, .count = 1, .of = 1 },
		},
		.cell = { .chunks = 1 },
		.fifo = {
			.data = AT(s->host ? s->host : s->part[1], data),
			.head = AT(s->host ? s->host : s->part[1], head),
			.tail = AT(s->host ? s->host : s->part[0], tail),
			.slot_bytes = TILE * 4, .slots = SLOTS, .messages = 1,
			.src = 0, .dst = 1, .src_worker = 0, .dst_worker = 1,
		},
	};
	for (unsigned i = 0; i < COUNT; i++)
		p->buffer[i] = (float)i + 1;
}

static struct ccs_dev_call make_call(const struct seen *s, unsigned rank)
{
	cuda_ptr own = s->part[rank];
	struct ccs_dev_call c = {
		.ops = AT(own, ops), .workers = AT(own, workers), .cells = AT(own, cell),
		.fifos = AT(own, fifo), .posts = AT(own, posts), .done = AT(own, done),
		.epoch = AT(own, epoch), .report = AT(own, report),
		.abort = AT(s->host ? s->host : s->part[0], abort),
		.count = COUNT, .tile = TILE, .ntiles = (COUNT + TILE - 1) / TILE,
		.longest = (COUNT + 3) / 4 * 4, .limit = LIMIT, .worker0 = rank, .nworkers = 1,
		.replicas = 1, .replicas_max = 1, .far = 1,
	};

	c.ranks[rank].send = AT(own, buffer);
	c.ranks[rank].recv = AT(own, buffer);
	return c;
}

/* A rank's part on its GPU, with a kernel. */
struct place {
	struct cuda cuda;
	cuda_module module;
	cuda_function kernel;
	cuda_stream stream;
	struct seen seen;
};

static bool open_place(struct place *p, int device, unsigned rank)
{
	int mode;
	bool ok;

	*p = (struct place){ 0 };
	mode = enter(&p->cuda, device);
	ok = !cuda_load(&p->cuda, &p->module, &p->kernel, cubin, CCS_DEV_KERNEL) &&
	     !cuda_stream_new(&p->cuda, &p->stream) &&
	     !cuda_alloc_shared(&p->cuda, &p->seen.part[rank], sizeof(struct part), "a part");
	cuda_leave(&p->cuda, mode);
	return ok;
}

static bool set_up(struct place *p, unsigned rank)
{
	struct part part;
	bool ok;
	int mode;

	fill_part(&part, &p->seen);
	if (rank == 1)
		memset(part.buffer, 0, sizeof(part.buffer));
	ok = !cuda_enter(&p->cuda, &mode) &&
	     !cuda_upload(&p->cuda, p->seen.part[rank], &part, sizeof(part), "a part");
	cuda_leave(&p->cuda, mode);
	return ok;
}

static bool start(struct place *p, unsigned rank)
{
	struct ccs_dev_call c = make_call(&p->seen, rank);
	void *params[] = { &c };
	int mode;
	bool ok = !cuda_enter(&p->cuda, &mode) &&
		  !cuda_launch(&p->cuda, p->kernel, 1, 32, 0, p->stream, params);

	cuda_leave(&p->cuda, mode);
	return ok;
}

/* What the part is when the stream's work is done. */
static bool fetch(struct place *p, unsigned rank, struct part *part)
{
	int mode;
	bool ok = !cuda_enter(&p->cuda, &mode) && !cuda_sync(&p->cuda, p->stream) &&
		  !cuda_download(&p->cuda, part, p->seen.part[rank], sizeof(*part), "a part");

	cuda_leave(&p->cuda, mode);
	return ok;
}

/* Both kernels are done: each writes into the other's part till its end. */
static bool finish(struct place *p)
{
	bool ok = true;
	int mode;

	for (int i = 0; i < 2; i++) {
		ok &= !cuda_enter(&p[i].cuda, &mode) && !cuda_sync(&p[i].cuda, p[i].stream);
		cuda_leave(&p[i].cuda, mode);
	}
	return ok;
}

static bool arrived(struct place *p)
{
	struct part part;
	bool all = fetch(p, 1, &part);

	for (unsigned i = 0; i < COUNT; i++)
		all &= part.buffer[i] == (float)i + 1;
	return all && !part.report.taken;
}

static void close_place(struct place *p, unsigned rank)
{
	int mode;

	cuda_enter(&p->cuda, &mode);
	cuda_sync(&p->cuda, p->stream);
	cuda_free(&p->cuda, p->seen.part[rank]);
	cuda_stream_free(&p->cuda, p->stream);
	cuda_unload(&p->cuda, p->module);
	leave(&p->cuda, mode);
}

/* ---- several GPUs in one process -------------------------------------------------------- */

static ccs_status reach(struct place *from, struct place *to)
{
	int mode;
	ccs_status s = cuda_enter(&from->cuda, &mode);

	if (s)
		return s;
	s = cuda_reach(&from->cuda, &to->cuda);
	cuda_leave(&from->cuda, mode);
	return s;
}

static void test_reach(struct place *p)
{
	p[0].seen.part[1] = p[1].seen.part[1];
	p[1].seen.part[0] = p[0].seen.part[0];
	says(reach(p, p + 1), CCS_OK, NULL, "GPU 0 reaches GPU 1");
	says(reach(p + 1, p), CCS_OK, NULL, "GPU 1 reaches GPU 0");
	says(reach(p, p + 1), CCS_OK, NULL, "... again is fine");
	says(reach(p, p), CCS_OK, NULL, "... so is itself");
}

static void test_stuck(struct place *p)
{
	struct part part;
	bool ok;

	setenv("FAKE_CUDA_STUCK", "0", 1);
	ok = start(p, 0) && start(p + 1, 1);
	unsetenv("FAKE_CUDA_STUCK");
	ok = ok && finish(p) && fetch(p, 0, &part);
	say(ok && part.abort && !part.report.taken,
	    "a kernel whose message does not come ends all");
	say(ok && fetch(p + 1, 1, &part) && part.report.taken == 1 &&
	    part.report.kind == CCS_DEV_STUCK_RECV && part.report.rank == 1 &&
	    part.report.peer == 0 && part.report.line == 12,
	    "... and reports");
}

static void test_places(void)
{
	struct place p[2];
	bool ok = open_place(p, 0, 0) && open_place(p + 1, 1, 1);

	test_reach(p);
	for (int i = 0; i < 20 && ok; i++)	/* counters go on from call to call */
		ok = (i % 5 || (set_up(p, 0) && set_up(p + 1, 1))) && start(p, 0) &&
		     start(p + 1, 1) && finish(p) && arrived(p + 1);
	say(ok, "messages from GPU 0 to GPU 1");
	test_stuck(p);
	close_place(p + 1, 1);
	close_place(p, 0);

	setenv("FAKE_CUDA_PEERS", "none", 1);
	open_place(p, 0, 0);
	open_place(p + 1, 1, 1);
	says(reach(p + 1, p), CCS_EUNSUPPORTED, "cuCtxEnablePeerAccess",
	     "a GPU that is no peer is not reached");
	unsetenv("FAKE_CUDA_PEERS");
	close_place(p + 1, 1);
	close_place(p, 0);
}

static void test_pinned(void)
{
	size_t bytes = (sizeof(struct part) + 4095) / 4096 * 4096;
	char *host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct place p[2];
	int mode;
	bool ok;

	ok = open_place(p, 0, 0) && open_place(p + 1, 1, 1) && !cuda_enter(&p[1].cuda, &mode);
	says(cuda_pin(&p[1].cuda, host, bytes, "a segment"), CCS_OK, NULL,
	     "the host's memory is pinned");
	says(cuda_pin(&p[1].cuda, host, bytes, "a segment"), CCS_ESYSTEM, "cuMemHostRegister",
	     "... but not twice");
	ok = ok && !cuda_pinned(&p[0].cuda, host, &p[0].seen.host, "a segment") &&
	     !cuda_pinned(&p[1].cuda, host + 64, &p[1].seen.host, "a segment");
	say(ok && p[1].seen.host == p[0].seen.host + 64, "... and has an address in its middle");
	p[1].seen.host = p[0].seen.host;
	ok = ok && set_up(p, 0) && set_up(p + 1, 1) && start(p, 0) && start(p + 1, 1) &&
	     finish(p);
	say(ok && arrived(p + 1), "a message by the host's memory, without peer access");
	cuda_unpin(&p[1].cuda, host);
	says(cuda_pin(&p[1].cuda, host, bytes, "a segment"), CCS_OK, NULL,
	     "... which is free then");
	cuda_unpin(&p[1].cuda, host);
	cuda_leave(&p[1].cuda, mode);
	close_place(p + 1, 1);
	close_place(p, 0);
	munmap(host, bytes);
}

/* ---- processes ----------------------------------------------------------------------------- */

static bool swap(int fd, const void *mine, void *others, size_t n)
{
	return write(fd, mine, n) == (ssize_t)n && read(fd, others, n) == (ssize_t)n;
}

/* Gives the part to the other process, and maps its part. */
static bool exchange(struct place *p, int fd, unsigned rank)
{
	struct cuda_shared mine, others;
	cuda_ptr again = 0, *at = &p->seen.part[1 - rank];
	int mode;
	bool ok = !cuda_enter(&p->cuda, &mode) &&
		  !cuda_share(&p->cuda, p->seen.part[rank], &mine, "a part");

	ok = ok && cuda_map(&p->cuda, &mine, &again, "its own part") && !again;
	ok = swap(fd, &mine, &others, sizeof(mine)) && ok;
	ok = ok && !cuda_map(&p->cuda, &others, at, "a part") &&
	     !cuda_map(&p->cuda, &others, &again, "a part") && again == *at;
	cuda_unmap(&p->cuda, again);	/* it stays mapped once */
	cuda_leave(&p->cuda, mode);
	return ok;
}

/* One of two processes; whether all went well. */
static bool process(int fd, unsigned rank, int device)
{
	struct part part;
	struct place p;
	char word = 1;
	int mode;
	bool ok = open_place(&p, device, rank) && exchange(&p, fd, rank);

	for (int i = 0; i < 10 && ok; i++)
		ok = set_up(&p, rank) && swap(fd, &word, &word, 1) && start(&p, rank) &&
		     (rank ? arrived(&p) : fetch(&p, 0, &part)) && swap(fd, &word, &word, 1);
	if (!ok)
		printf("# process %u: %s\n", rank, ccs_error());
	cuda_enter(&p.cuda, &mode);
	cuda_unmap(&p.cuda, p.seen.part[1 - rank]);
	cuda_leave(&p.cuda, mode);
	swap(fd, &word, &word, 1);	/* nobody frees what another one has mapped */
	close_place(&p, rank);
	return ok;
}

static void test_processes(int device0, int device1, const char *what)
{
	int fd[2], status = 0, all = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		exit(1);
	fflush(NULL);
	for (unsigned rank = 0; rank < 2; rank++) {
		if (fork())
			continue;
		close(fd[1 - rank]);
		status = !process(fd[rank], rank, rank ? device1 : device0);
		fflush(NULL);
		_exit(status);
	}
	close(fd[0]);
	close(fd[1]);
	for (unsigned rank = 0; rank < 2; rank++) {
		wait(&status);
		all |= status;
	}
	say(!all, "%s", what);
}

/* ---- graphs -------------------------------------------------------------------------------- */

/* A graph of kernels on two GPUs that wait for each other: the second GPU's stream joins
 * the capture and comes back. */
static bool capture_two(struct place *p, cuda_event *e, cuda_graph *g)
{
	int mode;
	bool ok = !cuda_enter(&p[0].cuda, &mode) && !cuda_event_new(&p[0].cuda, e) &&
		  !cuda_capture_begin(&p[0].cuda, p[0].stream) &&
		  !cuda_order(&p[0].cuda, e[0], p[0].stream, p[1].stream) && start(p, 0) &&
		  start(p + 1, 1);
	int mode1;

	ok = ok && !cuda_enter(&p[1].cuda, &mode1) && !cuda_event_new(&p[1].cuda, e + 1) &&
	     !cuda_order(&p[1].cuda, e[1], p[1].stream, p[0].stream);
	cuda_leave(&p[1].cuda, mode1);
	ok = ok && !cuda_capture_end(&p[0].cuda, p[0].stream, g);
	cuda_leave(&p[0].cuda, mode);
	return ok;
}

static void test_graph_of_two(void)
{
	cuda_event e[2] = { NULL, NULL };
	struct place p[2];
	cuda_graph g = NULL;
	bool ok = open_place(p, 0, 0) && open_place(p + 1, 1, 1);
	int mode;

	test_reach(p);
	ok = ok && set_up(p, 0) && set_up(p + 1, 1) && capture_two(p, e, &g);
	say(ok && !arrived(p + 1), "kernels on two GPUs are captured");
	cuda_enter(&p[0].cuda, &mode);
	for (int i = 0; i < 10 && ok; i++)
		ok = !cuda_graph_launch(&p[0].cuda, g, p[0].stream);
	ok = ok && !cuda_sync(&p[0].cuda, p[0].stream);
	say(ok && arrived(p + 1), "... and replayed");
	cuda_graph_free(&p[0].cuda, g);
	cuda_event_free(&p[0].cuda, e[0]);
	cuda_leave(&p[0].cuda, mode);
	cuda_enter(&p[1].cuda, &mode);
	cuda_event_free(&p[1].cuda, e[1]);
	cuda_leave(&p[1].cuda, mode);
	close_place(p + 1, 1);
	close_place(p, 0);
}

/* ---- what must be refused ---------------------------------------------------------------- */

/* Two places that reach each other, set up. */
static void both(struct place *p, bool reached)
{
	open_place(p, 0, 0);
	open_place(p + 1, 1, 1);
	p[0].seen.part[1] = p[1].seen.part[1];
	p[1].seen.part[0] = p[0].seen.part[0];
	if (reached) {
		reach(p, p + 1);
		reach(p + 1, p);
	}
	set_up(p, 0);
	set_up(p + 1, 1);
}

static ccs_status launch(struct place *p, const struct ccs_dev_call *c, cuda_stream s)
{
	struct ccs_dev_call copy = *c;
	void *params[] = { &copy };
	int mode;
	ccs_status rc = cuda_enter(&p->cuda, &mode);

	if (rc)
		return rc;
	rc = cuda_launch(&p->cuda, p->kernel, 1, 32, 0, s, params);
	cuda_leave(&p->cuda, mode);
	return rc;
}

static void no_access(void)
{
	struct place p[2];

	both(p, false);
	start(p, 0);
}

static void not_far(void)
{
	struct ccs_dev_call c;
	struct place p[2];

	both(p, true);
	c = make_call(&p[0].seen, 0);
	c.far = 0;
	launch(p, &c, p[0].stream);
}

static void not_pinned(void)
{
	static _Alignas(16) char host[sizeof(struct part)];
	struct place p[2];

	both(p, true);
	p[0].seen.host = (uintptr_t)host;
	set_up(p, 0);
	start(p, 0);
}

static void nobody_answers(void)
{
	struct ccs_dev_call c;
	struct place p[2];

	both(p, true);
	setenv("FAKE_CUDA_PATIENCE", "0", 1);
	c = make_call(&p[1].seen, 1);
	c.limit = 0;
	launch(p + 1, &c, p[1].stream);
	finish(p);
}

/* Rank 0 twice, in two streams: with room for both messages. */
static void two_streams(cuda_ptr turn)
{
	struct ccs_dev_call c;
	struct place p[2];
	cuda_stream other;
	int mode;

	both(p, true);
	c = make_call(&p[0].seen, 0);
	cuda_enter(&p[0].cuda, &mode);
	cuda_stream_new(&p[0].cuda, &other);
	if (turn) {
		cuda_alloc(&p[0].cuda, &turn, 16, "a turn");
		cuda_zero(&p[0].cuda, turn, 16, "a turn");
	}
	cuda_leave(&p[0].cuda, mode);
	c.turn = (uint64_t *)(uintptr_t)turn;
	c.ntiles = 1;
	c.count = TILE;
	launch(p, &c, p[0].stream);
	launch(p, &c, other);
	finish(p);
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
	close(fd[1 - rank]);		/* so that the end of one ends the other's wait */
	open_place(&p, 0, rank);
	exchange(&p, fd[rank], rank);
	if (rank)
		close_place(&p, rank);
	swap(fd[rank], &word, &word, 1);
}

/* Whether it ends as illegal, and says that; NULL: it must not. */
static void refuses(void (*f)(void), const char *text, const char *what)
{
	FILE *log = tmpfile();
	bool said = false;
	char line[512];
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(fileno(log), 2);
		f();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	rewind(log);
	while (fgets(line, sizeof(line), log))
		said |= strstr(line, "ILLEGAL") && (!text || strstr(line, text));
	fclose(log);
	say(text ? said && WIFSIGNALED(status) : !said && !status, "%s", what);
}

static void test_refused(void)
{
	refuses(no_access, "without peer access", "a kernel without access to its peer is refused");
	refuses(not_far, "`far` is not set", "... and one that does not know that it has a peer");
	refuses(not_pinned, "in no live allocation", "... or uses memory that is not pinned");
	refuses(nobody_answers, "nothing comes", "... or waits for a kernel that is not there");
	refuses(not_ordered, "not ordered", "launches that nothing orders are refused");
	refuses(by_turns, NULL, "... unless they take turns");
	refuses(freed_too_early, "has the memory mapped still",
		"what others have mapped is not freed");
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
	} else if (!strcmp(what, "refused")) {
		test_refused();
	} else {
		fprintf(stderr, "usage: cuda_parts_test places|processes|graphs|refused\n");
		return 2;
	}
	return 0;
}
