/*
 * Inside the printing of diagnostics: shared by diag_print.c, diag_json.c, diag_sarif.c, the
 * language server, and the JSON of `ccc explain` and `ccc table`.
 */
#ifndef CCS_LANG_DIAG_DIAG_PRINT_H
#define CCS_LANG_DIAG_DIAG_PRINT_H

#include "lang/diag/diag.h"

#include <jansson.h>

/* "error" */
const char *diag_severity_name(enum severity s);

/* Length of the UTF-8 character at s (n > 0 bytes are there) and the character
 * in *c, or 0 if the bytes are none. */
size_t diag_utf8(const char *s, size_t n, uint32_t *c);

/* All notes, those of its calls first. */
struct diag_notes diag_all_notes(struct diags *d, const struct diag *g);

/* The whole message of `g`, and all its notes. This also makes what its places need, and comes before any
 * object of jansson's: an arena's allocation might not return, and they would be lost. */
const char *diag_json_prepare(struct diags *d, const struct diag *g, struct diag_notes *notes);

/* A string with U+FFFD where the bytes are no UTF-8. */
json_t *diag_json_text(const char *s);
/* Writes into `o`: the ranks that it is true for, if they are at least `least_ranks`, and the
 * number of slots that cures it. False: no memory. */
bool diag_json_facts(json_t *o, const struct diag *g, uint32_t least_ranks);

/* Adds it to the log. */
void diag_log_add(struct diag_log *log, struct diags *d, const struct diag *g);

/* One object, on a line. */
void diag_print_json(struct diags *d, const struct diag *g, FILE *out);

#endif
