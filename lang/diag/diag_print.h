/*
 * Internal to the printing of diagnostics: shared by diag_print.c, diag_json.c, diag_sarif.c, the
 * language server, and the JSON of `ccc explain` and `ccc table`.
 */
#ifndef CCS_LANG_DIAG_DIAG_PRINT_H
#define CCS_LANG_DIAG_DIAG_PRINT_H

#include "lang/diag/diag.h"

#include <jansson.h>

/* "error" */
const char *diag_severity_name(enum severity s);

/* Decodes the UTF-8 character at s (of n > 0 bytes) into *c; returns its length, or 0 if it is
 * invalid. */
size_t diag_utf8(const char *s, size_t n, uint32_t *c);

/* All notes, those of its calls first. */
struct diag_notes diag_all_notes(struct diags *d, const struct diag *g);

/* The whole message of `g`, and all its notes. It also makes the line tables for its places. Must
 * be called before any object of jansson is made: an allocation from an arena may not return, and
 * the object would leak. */
const char *diag_json_prepare(struct diags *d, const struct diag *g, struct diag_notes *notes);

/* A string, with U+FFFD for bytes that are not UTF-8. */
json_t *diag_json_text(const char *s);
/* Adds to `o` the ranks for which `g` is true, if there are at least `least_ranks`, and the number
 * of slots that cures it. False: no memory. */
bool diag_json_facts(json_t *o, const struct diag *g, uint32_t least_ranks);

/* Adds it to the log. */
void diag_log_add(struct diag_log *log, struct diags *d, const struct diag *g);

/* One object, on a line. */
void diag_print_json(struct diags *d, const struct diag *g, FILE *out);

#endif
