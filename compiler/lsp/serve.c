/*
 * The server: messages in their order, and their handlers.
 *
 * In: messages of a client, which may be malformed. Out: exactly one answer for each request, in
 * the order of the requests; but a cancelled request is answered immediately, and ccc.draw when the
 * picture is drawn. Only `exit` ends the server.
 */
#include "compiler/lsp/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* ---- its life ------------------------------------------------------------------------- */

/* Options of the client: {"arguments": ["-n", "2..4"], "seconds": 5}. */
static void take_settings(struct server *s, const json_t *options)
{
	const json_t *arguments = json_object_get(options, "arguments"),
		     *seconds = json_object_get(options, "seconds"), *v;
	size_t n = json_array_size(arguments), i;
	const char **words = calloc(n + 1, sizeof(*words));
	bool ok = words != NULL && (!arguments || json_is_array(arguments));

	json_array_foreach(arguments, i, v)
	{
		ok &= json_is_string(v);
		if (words)
			words[i] = json_is_string(v) ? json_string_value(v) : "";
	}
	if (!ok || (n && !s->compiler->configure(s->compiler->self, words, n)))
		server_show(s, 1,
			    "ccc lsp: initializationOptions.arguments are not valid options of ccc "
			    "and are ignored; the server's log says why");
	free(words);
	if (seconds && json_number_value(seconds) >= 0.1 && json_number_value(seconds) <= 3600)
		s->seconds = json_number_value(seconds);
	else if (seconds)
		server_show(s, 1, "ccc lsp: initializationOptions.seconds is from 0.1 to 3600");
}

static bool offers_utf8(const json_t *params)
{
	const json_t *general = json_object_get(json_object_get(params, "capabilities"), "general"),
		     *encoding;
	size_t i;

	json_array_foreach(json_object_get(general, "positionEncodings"), i,
			   encoding) if (json_is_string(encoding) &&
					 !strcmp(json_string_value(encoding), "utf-8")) return true;
	return false;
}

static bool can_refresh(const json_t *params)
{
	const json_t *workspace =
		json_object_get(json_object_get(params, "capabilities"), "workspace");

	return json_is_true(
		json_object_get(json_object_get(workspace, "codeLens"), "refreshSupport"));
}

static json_t *capabilities(const struct server *s)
{
	json_t *c = json_pack(
		"{s:s, s:{s:b, s:i}, s:b, s:b, s:b, s:b, s:b, s:b, s:{s:b}, s:{s:[s]}, s:{s:[ss]}, s:{}, s:{}}",
		"positionEncoding", s->utf8 ? "utf-8" : "utf-16", "textDocumentSync", "openClose",
		1, "change", 2, "hoverProvider", 1, "definitionProvider", 1, "referencesProvider",
		1, "documentHighlightProvider", 1, "documentSymbolProvider", 1,
		"documentFormattingProvider", 1, "renameProvider", "prepareProvider", 1,
		"codeActionProvider", "codeActionKinds", "quickfix", "executeCommandProvider",
		"commands", "ccc.explain", "ccc.draw", "completionProvider", "codeLensProvider");

	return json_pack("{s:o, s:{s:s, s:s}}", "capabilities", c, "serverInfo", "name", "ccc",
			 "version", CCS_VERSION);
}

static void initialize(struct server *s, json_t *id, const json_t *params)
{
	if (s->life != LIFE_NEW) {
		server_fail(s, id, RPC_INVALID_REQUEST, "initialize: this server is initialized");
		return;
	}
	s->life = LIFE_SERVING;
	s->utf8 = offers_utf8(params);
	s->refreshes = can_refresh(params);
	server_answer(s, id, capabilities(s));
	take_settings(s, json_object_get(params, "initializationOptions"));
}

static void shut_down(struct server *s, json_t *id, const json_t *params)
{
	(void)params;
	s->clean = true;
	s->life = LIFE_SHUT;
	background_cancel(s, NULL);
	background_stop(s);
	server_answer(s, id, json_null());
}

/* Reads an integer in [least, most]; `without` if it is missing. False: it is something else. */
static bool read_number(const json_t *v, json_int_t least, json_int_t most, json_int_t without,
			json_int_t *number)
{
	*number = v ? json_integer_value(v) : without;
	return !v || (json_is_integer(v) && *number >= least && *number <= most);
}

/* ccc.draw {"uri", "schedule": NAME, "n": N, "root": RANK, "format": "svg" | "html"}: all but the
 * uri may be left out. The answer is the picture of the text as it is in the editor. */
