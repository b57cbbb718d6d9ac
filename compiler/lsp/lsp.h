/*
 * The language server behind `ccc lsp`: LSP 3.17, JSON-RPC over the standard streams.
 *
 *   serve.c       messages in their order, and their handlers; the life of the server
 *   replies.c     what the server says: answers, errors, notes
 *   framing.c     bytes to messages and back: framing, limits
 *   positions.c   positions of LSP in a text, edits of it, URIs
 *   documents.c   the open documents
 *   background.c  the check of a document, or its picture, in a child process
 *   findings.c    diagnostics in LSP's form; fixes as code actions
 *   look.c        the front end on a document, for questions about a place
 *   answers.c     hover, definition, references, symbols, formatting, completion, lenses
 *   rename.c      renaming of a definition and its uses
 *
 * Flow. One loop waits for input and for the check. Requests are answered in order, from the
 * current text; the work of the front end for an answer is linear in the text. The check of a
 * document takes longer, so it runs in a child (fork) with the texts of that moment, and sends its
 * results twice: first those of the front end, then all. There is one check at a time. A change of
 * the checked document, or of one that it may import, ends the check. A check that exceeds the time
 * limit is ended, and the server reports this with the results so far. So typing never waits for a
 * check, and a crash or a lack of memory in a check does not affect the server. A picture is drawn
 * in the same way, of the text at the time of the request, which is answered when the child has
 * sent it; at most MOST_PICTURES are drawn at a time.
 *
 * Limits. A message has at most MOST_BYTES, and all open texts together MOST_TEXT; a message beyond
 * these is refused with an error, and the server continues. Requests wait in a list of
 * MOST_WAITING, so that they can be cancelled.
 *
 * The server knows lang/ only. It calls the compiler through a table of functions, which editor.c
 * fills.
 */
#ifndef CCS_COMPILER_LSP_LSP_H
#define CCS_COMPILER_LSP_LSP_H

#include "lang/lang.h"

/* A picture of one schedule, as `ccc explain` draws it. */
struct lsp_picture {
	const char *schedule;
	uint32_t nranks; /* 0: an N of the check, 4 if possible */
	int64_t root;	 /* below 0: the first root */
	bool html;	 /* an animated page; else SVG */
};

/* A check of one document, or a picture of it. */
struct lsp_check {
	const char *path;
	const struct unsaved *unsaved; /* the open documents */
	size_t nunsaved;
	/** Called once, at the end, with all diagnostics; the module may be NULL. */
	void (*take)(void *arg, struct diags *d, const struct module *m);
	/** Called after the check of a schedule, with a short verdict, and an N (0: none) and a
	 *  root (below 0: none) as an example. */
	void (*said)(void *arg, const char *schedule, const char *text, uint32_t nranks,
		     int64_t root);
	/** Called with the picture, before `take`. */
	void (*made)(void *arg, const char *text, size_t n);
	void *arg;
};

struct lsp_compiler {
	void *self;
	/** Sets options of ccc(1), in addition to the command line's. False: they are wrong, which
	 *  was reported on stderr. */
	bool (*configure)(void *self, const char *const *arguments, size_t n);
	/** Sets the fields of a front end that depend on options: directories and warnings. */
	void (*prepare)(void *self, struct front *f);
	/** The value of a parameter by -D. False: there is no -D for it. */
	bool (*setting)(void *self, const char *name, int64_t *value);
	/** Runs `ccc check`. */
	void (*check)(void *self, const struct lsp_check *what);
	/** Runs `ccc explain`. */
	void (*draw)(void *self, const struct lsp_check *what, const struct lsp_picture *p);
};

/** Serves until `exit` or the end of input. Returns the exit status: 0 after `shutdown`,
 *  1 without, 2 if the output cannot be written, 4 if the machine lacks something. */
int lsp_serve(const struct lsp_compiler *c, int in, FILE *out);

#endif
