/*
 * How the interpreter's launches wait: reports of waits that last too long, turns, and graphs of one
 * capture side by side. As the device code does, by the contract (runtime/cuda/device/args.h).
 *
 * A block that has waited for longer than the limit reports, and stops all if that ends the call;
 * one that has waited for more than half of it when another stops all reports, too.
 */
#include "tests/fake_cuda/machine.h"

#include <sched.h>
#include <unistd.h>

/* ---- reports ------------------------------------------------------------------------------- */

static void report(const struct machine *m, const struct block *b, const struct waiting *w,
		   struct ccs_dev_report *r)
{
	uint32_t nobody = 0;

	if (!__atomic_compare_exchange_n(&r->taken, &nobody, 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return;
	*r = (struct ccs_dev_report){
		.taken = 1,
		.kind = w->kind,
		.worker = b->worker,
		.replica = b->replica,
		.op = over(m, b) ? CCS_DEV_NONE : b->op,
		.peer = w->peer,
		.fifo = w->fifo,
		.tile = b->tile,
		.need = w->need,
		.have = w->have,
	};
	__atomic_store_n(&r->complete, 1, __ATOMIC_RELEASE);
}

void give_up(const struct machine *m, const struct block *b, const struct waiting *w)
{
	report(m, b, w, m->c->report);
	__atomic_store_n(m->c->abort, 1, __ATOMIC_RELEASE);
}

/* It has waited for longer than the limit. */
static void waits_on(const struct machine *m, const struct block *b, const struct waiting *w)
{
	if (m->c->ends)
		give_up(m, b, w);
	else
		report(m, b, w, m->c->report + 1);
}

/* Whether the one waited for is of this launch, too. */
static bool is_near(const struct machine *m, const struct waiting *w)
{
	uint32_t worker = m->c->worker0;

	if (w->kind == CCS_DEV_STUCK_RECV)
		worker = m->c->fifos[w->fifo].src_worker;
	if (w->kind == CCS_DEV_STUCK_SEND)
		worker = m->c->fifos[w->fifo].dst_worker;
	return worker - m->c->worker0 < m->c->nworkers;
}

/* Looks for a block that has waited for too long, which then reports; who waits for another
 * worker leaves it to that one, if it can. `stop`: others have given up. */
static bool too_long(const struct machine *m, bool stop)
{
	long long limit = (long long)m->c->limit;

	for (uint32_t i = 0; i < m->l->blocks && limit; i++) {
		const struct block *b = m->blocks + i;
		const struct waiting *w = &b->last;
		long long waited = now() - b->since;

		if (over(m, b) || stuck(m, b))
			continue;
		if (stop ? waited <= limit / 2 || is_near(m, w)
			 : waited < limit + (w->kind == CCS_DEV_STUCK_WORKER ? limit / 4 : 0))
			continue;
		if (!stop) {
			waits_on(m, b, w);
			return m->c->ends;
		}
		give_up(m, b, w);
		return true;
	}
	return false;
}

void tell_others(const struct machine *m)
{
	(void)too_long(m, true);
}

void wait_a_little(const struct machine *m, long long *quiet, unsigned *looks)
{
	long long at = now();

	if (too_long(m, false))
		return;
	if (at - *quiet > m->l->patience * 1000000000ll)
		illegal("workers %u..%u on device %d wait for others, and nothing comes",
			m->c->worker0, m->c->worker0 + m->c->nworkers, m->l->device);
	if (++*looks < 64)
		sched_yield();
	else
		usleep(100);
}

/* ---- turns ------------------------------------------------------------------------------ */

bool take_turn(const struct machine *m)
{
	long long since = now();
	uint64_t nobody = 0;

	while (!__atomic_compare_exchange_n(m->c->turn, &nobody, 1, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE)) {
		struct waiting w = { CCS_DEV_STUCK_TURN, 0, CCS_DEV_NONE, 0, nobody };

		if (aborted(m))
			return false;
		if (m->c->limit && now() - since > (long long)m->c->limit)
			waits_on(m, m->blocks, &w);
		if (now() - since > m->l->patience * 1000000000ll)
			illegal("a launch waits for its turn, and it does not come");
		usleep(50);
		nobody = 0;
	}
	return true;
}

/* ---- graphs of one capture ---------------------------------------------------------------- */

static int held;

bool fake_held(void)
{
	return __atomic_load_n(&held, __ATOMIC_ACQUIRE);
}

/* While `on`, launches stop when all their blocks have begun. */
EXPORT void fake_hold(int on)
{
	__atomic_store_n(&held, on, __ATOMIC_RELEASE);
}

/* All blocks begin: none may that has begun before as often as all are done and more. */
void blocks_begin(const struct machine *m)
{
	uint64_t *begun = m->c->begun, n = m->l->blocks, done;

	for (uint64_t i = 0; i < n && begun; i++) {
		struct waiting w = { CCS_DEV_STUCK_TWICE, 0, CCS_DEV_NONE, 0, 0 };

		w.need = __atomic_fetch_add(begun + 1 + i, 1, __ATOMIC_ACQ_REL);
		w.have = done = __atomic_load_n(begun, __ATOMIC_ACQUIRE);
		if ((int64_t)(done - w.need * n) < 0)
			give_up(m, m->blocks + i, &w);
	}
	while (fake_held() && !aborted(m))
		usleep(100);
}
