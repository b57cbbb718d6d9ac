/*
 * Checks a document, or draws a picture of it, in a separate process.
 *
 * In: the current documents. Out: published diagnostics, verdicts for lenses, answers to ccc.draw.
 *
 * The child sends lines of JSON. A check sends {"last": false, "findings": [...]} of the front end,
 * then for each schedule {"last": false, "schedule": "ring", "verdict": {...}}, then all findings
 * with "last": true. The first findings are published only if the last do not come soon. A picture
 * is one line, {"last": true, "picture": "<svg..."}, or with "why" there is none. The child ends
 * when its server ends, in whatever way.
 */
#include "compiler/lsp/server.h"
#include "lang/diag/diag_print.h"
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
	const struct lsp_picture *picture; /* NULL: a check */
	FILE *to;
	bool drawn;
};

/* Takes `m`; NULL: there was no memory for it. */
static void send_line(const struct child *c, json_t *m)
{
	if (!m || json_dumpf(m, c->to, JSON_COMPACT))
		_exit(1);
	putc('\n', c->to);
	fflush(c->to);
	json_decref(m);
}

static void send_findings(const struct child *c, bool last, json_t *findings)
{
	send_line(c, json_pack("{s:b, s:o}", "last", last, "findings", findings));
}

static void take(void *arg, struct diags *d, const struct module *m)
{
	const struct child *c = arg;

	if (!c->picture)
		send_findings(c, true, findings_json(d, m, c->doc->path, c->server->utf8));
	else if (!c->drawn)
		send_line(c, json_pack("{s:b, s:o}", "last", 1, "why",
				       findings_why(d, m, c->doc->path)));
}

static void take_verdict(void *arg, const char *schedule, const char *text, uint32_t nranks,
			 int64_t root)
{
	send_line(arg, json_pack("{s:b, s:s, s:{s:s, s:I, s:I}}", "last", 0, "schedule", schedule,
				 "verdict", "text", text, "n", (json_int_t)nranks, "root",
				 (json_int_t)root));
}

/* Sends a picture, a text of open_memstream, which ends in NUL. */
static void take_picture(void *arg, const char *text, size_t n)
{
	struct child *c = arg;

	(void)n;
	c->drawn = true;
	send_line(c, json_pack("{s:b, s:o}", "last", 1, "picture", diag_json_text(text)));
}

/* Sends the findings of the front end; returns whether the check continues. */
static bool run_front(struct look *l, const struct child *c)
{
	look_read(l, false);
	bool more = l->module && !l->diags.errors;
	send_findings(c, !more, findings_json(&l->diags, l->module, c->doc->path, c->server->utf8));
	return more;
}

static void run_child(struct child *c)
{
	const struct server *s = c->server;
	struct lsp_check what = {
		.path = c->doc->path,
		.unsaved = documents_unsaved(&s->documents),
		.nunsaved = s->documents.n,
		.take = take,
		.said = c->picture ? NULL : take_verdict,
		.made = c->picture ? take_picture : NULL,
		.arg = c,
	};
	struct look l;
	volatile bool more = false;

	if (c->picture) {
		s->compiler->draw(s->compiler->self, &what, c->picture);
		return;
	}
	look_open(&l, s, c->doc);
	if (!setjmp(l.full))
		more = run_front(&l, c);
	look_free(&l);
	if (more)
		s->compiler->check(s->compiler->self, &what);
}

/* The child. It does not close or free anything of the server; the exit does. */
static void child_main(struct child c, int to, pid_t server)
{
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
	json_decref(b->id);
	*b = (struct background){ 0 };
}

static void stop(struct background *b)
{
	if (!b->child)
		return;
	kill(b->child, SIGKILL);
	child_wait(b->child, NULL);
	forget(b);
}

void background_stop(struct server *s)
{
	stop(&s->check);
	for (size_t i = 0; i < MOST_PICTURES; i++)
		stop(&s->pictures[i]);
}

void background_abandon(struct server *s)
{
	struct document *doc = documents_find(&s->documents, s->check.uri);

	if (doc)
		doc->dirty = true;
	stop(&s->check);
}

bool background_cancel(struct server *s, const json_t *id)
{
	bool any = false;

	for (size_t i = 0; i < MOST_PICTURES; i++)
		if (s->pictures[i].child && (!id || json_equal(s->pictures[i].id, id))) {
			server_fail(s, s->pictures[i].id, LSP_REQUEST_CANCELLED, "cancelled");
			stop(&s->pictures[i]);
			any = true;
		}
	return any;
}

/* Begins a child. False: the system refused it. */
static bool begin(struct server *s, struct background *b, struct document *doc,
		  const struct lsp_picture *picture)
{
	pid_t self = getpid();
	int ends[2];

	b->uri = strdup(doc->uri);
	if (!b->uri || pipe2(ends, O_CLOEXEC)) {
		free(b->uri);
		*b = (struct background){ 0 };
		return false;
	}
	fflush(s->out);
	b->child = fork();
	if (!b->child) {
		close(ends[0]);
		child_main((struct child){ .server = s, .doc = doc, .picture = picture }, ends[1],
			   self);
	}
	close(ends[1]);
	b->from = ends[0];
	if (b->child < 0) {
		forget(b);
		return false;
	}
	fcntl(b->from, F_SETFL, O_NONBLOCK);
	b->until = clock_seconds() + s->seconds;
	b->due = picture ? b->until : clock_seconds() + FIRST_SECONDS;
	return true;
}

void background_start(struct server *s)
{
	struct document *doc = s->check.child ? NULL : documents_next(&s->documents);

	if (doc) {
		doc->dirty = false;
		begin(s, &s->check, doc, NULL);
	}
}

