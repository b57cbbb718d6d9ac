/*
 * The emulation's host side: a plan's state on emulated devices, and calls on it.
 */
#ifndef TESTS_EMU_HOST_H
#define TESTS_EMU_HOST_H

#include "runtime/cuda/tables.h"
#include "runtime/plan/cells.h"
#include "runtime/plan/types.h"
#include "tests/emu/emu.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MODULES = 64, MAX_N = 8, GUARD = 32 };

enum mode { RIGHT, WATCHDOG, NEAR, SIDES, BUSY, LATE, UNSTAGED, CHAINS, TWICE };

struct state {
	const struct ccs_module *m;
	const struct plan_view *v;
	struct cuda_tables tables;
	const struct emu_kernel *kernel;
	enum mode mode;
	uint32_t threads, ll, nparts;
	uint32_t part_of[MAX_N];
	struct ccs_dev_call part[MAX_N]; /* what all calls of a part have in common */
	uint32_t replicas_max;
	uint64_t *turn;
	uint32_t unstaged; /* FIFOs without slots */
	size_t esize;
	bool in_place, shifted; /* shifted: buffers are not 16-aligned */
};

/* A call. */
struct job {
	struct ccs_dev_call call; /* sizes and ranks */
	struct ccs_dev_call part[MAX_N];
	uint32_t number;
	bool again;	     /* with the sizes of the one before */
	size_t rows;	     /* of what is `by column` */
	struct sizes *sizes; /* of `sized` chunks; NULL: there are none */
	bool factors;	     /* premul-sum has one for each element; else a rank's scalar */
	uint8_t *send[MAX_N], *recv[MAX_N];
	size_t nsend[MAX_N], nrecv[MAX_N]; /* elements */
};

/* emu_state.c */
bool state_make(struct state *s, struct ccs_module *m, struct plan_view *v,
		const struct emu_kernel *kernel, enum mode mode);
bool job_make(const struct state *s, struct job *j, uint32_t number);
/* The same sizes, with new inputs. */
void job_again(const struct state *s, struct job *j, const struct job *last, uint32_t number);
int64_t job_value(uint32_t rank, uint64_t element, uint32_t call);
/* What premul-sum multiplies that element with. */
int64_t job_factor(const struct job *j, uint32_t rank, uint64_t element);
void write_element(uint8_t *p, int64_t x);

/* emu_check.c */
bool job_right(const struct state *s, const struct job *j);
bool counters_right(const struct state *s);

#endif
