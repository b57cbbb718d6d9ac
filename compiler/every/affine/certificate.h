/*
 * A proof for every N, to be checked by others.
 */
#ifndef CCS_COMPILER_EVERY_AFFINE_CERTIFICATE_H
#define CCS_COMPILER_EVERY_AFFINE_CERTIFICATE_H

#include "compiler/every/affine/relations.h"

#include <jansson.h>

/* A certificate while it is made. */
struct paper {
	uint32_t params; /* that each sum has; those that a set has not are 0 */
	bool floors;	 /* something needs one, so there is no certificate */
	json_t *to;	 /* of the list at hand */
};

/** A set as pieces without a value. */
json_t *set_pieces(struct paper *p, isl_set *s);
/** A function as pieces. Takes it. */
json_t *map_pieces(struct paper *p, isl_map *m);
/** A value where `domain` is. */
json_t *value_pieces(struct paper *p, isl_pw_aff *v, isl_set *domain);

/** What an operation does, as certificates call it. */
const char *certificate_verb(const struct stmt *s);

/** JSON, to be freed; NULL: it needs floors, which a certificate has no words for. */
char *certificate_text(struct forms *f, const struct pairs *pairs, const struct clocks *clocks,
		       const struct flow *flow, const struct holding *h);
/** Where `where` admits a few N only, each of which was tried: which they are, as JSON, to be
 *  freed; NULL as above. */
char *certificate_of_tried(struct forms *f);
#endif
