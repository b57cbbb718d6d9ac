/*
 * NCCL's ranks as processes of their own: for an NCCL that refuses two ranks of one
 * process on one GPU.
 *
 * Each helper is ccrun itself, started anew with --nccl-helper; it has a rank of NCCL's,
 * buffers on the rank's GPU, and the same code as a process of ccrun that measures NCCL
 * by itself. It obeys: a request comes by a socket, a reply goes back, and when the
 * socket is closed, it ends. It is told nothing of the table. What NCCL prints goes to
 * stderr. A helper that fails or ends takes the others with it, as they would wait for
 * it for ever. O(requests * ranks).
 */
#include "runtime/ccrun_bench.h"

#include "runtime/nccl_group.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SOCKET 3	/* a helper's end */
#define MOST_SECONDS 10	/* that a helper has to leave NCCL */

extern char **environ;

enum kind { OPEN, JOIN, PREPARE, TIME, CHECK };

struct request {
	enum kind kind;
	int root, op, in_place;
	ccs_dtype type;
	size_t size;
	struct ccs_unique_id id;
};

struct reply {
	ccs_status status;
	double us;
	size_t wrong;
	struct ccs_unique_id id;
	char text[ERROR_TEXT];
};

/* ---- a helper ------------------------------------------------------------------------ */

/* What a helper has. */
struct state {
	struct bench bench;
	struct cuda cuda;
	struct row row;
	bool in_place;
	bool has_row;
};

static void drop_row(struct state *h)
{
	if (!h->has_row)
		return;
	nccl_side_done(&h->bench);
	buffers_free(&h->bench);
	check_free(&h->row.check);
	h->has_row = false;
}

static ccs_status open_gpu(struct state *h)
{
	struct home *at = h->bench.at;
	struct cuda **cuda = calloc((size_t)at->ranks, sizeof(struct cuda *));
	ccs_status s;

	if (!cuda)
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", at->ranks);
	s = cuda_open(&h->cuda, h->bench.o->devices[0]);
	cuda[at->first] = &h->cuda;
	if (!s)
		at->device = device_open(cuda, at->ranks, at->first, at->local);
	if (!s && (!at->device || !buffers_open(&h->bench)))
		s = error_set(CCS_ENOMEM, "out of memory for %d ranks' buffers", at->ranks);
	free(cuda);
	return s;
}

static ccs_status new_row(struct state *h, const struct request *q)
{
	struct bench *b = &h->bench;
	struct row *r = &h->row;
	ccs_status s;

	drop_row(h);
	*r = (struct row){
		.check = { .module = b->m, .type = q->type, .op = q->op },
		.root = q->root,
	};
	r->check.view = module_plan(b->m, b->at->ranks, q->root);
	if (!r->check.view || !check_init(&r->check))
		return error_set(CCS_ENOMEM, "out of memory");
	h->has_row = true;
	h->in_place = q->in_place;
	check_scalar(&r->check, r->scalar);
	s = buffers_size(b, r, q->size);
	if (!s)
		s = buffers_alloc(b, r);
	if (!s)
		buffers_place(b, r, h->in_place);
	if (!s)
		s = buffers_fill(b, r, h->in_place);
	return s ? s : nccl_side_prepare(b, r, h->in_place);
}

static ccs_status obey(struct state *h, const struct request *q, struct reply *a)
{
	struct result result = { .wrong = 0 };
	ccs_status s = CCS_EINVAL;

	switch (q->kind) {
	case OPEN:
		s = open_gpu(h);
		return s ? s : nccl_side_helper(&h->bench, &a->id);
	case JOIN:
		return nccl_side_join(&h->bench, &q->id);
	case PREPARE:
		return new_row(h, q);
	case TIME:
		return nccl_side_time(&h->bench, &h->row, &a->us);
	case CHECK:
		s = nccl_side_check(&h->bench, &h->row, h->in_place, &result);
		a->wrong = result.wrong;
		memcpy(a->text, result.text, sizeof(result.text));
		break;
	}
	return s;
}