static void draw(struct server *s, json_t *id, const json_t *what)
{
	const json_t *schedule = json_object_get(what, "schedule"),
		     *format = json_object_get(what, "format");
	const char *form = format ? json_string_value(format) : "svg", *why = NULL;
	struct document *doc =
		documents_find(&s->documents, json_string_value(json_object_get(what, "uri")));
	struct lsp_picture p = { .schedule = json_string_value(schedule) };
	json_int_t nranks, root;

	if (!doc)
		why = "ccc.draw: this document is not open; open it, and give its uri";
	else if (schedule && !p.schedule)
		why = "ccc.draw: schedule is the name of one, such as \"ring\"";
	else if (!read_number(json_object_get(what, "n"), 1, MOST_RANKS, 0, &nranks))
		why = "ccc.draw: n is a number of ranks, from 1 to 65536";
	else if (!read_number(json_object_get(what, "root"), 0, MOST_RANKS, -1, &root))
		why = "ccc.draw: root is a rank, from 0";
	else if (!form || (strcmp(form, "svg") != 0 && strcmp(form, "html") != 0))
		why = "ccc.draw: format is \"svg\" or \"html\"";
	if (why) {
		server_fail(s, id, RPC_INVALID_PARAMS, why);
		return;
	}
	p.nranks = (uint32_t)nranks;
	p.root = root;
	p.html = form[0] == 'h';
	background_draw(s, id, doc, &p);
}

/* ccc.draw; ccc.explain E0304: the text of `ccc --explain`, shown and answered. */
static void execute(struct server *s, json_t *id, const json_t *params)
{
	const json_t *arguments = json_object_get(params, "arguments");
	const char *command = json_string_value(json_object_get(params, "command")),
		   *code = json_string_value(json_array_get(arguments, 0));
	const struct diag_code *d = NULL;

	if (command && !strcmp(command, "ccc.draw")) {
		draw(s, id, json_array_get(arguments, 0));
		return;
	}
	if (code && (code[0] == 'E' || code[0] == 'W') && strlen(code) == 5)
		d = diag_code(atoi(code + 1) + (code[0] == 'W' ? WARNING_CODES : 0));
	if (!command || strcmp(command, "ccc.explain") != 0 || !d) {
		server_fail(
			s, id, RPC_INVALID_PARAMS,
			"the commands are ccc.explain, with a code such as E0304, and ccc.draw");
		return;
	}
	server_show(s, 3, d->text);
	server_answer(s, id, json_string(d->text));
}

/* ---- documents ------------------------------------------------------------------------ */

/* Ends checks of outdated text: of this document, and of documents that may import it. */
static void changed(struct server *s, const char *why)
{
	if (why)
		server_show(s, 1, why);
	else
		background_abandon(s);
}

static struct document *document_of(struct server *s, const json_t *params)
{
	return documents_find(
		&s->documents,
		json_string_value(json_object_get(json_object_get(params, "textDocument"), "uri")));
}

static void did_open(struct server *s, const json_t *params)
{
	changed(s, documents_open(&s->documents, json_object_get(params, "textDocument")));
}

static void did_change(struct server *s, const json_t *params)
{
	struct document *doc = document_of(s, params);
	const json_t *version = json_object_get(json_object_get(params, "textDocument"), "version");

	if (doc)
		changed(s, documents_change(&s->documents, doc,
					    json_object_get(params, "contentChanges"),
					    json_integer_value(version), s->utf8));
}

static void did_close(struct server *s, const json_t *params)
{
	struct document *doc = document_of(s, params);

	if (!doc)
		return;
	background_abandon(s);
	findings_publish(s, doc, json_array());
	documents_close(&s->documents, doc);
}

/* A file was saved, or changed on the disk: documents that import it must be checked again. */
static void files_changed(struct server *s, const json_t *params)
{
	(void)params;
	documents_touch(&s->documents, NULL);
	background_abandon(s);
}

static void leave(struct server *s, const json_t *params)
{
	(void)params;
	s->life = LIFE_OVER;
}

/* A name that cannot be renamed is answered with the reason. */
static void rename_name(struct server *s, json_t *id, const json_t *params)
{
	struct document *doc = document_of(s, params);
	const char *why = "this document is not open";
	json_t *edit = doc ? answer_rename(s, doc, params, &why) : NULL;

	if (why)
		server_fail(s, id, doc ? LSP_REQUEST_FAILED : RPC_INVALID_PARAMS, why);
	else
		server_answer(s, id, edit);
}