void background_draw(struct server *s, json_t *id, struct document *doc,
		     const struct lsp_picture *picture)
{
	size_t i = 0;

	while (i < MOST_PICTURES && s->pictures[i].child)
		i++;
	if (i == MOST_PICTURES)
		server_fail(s, id, LSP_REQUEST_FAILED,
			    "4 pictures are being drawn: wait for one, or cancel one");
	else if (begin(s, &s->pictures[i], doc, picture))
		s->pictures[i].id = json_incref(id);
	else
		server_fail(s, id, LSP_REQUEST_FAILED,
			    "the system gives no process for a picture: try again");
}

/* The document that was checked, if it is unchanged. */
static struct document *checked(struct server *s)
{
	struct document *doc = documents_find(&s->documents, s->check.uri);

	return doc && !doc->dirty ? doc : NULL;
}

/* Takes a line of the check. */
static void take_checked(struct server *s, const json_t *m, bool last)
{
	json_t *findings = json_object_get(m, "findings"),
	       *schedule = json_object_get(m, "schedule");
	struct document *doc = checked(s);

	if (doc && schedule && !doc->verdicts)
		doc->verdicts = json_object();
	if (doc && schedule)
		json_object_set(doc->verdicts, json_string_value(schedule),
				json_object_get(m, "verdict"));
	if (doc && last && json_is_array(findings))
		findings_publish(s, doc, json_incref(findings));
	if (!last && json_is_array(findings) && !s->check.first)
		s->check.first = json_incref(findings);
	if (last)
		server_refresh(s);
}

/* Takes a complete line. Returns whether it is the last one. */
static bool take_line(struct server *s, struct background *b, size_t n)
{
	json_t *m = json_loadb(b->bytes, n, 0, NULL), *picture = json_object_get(m, "picture");
	const char *why = json_string_value(json_object_get(m, "why"));
	bool last = json_is_true(json_object_get(m, "last"));

	if (!b->id)
		take_checked(s, m, last);
	else if (picture)
		server_answer(s, b->id, json_incref(picture));
	else
		server_fail(s, b->id, LSP_REQUEST_FAILED, why ? why : "there is no more memory");
	json_decref(m);
	return last || !m;
}

/* Publishes the findings of the front end, if the whole check takes long. */
static void publish_first(struct server *s)
{
	struct background *b = &s->check;
	struct document *doc = checked(s);

	if (doc && b->first)
		findings_publish(s, doc, json_incref(b->first));
	b->due = b->until;
}

/* Publishes the findings for a document with an unfinished check. */
static void publish_unfinished(struct server *s, int severity, const char *why)
{
	json_t *first = s->check.first, *all = first ? json_copy(first) : json_array();
	struct document *doc = checked(s);

	json_array_append_new(all, json_pack("{s:{s:{s:i, s:i}, s:{s:i, s:i}}, s:i, s:s, s:s}",
					     "range", "start", "line", 0, "character", 0, "end",
					     "line", 0, "character", 0, "severity", severity,
					     "source", "ccc", "message", why));
	if (doc)
		findings_publish(s, doc, json_incref(all));
	json_decref(all);
	server_refresh(s);
}

/* Ends a child that has closed its output. Without a last line it has failed. */
static void over(struct server *s, struct background *b)
{
	if (b->id)
		server_fail(s, b->id, LSP_REQUEST_FAILED,
			    "the picture was not finished: it may be larger than 16 MiB, or have "
			    "taken too much memory; draw it for fewer ranks");
	else
		publish_unfinished(
			s, 2,
			"the check of this file ended without a result, perhaps because of its "
			"memory; `ccc check` says more");
	stop(b);
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

void background_read(struct server *s, struct background *b)
{
	ssize_t got = room(b) ? read(b->from, b->bytes + b->n, b->cap - b->n) : 0;
	char *end;

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		over(s, b);
		return;
	}
	b->n += (size_t)got;
	while ((end = memchr(b->bytes, '\n', b->n)) != NULL) {
		size_t n = (size_t)(end - b->bytes) + 1;

		if (take_line(s, b, n)) {
			stop(b);
			return;
		}
		memmove(b->bytes, b->bytes + n, b->n - n);
		b->n -= n;
	}
}

static void expire(struct server *s, struct background *b)
{
	char why[256];

	if (b->id) {
		snprintf(why, sizeof(why),
			 "drawing was stopped after %g s: draw it for fewer ranks, or set "
			 "initializationOptions.seconds to more",
			 s->seconds);
		server_fail(s, b->id, LSP_REQUEST_FAILED, why);
		stop(b);
		return;
	}
	snprintf(
		why, sizeof(why),
		"the check was stopped after %g s: only syntax and names were checked. `ccc check` "
		"has no time limit; initializationOptions.arguments such as [\"-n\", \"2..4\"] "
		"reduce the work",
		s->seconds);
	publish_unfinished(s, 3, why);
	stop(b);
}

double background_left(const struct server *s)
{
	double next = s->check.due, now = clock_seconds();
	bool any = s->check.child != 0;

	if (any && s->check.until < next)
		next = s->check.until;
	for (size_t i = 0; i < MOST_PICTURES; i++) {
		const struct background *b = &s->pictures[i];

		if (b->child && (!any || b->until < next))
			next = b->until;
		any |= b->child != 0;
	}
	if (!any)
		return -1;
	return next > now ? next - now : 0;
}

void background_tick(struct server *s)
{
	double now = clock_seconds();

	if (s->check.child && now >= s->check.until)
		expire(s, &s->check);
	else if (s->check.child && now >= s->check.due)
		publish_first(s);
	for (size_t i = 0; i < MOST_PICTURES; i++)
		if (s->pictures[i].child && now >= s->pictures[i].until)
			expire(s, &s->pictures[i]);
}
