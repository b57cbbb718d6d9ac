/*
 * The language server behind `ccc lsp`: LSP 3.17, JSON-RPC over the standard streams.
 *
 *   serve.c       messages in their order: which function answers which; a server's life
 *   replies.c     what the server says: answers, errors, notes
 *   framing.c     bytes to messages and back: framing, limits
 *   positions.c   positions of LSP in a text, edits of it, URIs
 *   documents.c   the open documents
 *   background.c  the check of a document, or its picture, in a child process
 *   findings.c    diagnostics as LSP has them; fixes as code actions
 *   look.c        the front end over a document: what stands at a place
 *   answers.c     hover, definition, references, symbols, formatting, completion, lenses
 *   rename.c      a new name, wherever the old one means the same
 *
 * Flow. One loop waits for input and for the check. Requests are answered in their order,
 * from the text as it is then; what the front end needs for that is linear in the text. The check
 * of a document takes longer, so it runs in a child (fork), which has the texts of that moment and
 * sends its results twice: first those of the front end, then all. There is one check at a time. A
 * change of the checked document, or of one that it may import, ends the check: the newest text
 * wins. A check that takes longer than the limit is ended, and the server reports this with the
 * results so far. So typing waits for no check, and a crash or a lack of memory in a check does not
 * affect the server. A picture is drawn in the same way, of the text as it is when it is asked for;
 * its request is answered when the child has sent it. MOST_PICTURES are drawn at a time.
 *
 * Limits. A message has at most MOST_BYTES, all open texts together MOST_TEXT; a message beyond
 * these is refused with an error, and the server goes on. Requests wait in a list of
 * MOST_WAITING, in which a cancellation finds them.
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
	uint32_t nranks; /* 0: an N that the check has, 4 if it can be */
	int64_t root;	 /* below 0: the first */
	bool html;	 /* a page that plays; else SVG */
};

/* A check of one document, or a picture of it. */
struct lsp_check {
	const char *path;
	const struct unsaved *unsaved; /* the open documents */
	size_t nunsaved;
	/** Is called once, at the end, with what was found; the module may be NULL. */
	void (*take)(void *arg, struct diags *d, const struct module *m);
	/** Is called when the check of a schedule has ended, with the verdict in a few words, and an
	 *  N (0: none) and a root (below 0: none) that show it. */
	void (*said)(void *arg, const char *schedule, const char *text, uint32_t nranks,
		     int64_t root);
	/** Is called with the picture, before `take`. */
	void (*made)(void *arg, const char *text, size_t n);
	void *arg;
};

struct lsp_compiler {
	void *self;
	/** Options of ccc(1), in addition to the command line's. False: they are wrong, which was
	 *  said on stderr. */
	bool (*configure)(void *self, const char *const *arguments, size_t n);
	/** The fields of a front end that follow from options: directories and warnings. */
	void (*prepare)(void *self, struct front *f);
	/** -D: the value of a parameter. False: it has its default. */
	bool (*setting)(void *self, const char *name, int64_t *value);
	/** Does what `ccc check` does. */
	void (*check)(void *self, const struct lsp_check *what);
	/** Does what `ccc explain` does. */
	void (*draw)(void *self, const struct lsp_check *what, const struct lsp_picture *p);
};

/** Serves until `exit` or the end of input. Returns the exit status: 0 after `shutdown`,
 *  1 without, 2 if the output cannot be written, 4 if the machine lacks something. */
int lsp_serve(const struct lsp_compiler *c, int in, FILE *out);

#endif