int helper_main(const struct options *o, struct ccs_module *m)
{
	struct home at = { .ranks = o->ranks, .first = o->helper, .local = 1 };
	struct state h = { .bench = { .o = o, .m = m, .at = &at } };
	struct request q;
	struct reply a;
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);	/* in NCCL it would not see the socket close */
	while ((n = recv(SOCKET, &q, sizeof(q), 0)) == (ssize_t)sizeof(q)) {
		memset(&a, 0, sizeof(a));
		a.status = obey(&h, &q, &a);
		if (a.status)
			snprintf(a.text, sizeof(a.text), "%s", ccs_error());
		if (send(SOCKET, &a, sizeof(a), MSG_NOSIGNAL) != (ssize_t)sizeof(a))
			break;
	}
	drop_row(&h);
	nccl_side_close(&h.bench);
	device_close(at.device);
	buffers_close(&h.bench);
	cuda_close(&h.cuda);
	return n ? EXIT_USAGE : EXIT_DONE;
}

/* ---- those who command them ------------------------------------------------------------- */

struct helper {
	pid_t pid;
	int socket;
	bool waiting;		/* for its reply */
};

struct helpers {
	int n;
	double limit;		/* seconds that a step may take; 0: any */
	struct helper *one;
	struct reply *reply;	/* [n] */
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Waits for a helper, and kills it when its time is up. */
static void reap(struct helper *one, double end)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	while (one->pid > 0 && waitpid(one->pid, NULL, WNOHANG) == 0) {
		if (seconds() >= end)
			kill(one->pid, SIGKILL);
		nanosleep(&pause, NULL);
	}
	one->pid = 0;
}

/* Closes the sockets, so that they end; or kills them. */
static void end_all(struct helpers *h, bool kill_them)
{
	double end = seconds() + (kill_them ? 0 : MOST_SECONDS);

	for (int i = 0; i < h->n; i++) {
		if (h->one[i].socket >= 0)
			close(h->one[i].socket);
		h->one[i].socket = -1;
	}
	for (int i = 0; i < h->n; i++)
		reap(h->one + i, end);
}

void helpers_close(struct helpers *h)
{
	if (!h)
		return;
	end_all(h, false);
	free(h->one);
	free(h->reply);
	free(h);
}

/* Its socket is closed: how it ended. The others are killed. */
static ccs_status lost(struct helpers *h, int rank)
{
	int status = 0;

	waitpid(h->one[rank].pid, &status, 0);
	h->one[rank].pid = 0;
	end_all(h, true);
	if (WIFSIGNALED(status))
		return error_set(CCS_ESYSTEM, "the process with NCCL's rank %d was ended by signal "
				 "%d (%s)", rank, WTERMSIG(status), strsignal(WTERMSIG(status)));
	return error_set(CCS_ESYSTEM, "the process with NCCL's rank %d ended with status %d", rank,
			 WEXITSTATUS(status));
}

/* Takes the replies that are there. */
static ccs_status take(struct helpers *h, const struct pollfd *ready, int *left)
{
	for (int i = 0; i < h->n; i++) {
		struct reply *a = h->reply + i;

		if (!h->one[i].waiting || !ready[i].revents)
			continue;
		if (recv(h->one[i].socket, a, sizeof(*a), 0) != (ssize_t)sizeof(*a))
			return lost(h, i);
		h->one[i].waiting = false;
		--*left;
		if (!a->status)
			continue;
		end_all(h, true);
		return error_set(error_of_peer(a->status), "rank %d: %s", i, a->text);
	}
	return CCS_OK;
}

/* Until all have replied, in at most `limit` seconds (0: any). */
static ccs_status collect(struct helpers *h, double limit)
{
	struct pollfd *ready = calloc((size_t)h->n, sizeof(*ready));
	double end = seconds() + limit;
	int left = h->n;
	ccs_status s = ready ? CCS_OK : error_set(CCS_ENOMEM, "out of memory");

	while (left && !s) {
		for (int i = 0; i < h->n; i++)
			ready[i] = (struct pollfd){
				.fd = h->one[i].waiting ? h->one[i].socket : -1, .events = POLLIN,
			};
		if (poll(ready, (nfds_t)h->n, 1000) < 0 && errno != EINTR)
			s = error_set(CCS_ESYSTEM, "poll: %s", strerror(errno));
		else
			s = take(h, ready, &left);
		if (!s && left && limit > 0 && seconds() > end) {
			end_all(h, true);
			s = error_set(CCS_ETIMEOUT, "NCCL made no progress for %g seconds "
				      "(--timeout)", limit);
		}
	}
	free(ready);
	return s;
}

/* The same request to all. */
static ccs_status ask(struct helpers *h, const struct request *q, double limit)
{
	for (int i = 0; i < h->n; i++) {
		if (h->one[i].socket < 0)
			return error_set(CCS_EABORTED, "NCCL failed before");
		if (send(h->one[i].socket, q, sizeof(*q), MSG_NOSIGNAL) != (ssize_t)sizeof(*q))
			return lost(h, i);
		h->one[i].waiting = true;
	}
	return collect(h, limit);
}

