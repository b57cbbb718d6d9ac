/*
 * The check of a document, in a process of its own.
 *
 * In: the documents as they are. The child sends a line of JSON for each of two stages:
 * {"last": false, "findings": [...]} of the front end alone, then all, with "last": true. The
 * first is published only if the last is not soon there. The child ends with its server, however
 * that ends. Out: published diagnostics.
 */
#include "compiler/lsp/server.h"
#include "runtime/base/child.h"
#include "runtime/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* ---- the child ---------------------------------------------------------------------------- */

struct child {
	const struct server *server;
	const struct document *doc;
	FILE *to;
};

static void send_findings(const struct child *c, bool last, json_t *findings)
{
	json_t *m = json_pack("{s:b, s:o}", "last", last, "findings", findings);

	if (!m || json_dumpf(m, c->to, JSON_COMPACT))
		_exit(1);
	putc('\n', c->to);
	fflush(c->to);
	json_decref(m);
}

static void take(void *arg, struct diags *d, const struct module *m)
{
	const struct child *c = arg;

	send_findings(c, true, findings_json(d, m, c->doc->path, c->server->utf8));
}

/* What the front end says; whether there is more to look at. */
static bool run_front(struct look *l, const struct child *c)
{
	look_read(l, false);
	bool more = l->module && !l->diags.errors;
	send_findings(c, !more, findings_json(&l->diags, l->module, c->doc->path, c->server->utf8));
	return more;
}

static void run_child(const struct child *c)
{
	const struct server *s = c->server;
	struct lsp_check what = {
		.path = c->doc->path,
		.unsaved = documents_unsaved(&s->documents),
		.nunsaved = s->documents.n,
		.take = take,
		.arg = (void *)(uintptr_t)c,
	};
	struct look l;
	volatile bool more = false;

	look_open(&l, s, c->doc);
	if (!setjmp(l.full))
		more = run_front(&l, c);
	look_free(&l);
	if (more)
		s->compiler->check(s->compiler->self, &what);
}

/* In the child. Nothing of the server's is closed or freed: all that ends with it. */
static void child_main(const struct server *s, const struct document *doc, int to, pid_t server)
{
	struct child c = { .server = s, .doc = doc };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != server)
		_exit(1);
	c.to = fdopen(to, "w");
	if (c.to)
		run_child(&c);
	_exit(0);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void forget(struct background *b)
{
	close(b->from);
	free(b->bytes);
	free(b->uri);
	json_decref(b->first);
	*b = (struct background){ 0 };
}

void background_stop(struct server *s)
{
	struct background *b = &s->background;

	if (!b->child)
		return;
	kill(b->child, SIGKILL);
	child_wait(b->child, NULL);
	forget(b);
}

void background_abandon(struct server *s)
{
	struct document *doc = documents_find(&s->documents, s->background.uri);

	if (doc)
		doc->dirty = true;
	background_stop(s);
}

static void begin(struct server *s, struct document *doc)
{
	struct background *b = &s->background;
	pid_t self = getpid();
	int ends[2];

	doc->dirty = false;
	b->uri = strdup(doc->uri);
	if (!b->uri || pipe2(ends, O_CLOEXEC)) {
		free(b->uri);
		*b = (struct background){ 0 };
		return;
	}
	fflush(s->out);
	b->child = fork();
	if (!b->child) {
		close(ends[0]);
		child_main(s, doc, ends[1], self);
	}
	close(ends[1]);
	b->from = ends[0];
	if (b->child < 0) {
		forget(b);
		return;
	}
	fcntl(b->from, F_SETFL, O_NONBLOCK);
	b->version = doc->version;
	b->due = clock_seconds() + FIRST_SECONDS;
	b->until = clock_seconds() + s->seconds;
}

void background_start(struct server *s)
{
	struct document *doc = s->background.child ? NULL : documents_next(&s->documents);

	if (doc)
		begin(s, doc);
}

/* The document that was checked, if it is as it was then. */
static struct document *checked(struct server *s)
{
	struct document *doc = documents_find(&s->documents, s->background.uri);

	return doc && !doc->dirty ? doc : NULL;
}

/* A whole line. Whether it is the last. */
static bool take_line(struct server *s, size_t n)
{
	json_t *m = json_loadb(s->background.bytes, n, 0, NULL),
	       *findings = json_object_get(m, "findings");
	bool last = json_is_true(json_object_get(m, "last"));
	struct document *doc = checked(s);

	if (doc && last && json_is_array(findings))
		findings_publish(s, doc, json_incref(findings));
	if (!last && json_is_array(findings) && !s->background.first)
		s->background.first = json_incref(findings);
	json_decref(m);
	return last || !m;
}

/* What the front end said, where the whole check takes its time. */
static void publish_first(struct server *s)
{
	struct background *b = &s->background;
	struct document *doc = checked(s);

	if (doc && b->first)
		findings_publish(s, doc, json_incref(b->first));
	b->due = b->until;
}

/* What can be said of a document whose check did not end. */
static void publish_unfinished(struct server *s, int severity, const char *why)
{
	json_t *first = s->background.first, *all = first ? json_copy(first) : json_array();
	struct document *doc = checked(s);

	json_array_append_new(all, json_pack("{s:{s:{s:i, s:i}, s:{s:i, s:i}}, s:i, s:s, s:s}",
					     "range", "start", "line", 0, "character", 0, "end",
					     "line", 0, "character", 0, "severity", severity,
					     "source", "ccc", "message", why));
	if (doc)
		findings_publish(s, doc, json_incref(all));
	json_decref(all);
}

/* It has ended. Without a last line something went wrong in it. */
static void over(struct server *s)
{
	publish_unfinished(s, 2,
			   "the check of this file ended without a result, perhaps because of its "
			   "memory; `ccc check` says more");
	background_stop(s);
}

static bool room(struct background *b)
{
	size_t cap = b->cap ? 2 * b->cap : 1 << 16;
	char *more;

	if (b->n < b->cap)
		return true;
	more = cap <= MOST_RESULT ? realloc(b->bytes, cap) : NULL;
	if (!more)
		return false;
	b->bytes = more;
	b->cap = cap;
	return true;
}

void background_read(struct server *s)
{
	struct background *b = &s->background;
	ssize_t got = room(b) ? read(b->from, b->bytes + b->n, b->cap - b->n) : 0;
	char *end;

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		over(s);
		return;
	}
	b->n += (size_t)got;
	while ((end = memchr(b->bytes, '\n', b->n)) != NULL) {
		size_t n = (size_t)(end - b->bytes) + 1;

		if (take_line(s, n)) {
			background_stop(s);
			return;
		}
		memmove(b->bytes, b->bytes + n, b->n - n);
		b->n -= n;
	}
}

static void expire(struct server *s)
{
	char why[256];

	snprintf(
		why, sizeof(why),
		"the check was stopped after %g s: only syntax and names were checked. `ccc check` "
		"has no time limit; initializationOptions.arguments such as [\"-n\", \"2..4\"] "
		"reduce the work",
		s->seconds);
	publish_unfinished(s, 3, why);
	background_stop(s);
}

double background_left(const struct server *s)
{
	const struct background *b = &s->background;
	double next = b->due < b->until ? b->due : b->until, now = clock_seconds();

	if (!b->child)
		return -1;
	return next > now ? next - now : 0;
}

void background_tick(struct server *s)
{
	double now = clock_seconds();

	if (s->background.child && now >= s->background.until)
		expire(s);
	else if (s->background.child && now >= s->background.due)
		publish_first(s);
}