/* ---- handlers of messages -------------------------------------------------------------------- */

static const struct {
	const char *method;
	void (*request)(struct server *s, json_t *id, const json_t *params);
	void (*notification)(struct server *s, const json_t *params);
	json_t *(*about)(struct server *s, struct document *doc, const json_t *params);
} methods[] = {
	{ "initialize", initialize, NULL, NULL },
	{ "shutdown", shut_down, NULL, NULL },
	{ "exit", NULL, leave, NULL },
	{ "workspace/executeCommand", execute, NULL, NULL },
	{ "workspace/didChangeWatchedFiles", NULL, files_changed, NULL },
	{ "textDocument/didOpen", NULL, did_open, NULL },
	{ "textDocument/didChange", NULL, did_change, NULL },
	{ "textDocument/didSave", NULL, files_changed, NULL },
	{ "textDocument/didClose", NULL, did_close, NULL },
	{ "textDocument/hover", NULL, NULL, answer_hover },
	{ "textDocument/definition", NULL, NULL, answer_definition },
	{ "textDocument/references", NULL, NULL, answer_references },
	{ "textDocument/documentHighlight", NULL, NULL, answer_highlights },
	{ "textDocument/documentSymbol", NULL, NULL, answer_symbols },
	{ "textDocument/formatting", NULL, NULL, answer_formatting },
	{ "textDocument/completion", NULL, NULL, answer_completion },
	{ "textDocument/codeAction", NULL, NULL, answer_actions },
	{ "textDocument/codeLens", NULL, NULL, answer_lenses },
	{ "textDocument/prepareRename", NULL, NULL, answer_prepare_rename },
	{ "textDocument/rename", rename_name, NULL, NULL },
};
enum { METHODS = sizeof(methods) / sizeof(*methods) };

static void handle_about(struct server *s, size_t k, json_t *id, const json_t *params)
{
	struct document *doc = document_of(s, params);

	if (doc)
		server_answer(s, id, methods[k].about(s, doc, params));
	else
		server_fail(s, id, RPC_INVALID_PARAMS, "this document is not open");
}

static void handle_request(struct server *s, json_t *id, const char *method, const json_t *params)
{
	size_t k = 0;

	while (k < METHODS && strcmp(methods[k].method, method) != 0)
		k++;
	if (s->life == LIFE_NEW && k != 0)
		server_fail(s, id, LSP_NOT_INITIALIZED, "initialize must come first");
	else if (s->life == LIFE_SHUT)
		server_fail(s, id, RPC_INVALID_REQUEST, "after shutdown only exit is allowed");
	else if (k < METHODS && methods[k].request)
		methods[k].request(s, id, params);
	else if (k < METHODS && methods[k].about)
		handle_about(s, k, id, params);
	else
		server_fail(s, id, RPC_METHOD_NOT_FOUND, "this server has no such request");
}

/* Ignores notifications that are unknown or come at the wrong time. */
static void handle_notification(struct server *s, const char *method, const json_t *params)
{
	for (size_t k = 0; k < METHODS; k++)
		if (!strcmp(methods[k].method, method) && methods[k].notification &&
		    (s->life == LIFE_SERVING || methods[k].notification == leave))
			methods[k].notification(s, params);
}

static bool is_id(const json_t *id)
{
	return json_is_integer(id) || json_is_string(id);
}

static void handle(struct server *s, const json_t *m)
{
	json_t *id = json_object_get(m, "id");
	const char *method = json_string_value(json_object_get(m, "method"));
	const json_t *params = json_object_get(m, "params");

	if (method && id && is_id(id))
		handle_request(s, id, method, params);
	else if (method && !id)
		handle_notification(s, method, params);
	else if (method || !json_is_object(m) || !id) /* an answer of the client is ignored */
		server_fail(s, NULL, RPC_INVALID_REQUEST, "this is not a JSON-RPC 2.0 message");
}

static void handle_first(struct server *s)
{
	json_t *m = s->waiting[0];

	s->nwaiting--;
	memmove(s->waiting, s->waiting + 1, s->nwaiting * sizeof(*s->waiting));
	handle(s, m);
	json_decref(m);
}

/* ---- input ----------------------------------------------------------------------------------- */

