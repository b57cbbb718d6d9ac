/*
 * Capture, and graphs. See fake.h.
 *
 * A graph is what was put into the captured streams, in the order of the calls; which
 * node waits for which is in their clocks. A graph whose launches wait for one another is
 * replayed by a thread for each of its streams. O(nodes * streams).
 */
#include "tests/fake_cuda/fake.h"

#include <stdlib.h>
#include <string.h>

struct node {
	struct work work;
	int stream;
	struct clock clock; /* after it */
};

struct nodes {
	struct node *of;
	int n, room;
};

struct capture {
	unsigned long id;
	const struct stream *origin;
	int mode;
	pthread_t thread;
	bool spoilt;
	struct nodes nodes;
	struct orders *orders;
	struct capture *next;
};

struct graph {
	struct nodes nodes;
};

struct exec {
	int refs;
	int stuck;
	struct nodes nodes;
};

enum { GLOBAL = 0, THREAD_LOCAL = 1, RELAXED = 2 };

static struct capture *captures;

/* ---- nodes ---------------------------------------------------------------------------- */

static void append(struct nodes *to, const struct node *node)
{
	if (to->n == to->room) {
		to->room = 2 * to->room + 8;
		to->of = realloc(to->of, (size_t)to->room * sizeof(*to->of));
	}
	to->of[to->n++] = *node;
}

static void copy_nodes(struct nodes *to, const struct nodes *from)
{
	for (int i = 0; i < from->n; i++) {
		struct node node = from->of[i];

		if (node.work.launch) {
			node.work.launch = malloc(sizeof(struct launch));
			*node.work.launch = *from->of[i].work.launch;
		}
		append(to, &node);
	}
}

static void free_nodes(struct nodes *nodes)
{
	for (int i = 0; i < nodes->n; i++)
		free(nodes->of[i].work.launch);
	free(nodes->of);
}

/* ---- capture --------------------------------------------------------------------------- */

unsigned long capture_id(const struct capture *c)
{
	return c ? c->id : 0;
}

struct orders **capture_orders(struct capture *c)
{
	return &c->orders;
}

int capture_forbids(int mode)
{
	for (struct capture *c = captures; c; c = c->next) {
		bool mine = pthread_equal(c->thread, pthread_self());

		if (c->mode == RELAXED || mode == RELAXED || (!mine && mode == THREAD_LOCAL) ||
		    (!mine && c->mode == THREAD_LOCAL))
			continue;
		c->spoilt = true;
		return CAPTURE_UNSUPPORTED;
	}
	return 0;
}

void capture_add(struct stream *s, const struct work *w)
{
	struct node node = { .work = *w, .stream = s->number, .clock = s->clock };

	if (w->what == REPLAY)
		illegal("a graph is launched in a capture");
	append(&s->capture->nodes, &node);
}

int capture_join(struct stream *s, const struct event *e)
{
	struct capture *c = captures;

	while (c && c->id != e->capture)
		c = c->next;
	if (!c)
		return CAPTURED_EVENT;
	if (s->number < DEVICES)
		illegal("the default stream joins a capture");
	s->before = s->clock;
	s->capture = c;
	return 0;
}

static void begin_capture(struct stream *s, int mode)
{
	struct capture *c = calloc(1, sizeof(*c));

	if (s->capture)
		illegal("a capture of a stream that is captured already");
	*c = (struct capture){ .id = ++fake.ids,
			       .origin = s,
			       .mode = mode,
			       .thread = pthread_self(),
			       .next = captures };
	captures = c;
	s->before = s->clock;
	s->capture = c;
}

EXPORT int cuStreamBeginCapture_v2(void *s, int mode)
{
	ENTER("cuStreamBeginCapture_v2");
	if (!s)
		return CAPTURE_UNSUPPORTED;
	lock();
	begin_capture(stream_of(s, "cuStreamBeginCapture"), mode);
	unlock();
	return 0;
}

/* All that was captured in other streams is before what comes in the first one. */
static bool joined(const struct capture *c)
{
	for (int i = 0; i < STREAMS; i++)
		if (fake.streams[i].capture == c &&
		    c->origin->clock.at[i] < fake.streams[i].clock.at[i])
			return false;
	return true;
}

/* The streams are as before; the nodes are the caller's. */
static struct nodes end_capture(struct capture *c)
{
	struct capture **at = &captures;
	struct nodes nodes = c->nodes;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	for (int i = 0; i < STREAMS; i++) {
		struct stream *s = fake.streams + i;
		unsigned long own = s->clock.at[i];

		if (s->capture != c)
			continue;
		s->clock = s->before; /* nothing of it has run */
		s->clock.at[i] = own;
		s->capture = NULL;
	}
	orders_free(c->orders);
	free(c);
	return nodes;
}

EXPORT int cuStreamEndCapture(void *stream, void **graph)
{
	const struct stream *s;
	struct graph *g = NULL;
	struct capture *c;
	struct nodes nodes;
	int e = fails("cuStreamEndCapture");

	*graph = NULL;
	lock();
	s = stream_of(stream, "cuStreamEndCapture");
	c = s->capture;
	if (!c || c->origin != s) {
		unlock();
		return CAPTURE_UNMATCHED;
	}
	if (!e)
		e = c->spoilt ? CAPTURE_INVALID : joined(c) ? 0 : CAPTURE_UNJOINED;
	nodes = end_capture(c);
	if (!e) {
		g = calloc(1, sizeof(*g));
		g->nodes = nodes;
		add(GRAPH, g, sizeof(*g), s->device);
	} else {
		free_nodes(&nodes);
	}
	unlock();
	*graph = g;
	return e;
}

