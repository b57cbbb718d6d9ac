/*
 * A schedule for the compiler's passes, one by one.
 */
#ifndef TESTS_SUPPORT_SUBJECT_H
#define TESTS_SUPPORT_SUBJECT_H

#include "compiler/compile.h"
#include "tests/support/text_alter.h"

/* One compilation, of a file or of a text. */
struct subject {
	struct arena arena, instance, scratch;
	struct sources sources;
	struct diags diags;
	struct ctx ctx;
	struct module *module;
	struct decl *schedule;
};

/** Reads and resolves a file, or a text as if it lay in schedules/ (else NULL). False: a mistake.
 *  In either case subject_free() frees it. */
bool subject_load(struct subject *s, const char *path, const char *text);
void subject_free(struct subject *s);
/** The text of DIR/NAME.ccs; empty if it cannot be read. */
void subject_read(char text[MOST_TEXT], const char *dir, const char *name);

#endif
