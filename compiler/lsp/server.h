/*
 * Internal to the language server: shared by the files of lsp/ only.
 */
#ifndef CCS_COMPILER_LSP_SERVER_H
#define CCS_COMPILER_LSP_SERVER_H

#include "compiler/lsp/lsp.h"

#include <jansson.h>
#include <sys/types.h>

enum {
	MOST_HEADER = 4096,	/* bytes of a header */
	MOST_BYTES = 32 << 20,	/* of a message */
	MOST_TEXT = 64 << 20,	/* of all open documents */
	MOST_DOCUMENTS = 256,	/* open at a time */
	MOST_WAITING = 64,	/* requests that were read and are not answered */
	MOST_FINDINGS = 200,	/* diagnostics of a document */
	MOST_RESULT = 16 << 20, /* bytes that a check or a picture may send */
	MOST_PICTURES = 4,	/* drawn at a time */
	MOST_RANKS = 65536,	/* of a picture: ccc(1), -n */
	LOOK_MEMORY = 1 << 30,	/* bytes that the front end may take for an answer */
	CHECK_SECONDS = 10	/* the time limit of a check, unless the client sets another */
};
#define FIRST_SECONDS 0.3 /* then the findings of the front end are published */

/* JSON-RPC's and LSP's numbers of errors. */
enum {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	LSP_NOT_INITIALIZED = -32002,
	LSP_REQUEST_CANCELLED = -32800,
	LSP_REQUEST_FAILED = -32803
};

/* ---- streams (framing.c) -------------------------------------------------------------- */

struct reader {
	int fd;
	char *bytes; /* input that was read and not taken */
	size_t n, cap;
	size_t skip; /* bytes of a message that is too large, still to be skipped */
	bool end;    /* there is no more input */
	bool lost;   /* in input without a header, which was reported: skips to the next header */
};

enum taken { TAKEN_NONE, TAKEN_BODY, TAKEN_TOO_LARGE, TAKEN_NO_HEADER, TAKEN_NO_MEMORY };

/** Reads the available input: one read(2). */
void reader_fill(struct reader *r);
/** Takes the next complete message: TAKEN_BODY, with *n bytes in *body, from malloc. */
enum taken reader_take(struct reader *r, char **body, size_t *n);
void reader_free(struct reader *r);

/** Writes a message, and frees it (NULL: there was no memory for it). False: it failed. */
bool stream_write(FILE *out, json_t *m);

/* ---- texts (positions.c) ------------------------------------------------------------------- */

struct text {
	const char *s;
	size_t n;
	bool utf8; /* characters of a position are bytes; else UTF-16's units */
};

/** The offset of a position {line, character}; a position after the end of a line is its end.
 *  False: it is malformed. */
bool text_offset(const struct text *t, const json_t *position, size_t *offset);
/** {line, character} of an offset, and the range of two. NULL: no memory. */
json_t *text_position(const struct text *t, size_t offset);
json_t *text_range(const struct text *t, size_t lo, size_t hi);
/** A range's offsets, ascending. False: it is malformed. */
bool text_offsets(const struct text *t, const json_t *range, size_t *lo, size_t *hi);
/** The text after one element of contentChanges, from malloc. NULL: it is malformed, or there is no
 *  memory. */
char *text_edit(const struct text *t, const json_t *change, size_t *n);

/** The path of a URI (from malloc): decoded, if it is a file URI, and canonical, if the file
 *  exists; else the URI itself. NULL: no memory. */
char *uri_path(const char *uri);
/** The URI of a file (of malloc), or NULL. */
char *uri_of(const char *path);

/* ---- documents (documents.c) ------------------------------------------------------------ */

struct document {
	char *uri, *path;
	char *text; /* not closed by NUL */
	size_t n;
	json_int_t version;
	bool dirty;	  /* the current text was not checked */
	uint64_t touched; /* number of its last change, among those of all documents */
	json_t *findings; /* the diagnostics that were published; or NULL */
	json_t *verdicts; /* by a schedule's name: {"text", "n", "root"}; or NULL */
};

struct documents {
	struct document v[MOST_DOCUMENTS];
	size_t n;
	size_t bytes; /* of all texts */
	uint64_t changes;
};

/** The document of that URI, or NULL. */
struct document *documents_find(struct documents *d, const char *uri);
/** Opens a document, or replaces its text. Returns NULL, or the reason why not. */
const char *documents_open(struct documents *d, const json_t *item);
/** Applies changes to its text, all or none. Returns NULL, or the reason why not. */
const char *documents_change(struct documents *d, struct document *doc, const json_t *changes,
			     json_int_t version, bool utf8);
void documents_close(struct documents *d, struct document *doc);
void documents_free(struct documents *d);
/** Notes that a document (or NULL: a file) has changed, and marks the documents to be checked. */
void documents_touch(struct documents *d, struct document *doc);
/** The dirty document that changed last, or NULL. */
struct document *documents_next(struct documents *d);
/** All texts, for the front end; of malloc. NULL: no memory. */
struct unsaved *documents_unsaved(const struct documents *d);

/* ---- the server (serve.c) ----------------------------------------------------------------- */

enum life { LIFE_NEW, LIFE_SERVING, LIFE_SHUT, LIFE_OVER };