EXPORT int cuStreamIsCapturing(void *stream, int *status)
{
	const struct capture *c;

	ENTER("cuStreamIsCapturing");
	lock();
	c = stream_of(stream, "cuStreamIsCapturing")->capture;
	*status = !c ? 0 : c->spoilt ? 2 : 1;
	unlock();
	return 0;
}

EXPORT int cuGraphDestroy(void *graph)
{
	struct graph *g = graph;

	ENTER("cuGraphDestroy");
	lock();
	drop(find(GRAPH, g, "cuGraphDestroy"));
	unlock();
	free_nodes(&g->nodes);
	free(g);
	return 0;
}

/* ---- replays --------------------------------------------------------------------------- */

EXPORT int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
	const struct graph *g = graph;
	struct exec *x;
	int d;

	ENTER("cuGraphInstantiateWithFlags");
	(void)flags;
	d = need_context("cuGraphInstantiateWithFlags");
	lock();
	find(GRAPH, g, "cuGraphInstantiateWithFlags");
	for (int i = 0; i < g->nodes.n; i++)
		if (g->nodes.of[i].work.what == LAUNCH && too_large(g->nodes.of[i].work.launch)) {
			unlock();
			return TOO_LARGE;
		}
	x = calloc(1, sizeof(*x));
	x->refs = 1;
	copy_nodes(&x->nodes, &g->nodes);
	add(EXEC, x, sizeof(*x), d);
	unlock();
	*exec = x;
	return 0;
}

void exec_release(struct exec *x)
{
	if (--x->refs)
		return;
	free_nodes(&x->nodes);
	free(x);
}

EXPORT int cuGraphExecDestroy(void *exec)
{
	ENTER("cuGraphExecDestroy");
	lock();
	drop(find(EXEC, exec, "cuGraphExecDestroy"));
	exec_release(exec);
	unlock();
	return 0;
}

EXPORT int cuGraphLaunch(void *exec, void *stream)
{
	struct exec *x = exec;
	struct work w = { .what = REPLAY, .exec = x };
	struct stream *s;
	int e;

	ENTER("cuGraphLaunch");
	lock();
	s = stream_of(stream, "cuGraphLaunch");
	find(EXEC, x, "cuGraphLaunch");
	x->stuck = number("FAKE_CUDA_STUCK", -1);
	if (!s->capture)
		exec_order(s, x);
	x->refs++;
	e = submit(s, w);
	unlock();
	return e;
}

void exec_order(const struct stream *s, struct exec *x)
{
	for (int i = 0; i < x->nodes.n; i++) {
		struct work *w = &x->nodes.of[i].work;

		if (w->what != LAUNCH)
			continue;
		w->launch->stuck = x->stuck;
		order_launch(NULL, s, w->launch);
	}
}

bool exec_alone(const struct exec *x)
{
	for (int i = 0; i < x->nodes.n; i++) {
		const struct work *w = &x->nodes.of[i].work;

		if (w->what == CALL ||
		    (w->what == LAUNCH && (!w->launch->alone || !may_start(w->launch))))
			return false;
	}
	return true;
}

struct replay {
	const struct nodes *nodes;
	int stream;
	struct replay *all; /* [STREAMS] */
	unsigned long done; /* in this stream, up to that tick */
	pthread_t thread;
};

static bool may_run(const struct replay *r, const struct node *node)
{
	for (int i = 0; i < r->nodes->n; i++) {
		const struct node *before = r->nodes->of + i;
		unsigned long at = before->clock.at[before->stream];

		if (before->stream != r->stream && node->clock.at[before->stream] >= at &&
		    r->all[before->stream].done < at)
			return false;
	}
	return true;
}

static void *replay_stream(void *arg)
{
	struct replay *r = arg;

	for (int i = 0; i < r->nodes->n; i++) {
		const struct node *node = r->nodes->of + i;

		if (node->stream != r->stream)
			continue;
		lock();
		while (!may_run(r, node))
			pthread_cond_wait(&fake.change, &fake.lock);
		unlock();
		perform(&node->work);
		lock();
		r->done = node->clock.at[r->stream];
		pthread_cond_broadcast(&fake.change);
		unlock();
	}
	return NULL;
}

void exec_run(struct exec *x)
{
	struct replay *all = calloc(STREAMS, sizeof(*all));
	bool used[STREAMS] = { false };

	if (exec_alone(x)) {
		for (int i = 0; i < x->nodes.n; i++)
			perform(&x->nodes.of[i].work);
		free(all);
		return;
	}
	for (int i = 0; i < x->nodes.n; i++)
		used[x->nodes.of[i].stream] = true;
	for (int i = 0; i < STREAMS; i++) {
		all[i] = (struct replay){ .nodes = &x->nodes, .stream = i, .all = all };
		if (used[i] && pthread_create(&all[i].thread, NULL, replay_stream, all + i))
			illegal("no thread for a graph");
	}
	for (int i = 0; i < STREAMS; i++)
		if (used[i])
			pthread_join(all[i].thread, NULL);
	free(all);
}

/* ---- for tests -------------------------------------------------------------------------- */

/* The stream captures (`on`), or does not any more; nothing comes of it. */
EXPORT void fake_capture(void *stream, int on)
{
	struct nodes nodes;
	struct stream *s;

	lock();
	s = any_stream(stream, "fake_capture");
	if (on) {
		begin_capture(s, GLOBAL);
	} else {
		nodes = end_capture(s->capture);
		free_nodes(&nodes);
	}
	unlock();
}
