/*
 * The product of a compilation and the name that it gets: between session.c, which knows
 * when, and output.c, which knows how.
 */
#ifndef CCS_COMPILER_PRODUCT_H
#define CCS_COMPILER_PRODUCT_H

#include "compiler/compile.h"
#include "compiler/emit/output.h"

/** Whether -o, or the file of fmt -i, may be written; reports why not. A source of the
 *  compilation, of which `d` has the texts, may not. */
bool product_check(const struct options *o, struct diags *d);

/** Reports that it cannot be written: `error` is as product_write returns it. */
void product_refused(const struct options *o, struct diags *d, int error);

/** Writes the product if `keep` is set, and frees it. `main` is the file that was read,
 *  or NULL. Returns 0 or the reason as output_check does. */
int product_write(struct output *out, const struct options *o, const struct source *main,
		  bool keep);

#endif
