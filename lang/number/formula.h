/*
 * An expression by itself (ccs(5) 3): a number for each rank and values of given names.
 *
 * For commands that take one, such as ccrun's --fill. The parser, the names and the operators are
 * those of a `.ccs` text, and a report looks like the compiler's:
 *
 *     --fill:1:5: error: division by zero: 6 / 0 (rank 2, index 0) [E0204]
 *         1 | 1 + 6 / (rank - 2)
 *           |     ^~~~~~~~~~~~~~
 */
#ifndef CCS_LANG_NUMBER_FORMULA_H
#define CCS_LANG_NUMBER_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct formula;

/** Reads the text, with `names` (then NULL) in addition to rank and N. `option` names it in
 *  reports. NULL: a mistake, with the report cut to `size` bytes. Free it with formula_free. */
struct formula *formula_read(const char *option, const char *text, const char *const *names,
			     char *report, size_t size);
void formula_free(struct formula *f);

/** Evaluates with these values, as many as names were given. One thread at a time. False: it has no
 *  value, for the reason in formula_why. O(nodes), without allocation. */
bool formula_value(struct formula *f, int64_t rank, int64_t n, const int64_t *values,
		   int64_t *value);

/** Why the last evaluation had no value, in a few words; "": it had one. */
const char *formula_why(const struct formula *f);

/** Writes the report of the error `what`: at the part that has no value, or else at the whole
 *  expression. */
void formula_report(struct formula *f, const char *what, char *text, size_t size);

#endif