/* A running check, or a picture that is being drawn. */
struct background {
	pid_t child; /* 0: none */
	json_t *id;  /* of the request for a picture; NULL: a check */
	int from;    /* its output */
	char *bytes;
	size_t n, cap;
	char *uri;     /* of its document */
	json_t *first; /* the front end's findings; or NULL */
	double due;    /* the time when `first` is published */
	double until;  /* the time when the child is ended */
};

struct server {
	const struct lsp_compiler *compiler;
	struct reader in;
	FILE *out;
	bool broken; /* out cannot be written */
	enum life life;
	bool clean; /* `shutdown` was received */
	bool utf8;
	bool refreshes;	  /* the client supports requests to refresh lenses */
	json_int_t asked; /* requests to the client */
	double seconds;	  /* most for a check, or a picture */
	struct documents documents;
	json_t *waiting[MOST_WAITING]; /* read messages, to be answered in this order */
	size_t nwaiting;
	struct background check, pictures[MOST_PICTURES];
};

/** Sends a notification; takes `params`. */
void server_notify(struct server *s, const char *method, json_t *params);
/** Answers a request; takes `result`. NULL: memory ran out. */
void server_answer(struct server *s, json_t *id, json_t *result);
/** Answers that a request failed; without an id, that a message was malformed. */
void server_fail(struct server *s, json_t *id, int code, const char *why);
/** Asks the client to refresh the lenses, if it supports that. */
void server_refresh(struct server *s);
/** window/showMessage: 1 an error, 3 information. */
void server_show(struct server *s, int type, const char *text);

/* ---- checks and pictures (background.c) ------------------------------------------------------ */

/** Begins the check of a document that needs one, if none is running. */
void background_start(struct server *s);
/** Begins a picture of a document, which answers the request when it is drawn. */
void background_draw(struct server *s, json_t *id, struct document *doc,
		     const struct lsp_picture *picture);
/** Reads the child's output, and publishes complete findings. */
void background_read(struct server *s, struct background *b);
/** Seconds until background_tick has something to do; below 0: nothing is running. */
double background_left(const struct server *s);
/** Publishes the front end's findings of a check that takes long; ends a check that takes too long,
 *  and reports that. */
void background_tick(struct server *s);
/** Ends the check silently; its document stays dirty. */
void background_abandon(struct server *s);
/** Ends the picture of a request (NULL: all), and answers that it was cancelled. False: there is
 *  none. */
bool background_cancel(struct server *s, const json_t *id);
/** Ends all children silently. */
void background_stop(struct server *s);

/* ---- diagnostics (findings.c) ---------------------------------------------------------------- */

/** The findings in the document of `path`, as an array of LSP's. Runs in the check's process. */
json_t *findings_json(struct diags *d, const struct module *m, const char *path, bool utf8);
/** Why there is no picture: the first error, with help. Runs in the picture's process. */
json_t *findings_why(struct diags *d, const struct module *m, const char *path);
/** Publishes them for a document, and keeps them for code actions; takes `findings`. */
void findings_publish(struct server *s, struct document *doc, json_t *findings);
/** textDocument/codeAction */
json_t *findings_actions(const struct document *doc, bool utf8, const json_t *range);
/** The codes of diagnostics that cover the place, at most `most`. Returns how many. */
size_t findings_codes(const struct document *doc, bool utf8, size_t offset, int *codes,
		      size_t most);

/* ---- answers (look.c, answers.c, rename.c) -------------------------------------------- */

/* The front end over a document. */
struct look {
	struct arena arena;
	struct arena_budget budget;
	jmp_buf full;
	struct sources sources;
	struct diags diags;
	struct uses uses;
	struct front front;
	struct module *module; /* NULL: it could not be read */
	struct unsaved *unsaved;
	const struct server *server;
	const struct document *doc;
};

/** Reads and resolves the document; without imports if `alone`. Call after `setjmp(l->full)`; must
 *  be freed in any case. */
void look_open(struct look *l, const struct server *s, const struct document *doc);
void look_read(struct look *l, bool alone);
void look_free(struct look *l);
/** The document's offset as an offset of the sources; 0: it is outside the text. */
uint32_t look_at(const struct look *l, size_t offset);
/** The innermost use of a name there, or NULL. */
const struct use *look_use(const struct look *l, uint32_t at);
/** The import with its path there, or NULL. */
const struct decl *look_import(const struct look *l, uint32_t at);
/** The description of the name, in Markdown; in the arena. */
const char *look_describe(struct look *l, const struct use *u);
/** The text of a span. */
const char *look_text(struct look *l, struct span span);

/** The answer to a request on a document, or NULL: no memory. */
json_t *answer_hover(struct server *s, struct document *doc, const json_t *params);
json_t *answer_definition(struct server *s, struct document *doc, const json_t *params);
json_t *answer_references(struct server *s, struct document *doc, const json_t *params);
json_t *answer_highlights(struct server *s, struct document *doc, const json_t *params);
json_t *answer_symbols(struct server *s, struct document *doc, const json_t *params);
json_t *answer_formatting(struct server *s, struct document *doc, const json_t *params);
json_t *answer_completion(struct server *s, struct document *doc, const json_t *params);
json_t *answer_actions(struct server *s, struct document *doc, const json_t *params);
json_t *answer_lenses(struct server *s, struct document *doc, const json_t *params);
json_t *answer_prepare_rename(struct server *s, struct document *doc, const json_t *params);
/** The edits; or NULL with the reason, for the user. */
json_t *answer_rename(struct server *s, struct document *doc, const json_t *params,
		      const char **why);

#endif
