/*
 * Certificates: affine proofs as JSON, for independent checkers (certificate.c).
 */
#ifndef CCS_COMPILER_EVERY_AFFINE_CERTIFICATE_H
#define CCS_COMPILER_EVERY_AFFINE_CERTIFICATE_H

#include "compiler/every/affine/relations.h"

#include <jansson.h>

/* A certificate while it is made. */
struct paper {
	uint32_t params; /* number of parameters of each sum; a set may have fewer */
	bool floors;	 /* some piece needs a floor, so there is no certificate */
	json_t *to;	 /* the current list */
};

/** A set as pieces without a value. */
json_t *set_pieces(struct paper *p, isl_set *s);
/** A function as pieces. Takes it. */
json_t *map_pieces(struct paper *p, isl_map *m);
/** A value on `domain`, as pieces. */
json_t *value_pieces(struct paper *p, isl_pw_aff *v, isl_set *domain);

/** The name of an operation in certificates. */
const char *certificate_verb(const struct stmt *s);

/** JSON, to be freed; NULL: it needs floors, which certificates cannot express. */
char *certificate_text(struct forms *f, const struct pairs *pairs, const struct level_list *levels,
		       const struct flow *flow, const struct holding *h);
/** The list of the admitted N, if `where` admits only a few and each was tried: as JSON, to be
 *  freed; NULL as above. */
char *certificate_of_tried(struct forms *f);
#endif