/* Answers a waiting request, or one for a picture, that it was cancelled. */
static void cancel(struct server *s, const json_t *params)
{
	json_t *id = json_object_get(params, "id");

	if (is_id(id) && background_cancel(s, id))
		return;
	for (size_t i = 0; i < s->nwaiting && is_id(id); i++) {
		json_t *m = s->waiting[i];

		if (!json_equal(json_object_get(m, "id"), id) || !json_object_get(m, "method"))
			continue;
		server_fail(s, id, LSP_REQUEST_CANCELLED, "cancelled");
		s->nwaiting--;
		memmove(s->waiting + i, s->waiting + i + 1,
			(s->nwaiting - i) * sizeof(*s->waiting));
		json_decref(m);
		return;
	}
}

/* Takes a body. */
static void receive(struct server *s, char *body, size_t n)
{
	json_error_t why;
	json_t *m = json_loadb(body, n, JSON_DECODE_ANY, &why);
	const char *method = json_string_value(json_object_get(m, "method"));

	free(body);
	if (!m) {
		server_fail(s, NULL, RPC_PARSE_ERROR, why.text);
	} else if (method && !strcmp(method, "$/cancelRequest")) {
		cancel(s, json_object_get(m, "params"));
		json_decref(m);
	} else {
		s->waiting[s->nwaiting++] = m;
	}
}

/* Appends complete messages to the list, as many as there is room for. */
static void receive_all(struct server *s)
{
	char *body = NULL;
	size_t n = 0;

	while (s->nwaiting < MOST_WAITING) {
		switch (reader_take(&s->in, &body, &n)) {
		case TAKEN_NONE: return;
		case TAKEN_BODY: receive(s, body, n); break;
		case TAKEN_TOO_LARGE:
			server_fail(s, NULL, RPC_INVALID_REQUEST, "a message has at most 32 MiB");
			break;
		case TAKEN_NO_HEADER:
			server_fail(s, NULL, RPC_PARSE_ERROR, "a header without Content-Length");
			break;
		case TAKEN_NO_MEMORY:
			server_fail(s, NULL, RPC_INTERNAL_ERROR, "out of memory");
			break;
		}
	}
}

/* ---- the loop ------------------------------------------------------------------------- */

/* Milliseconds to wait; 0 if there is something to do. */
static int wait_for(const struct server *s)
{
	double left = background_left(s);

	if (s->nwaiting)
		return 0;
	return left < 0 ? -1 : (int)(left * 1000) + 1;
}

/* Waits for input, or for output of a child, and reads it. */
static void wait_and_read(struct server *s)
{
	struct pollfd fds[2 + MOST_PICTURES] = {
		{ .fd = s->in.end || s->nwaiting == MOST_WAITING ? -1 : s->in.fd,
		  .events = POLLIN },
		{ .fd = s->check.child ? s->check.from : -1, .events = POLLIN },
	};

	for (size_t i = 0; i < MOST_PICTURES; i++)
		fds[2 + i] = (struct pollfd){ .fd = s->pictures[i].child ? s->pictures[i].from : -1,
					      .events = POLLIN };
	if (poll(fds, 2 + MOST_PICTURES, wait_for(s)) < 0 && errno != EINTR)
		s->in.end = true;
	if (fds[0].revents)
		reader_fill(&s->in);
	if (fds[1].revents)
		background_read(s, &s->check);
	for (size_t i = 0; i < MOST_PICTURES; i++)
		if (fds[2 + i].revents)
			background_read(s, &s->pictures[i]);
	background_tick(s);
}

static bool is_over(const struct server *s)
{
	return s->broken || s->life == LIFE_OVER || (s->in.end && !s->nwaiting);
}

static void run(struct server *s)
{
	while (!is_over(s)) {
		/* A check begins only when there is nothing else to do, as the next message may end
		 * it. */
		if (!s->nwaiting && s->life == LIFE_SERVING)
			background_start(s);
		wait_and_read(s);
		receive_all(s);
		if (s->nwaiting)
			handle_first(s);
	}
}

int lsp_serve(const struct lsp_compiler *c, int in, FILE *out)
{
	struct server *s = calloc(1, sizeof(*s));
	int status;

	if (!s) {
		perror("ccc");
		return 4;
	}
	s->compiler = c;
	s->in.fd = in;
	s->out = out;
	s->seconds = CHECK_SECONDS;
	run(s);
	status = s->broken ? 2 : s->clean ? 0 : 1;
	if (s->broken)
		perror("ccc: cannot write stdout");
	background_stop(s);
	while (s->nwaiting)
		json_decref(s->waiting[--s->nwaiting]);
	documents_free(&s->documents);
	reader_free(&s->in);
	free(s);
	return status;
}
