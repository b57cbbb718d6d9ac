/*
 * What `ccc check` says of a schedule that is right.
 */
#ifndef CCS_COMPILER_EMIT_REPORT_H
#define CCS_COMPILER_EMIT_REPORT_H

#include "compiler/check/check.h"

/* What was found for one N (the worst over roots). */
struct finding {
	uint32_t nranks;
	int64_t min_slots;
	const char *below;
	bool same_bits;
	uint32_t steps;
	double sent;  /* most sent by a rank, in units of S */
	double bound; /* lower bound in units of S, or < 0: none known */
	uint64_t nops;
};

/* Most cells any rank sends, and the lower bound, in units of S, the whole
 * vector of the collective as nccl-tests counts it. */
void report_volume(const struct program *p, const struct proof *f, double *sent, double *bound);

/* The table of `ccc check`, as text or as one JSON object. */
void report_print(struct ctx *c, const struct decl *schedule, const struct finding *v, size_t n,
		  bool json, FILE *out);

#endif