/* ---- starting them ------------------------------------------------------------------------ */

static ccs_status spawn(struct helper *one, char *const *argv, int socket)
{
	posix_spawn_file_actions_t files;
	int e = posix_spawn_file_actions_init(&files);

	if (e)
		return error_set(CCS_ENOMEM, "out of memory");
	e = posix_spawn_file_actions_adddup2(&files, socket, SOCKET);
	if (!e)
		e = posix_spawn_file_actions_adddup2(&files, 2, 1);
	if (!e)
		e = posix_spawn(&one->pid, "/proc/self/exe", &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	if (!e)
		return CCS_OK;
	one->pid = 0;
	return error_set(CCS_ESYSTEM, "a process for a rank of NCCL's cannot be started: %s",
			 strerror(e));
}

static ccs_status start(struct helpers *h, const struct bench *b, int rank)
{
	const struct options *o = b->o;
	char me[16], ranks[16], device[32], warmup[16], iters[16], graphs[16], timeout[16];
	char *argv[] = { "ccrun", "--nccl-helper", me, "-n", ranks, "--device", device, "-w",
			 warmup, "--iters", iters, "-G", graphs, "--timeout", timeout, "--",
			 (char *)(uintptr_t)o->file, NULL };
	int pair[2];
	ccs_status s;

	snprintf(me, sizeof(me), "%d", rank);
	snprintf(ranks, sizeof(ranks), "%d", b->at->ranks);
	snprintf(device, sizeof(device), "cuda:%d", b->at->devices[rank]);
	snprintf(warmup, sizeof(warmup), "%u", o->warmup);
	snprintf(iters, sizeof(iters), "%u", o->iters);
	snprintf(graphs, sizeof(graphs), "%u", o->graphs);
	snprintf(timeout, sizeof(timeout), "%u", o->timeout);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return error_set(CCS_ESYSTEM, "socketpair: %s", strerror(errno));
	h->one[rank].socket = pair[0];
	s = spawn(h->one + rank, argv, pair[1]);
	close(pair[1]);
	return s;
}

ccs_status helpers_open(struct helpers **out, const struct bench *b)
{
	struct helpers *h = calloc(1, sizeof(*h));
	struct request q = { .kind = OPEN };
	ccs_status s = CCS_OK;

	*out = h;
	if (!h)
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", b->at->ranks);
	h->one = calloc((size_t)b->at->ranks, sizeof(*h->one));
	h->reply = calloc((size_t)b->at->ranks, sizeof(*h->reply));
	if (!h->one || !h->reply)
		return error_set(CCS_ENOMEM, "out of memory for %d ranks", b->at->ranks);
	h->limit = b->o->timeout;
	for (; h->n < b->at->ranks && !s; h->n++) {
		h->one[h->n].socket = -1;
		s = start(h, b, h->n);
	}
	if (!s)
		s = ask(h, &q, 0);
	if (s)
		return s;
	q = (struct request){ .kind = JOIN, .id = h->reply[0].id };
	return ask(h, &q, h->limit);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Buffers of any size are filled: a helper's own limit is for the calls. */
ccs_status helpers_prepare(struct helpers *h, const struct row *r, bool in_place)
{
	struct request q = {
		.kind = PREPARE, .root = r->root, .op = r->check.op, .type = r->check.type,
		.in_place = in_place, .size = r->size,
	};

	return ask(h, &q, 0);
}

ccs_status helpers_time(struct helpers *h, double *us)
{
	struct request q = { .kind = TIME };
	ccs_status s = ask(h, &q, 0);

	*us = 0;
	for (int i = 0; i < h->n && !s; i++)
		*us = h->reply[i].us > *us ? h->reply[i].us : *us;
	return s;
}

ccs_status helpers_check(struct helpers *h, struct result *result)
{
	struct request q = { .kind = CHECK };
	ccs_status s = ask(h, &q, 0);

	result->wrong = 0;
	*result->text = '\0';
	for (int i = 0; i < h->n && !s; i++) {
		if (h->reply[i].wrong && !result->wrong)
			snprintf(result->text, sizeof(result->text), "%.200s", h->reply[i].text);
		result->wrong += h->reply[i].wrong;
	}
	return s;
}
