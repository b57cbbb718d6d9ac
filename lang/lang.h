/*
 * The front end: text to resolved syntax tree, and back to canonical text.
 *
 *   load  (imports.c, scan.l, parse.y)  reads a file and all it imports: E0101
 *   names (names.c)                  resolves every name: E0201, E0202, E0203
 *   fmt   (fmt.c)                    canonical text of one file
 */
#ifndef CCS_LANG_LANG_H
#define CCS_LANG_LANG_H

#include "lang/ast.h"
#include "lang/diag/diag.h"

/* A text of an editor that replaces the file on the disk. */
struct unsaved {
	const char *path; /* canonical; as given, if there is no such file */
	const char *text;
	size_t len;
};

/* A use of a name in the main file, and its definition. */
struct use {
	struct span span;	  /* of the name */
	struct span defined;	  /* the name in its definition, in any file */
	const struct symbol *sym; /* of a value; or NULL */
	const struct decl *decl;  /* of a declaration, or of a file's let or fn */
};
struct uses {
	struct use *v; /* a place may have several uses, with the same meaning */
	uint32_t n, cap;
};

struct front {
	struct arena *arena;
	struct sources *sources;
	struct diags *diags;
	const char *const *include_dirs; /* -I, then the installed library; NULL-terminated */
	const char *installed_dir;	 /* files below it are `installed`; or NULL */
	bool only_main;			 /* does not read imports; for the formatter */
	const struct unsaved *unsaved;	 /* texts that replace files */
	size_t nunsaved;
	const char *prelude;	    /* in place of lang_prelude, or NULL */
	const char *const *formula; /* names, then NULL: the main text is one expression of these
					    names, and becomes a fn (number/formula.c); or NULL */
	struct uses *uses;	    /* lang_resolve adds the uses of names; or NULL */
};

/**
 * Reads `path` ("-": stdin) and its imports, after the prelude, and parses
 * them. Reports all mistakes. A file that cannot be read is an
 * error without a code (for an import: E0201 at the import's path).
 * Returns NULL only if the main file cannot be read (the caller exits with 2);
 * otherwise see diags->errors. O(bytes).
 */
struct module *lang_load(struct front *f, const char *path);

/** lang_load for a text in memory (tests, fuzzing); imports are relative to `.`. */
struct module *lang_load_text(struct front *f, const char *name, const char *text, size_t len);

/** The module's pointer for this name: equal names have equal pointers. O(n). */
const char *lang_intern(struct module *m, const char *s, size_t n);

/** A new symbol, with the next id. */
struct symbol *lang_symbol(struct module *m, enum symbol_kind kind, struct ident name);

/** The name in a contract's count (or NULL) that is a name alone, or a name times N; its value
 *  comes from the schedule. Else NULL. */
const struct symbol *lang_bare_count(const struct expr *count);

/** Resolves all names, and reports mistakes; the tree is fully resolved if there is no error. */
void lang_resolve(struct front *f, struct module *m);

/** Canonical text of the unit's source, in the arena; comments are kept.
 *  Only for a unit without syntax errors. */
const char *lang_format(struct front *f, struct unit *u, size_t *len);

/** The names of a folder's files that end in .ccs, in the order of bytes; in the arena. Returns their
 *  number, at most 1000: they are for help, not for imports. */
uint32_t lang_files(struct arena *a, const char *folder, const char ***files);

/** A file that declares a proc or a schedule of that name at the begin of a line, as an import in `u`
 *  names it; or NULL. Reads the files of the unit's folder, of its imports' and of the include folders. */
const char *lang_file_with(struct front *f, const struct unit *u, const char *name);

/** --emit=ast: the main file's tree, one node a line, indented. */
void lang_dump(struct front *f, struct module *m, FILE *out);

/* Facts of a kind of statement (statements.c). */
struct stmt_rule {
	const char *word; /* in the dump */
	const char *noun; /* in messages */
	int where;	  /* the contexts in which it is allowed */
};
struct stmt_rule lang_stmt_rule(enum stmt_kind kind);
/** Whether a list has a statement of that kind, also deeper inside. */
bool lang_has_stmt(const struct stmt *s, enum stmt_kind kind);

/** "&&", "inout" */
const char *lang_op_text(enum expr_op op);
const char *lang_direction_text(enum direction d);

/** A count or a use of chunks as text, as the formatter writes it (for messages). */
const char *lang_expr_text(struct arena *a, const struct expr *e);
const char *lang_ref_text(struct arena *a, const struct ref *r);

#endif
