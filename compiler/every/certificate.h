/*
 * A proof for every N, to be checked by others.
 */
#ifndef CCS_COMPILER_EVERY_CERTIFICATE_H
#define CCS_COMPILER_EVERY_CERTIFICATE_H

#ifdef CCS_HAVE_ISL
#include "compiler/every/relations.h"

/** JSON, to be freed; NULL: it needs floors, which a certificate has no words for. */
char *certificate_text(struct forms *f, const struct pairs *pairs, const struct clocks *clocks,
		       const struct flow *flow, const struct holding *h);
#endif

#endif
