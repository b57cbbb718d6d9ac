/*
 * Messages between two ranks that are processes. See procs.h and p2p.h.
 *
 * The table has a pair from each rank to each other rank. The sender posts a message: its length
 * and its address. The receiver compares the length with the expected one, reads the message, and
 * counts it as taken, together with the expected length, so that both ends see the same mismatch.
 * The message is read
 *
 *   HOW_REGION  in place, if ccs_mem_alloc made the buffer;
 *   HOW_READ    by the system (process_vm_readv), if permitted;
 *   HOW_RELAYED else through the sender's relay, a ring buffer that the sender fills and the
 *               receiver drains. A sender has one relay, for one message at a time, and uses it
 *               only for a receiver that has come, so it is always drained, whatever else either
 *               end waits for.
 *
 * The sender chooses when it posts, by whether it permits reading, and by what the receiver's
 * seat says of its reading (READS_...). A process takes its seat before it has tried to read, so
 * an early sender may find READS_UNKNOWN there. Then this message is relayed, which is right for
 * any receiver; the next message is read by the system. Neither end waits for the seat to change.
 *
 * The end that changes a pair wakes the other end. O(1) per poll, plus the copied bytes.
 */
#include "runtime/cpu/shm/procs.h"
#include "runtime/p2p.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

enum { HOW_REGION, HOW_READ, HOW_RELAYED };
enum { NEW, POSTED, TAKING }; /* transfer.state */

#define RELAY_BYTES ((size_t)1 << 18)
#define RELAY_PIECE (RELAY_BYTES / 4)
#define PIECE ((size_t)1 << 20) /* bytes copied at a time, under the lock */
#define SLEEP_MS 20		/* after this time, check that all peers are alive */

static struct procs_pair *pair_of(const struct world *w, int from, int to)
{
	struct procs_table *t = cpu_of(w)->procs->table;
	struct procs_pair *all = (struct procs_pair *)(void *)(t->seats + w->nranks);

	return all + (size_t)from * (size_t)w->nranks + (size_t)to;
}

static void ring(const struct world *w, int rank)
{
	struct procs_seat *s = cpu_of(w)->procs->table->seats + rank;

	if (!atomic_load(&s->p2p_asleep))
		return;
	atomic_fetch_add(&s->p2p_bell, 1);
	procs_futex_wake(&s->p2p_bell);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* The region that contains all of a message; 0: none. */
static uint32_t region_of(const struct procs *p, const struct transfer *m)
{
	uint64_t at = (uint64_t)(uintptr_t)m->at;
	uint32_t region = m->bytes ? procs_region_of(p, at) : 0;
	const struct procs_region *g = p->own->regions + region - 1;

	return region && m->bytes <= g->bytes - (at - g->at) ? region : 0;
}

static void post(struct world *w, struct procs_pair *c, struct transfer *m)
{
	const struct procs *p = cpu_of(w)->procs;
	uint32_t can = atomic_load(&p->table->seats[m->peer].reads);
	bool reads = p->permits && can != READS_UNKNOWN && can != READS_REFUSED;

	c->count = m->count;
	c->type = (uint32_t)m->type;
	c->tag = m->tag;
	c->at = (uint64_t)(uintptr_t)m->at;
	c->region = region_of(p, m);
	c->how = c->region ? HOW_REGION : HOW_RELAYED;
	if (!c->region && (reads || !m->bytes))
		c->how = HOW_READ;
	atomic_store(&c->relayed, 0);
	atomic_store(&c->posted, m->queue->over + 1);
	m->state = POSTED;
	ring(w, m->peer);
}

/* The receiver has taken the message, or refused it. */
static void end_send(struct world *w, const struct procs_pair *c, struct transfer *m)
{
	struct procs *p = cpu_of(w)->procs;
	const struct p2p_shape own = p2p_shape_of(m), wanted = { c->wanted, c->wanted_type };
	struct text why = { .len = 0 };
	ccs_status s = p2p_same(w->first, m->peer, &own, &wanted, &why);

	if (p->relaying == m)
		p->relaying = NULL;
	p2p_over(w, m, s, why.buf);
	ring(w, w->first);
}

static bool fill_relay(struct world *w, struct procs_pair *c, struct transfer *m)
{
	struct procs *p = cpu_of(w)->procs;
	uint64_t drained = atomic_load(&c->drained);
	size_t room = RELAY_BYTES - (m->moved - (size_t)drained), at = m->moved % RELAY_BYTES;
	size_t n = least(least(m->bytes - m->moved, RELAY_PIECE), RELAY_BYTES - at);

	if (!n || n > room)
		return false;
	memcpy(p->relay + at, m->at + m->moved, n);
	m->moved += n;
	atomic_store(&c->relayed, m->moved);
	ring(w, m->peer);
	return true;
}

static bool relay(struct world *w, struct procs_pair *c, struct transfer *m)
{
	struct procs *p = cpu_of(w)->procs;
	ccs_status s = CCS_OK;

	if (atomic_load(&c->come) <= m->queue->over || (p->relaying && p->relaying != m))
		return false;
	if (!p->relay)
		s = procs_make_relay(w, RELAY_BYTES);
	if (s) {
		procs_fail(w, s, error_thread()->text);
		return false;
	}
	p->relaying = m;
	return fill_relay(w, c, m);
}

/* Reads by the receiver are progress, too. */
static bool is_read(const struct procs_pair *c, struct transfer *m)
{
	size_t drained;

	if (atomic_load(&c->come) <= m->queue->over)
		return false;
	drained = (size_t)atomic_load(&c->drained);
	if (drained == m->moved)
		return false;
	m->moved = drained;
	return true;
}

static bool carry_out(struct world *w, struct transfer *m)
{
	struct procs_pair *c = pair_of(w, w->first, m->peer);

	if (m->state == NEW) {
		post(w, c, m);
		return true;
	}
	if (atomic_load(&c->taken) > m->queue->over) {
		end_send(w, c, m);
		return true;
	}
	return c->how == HOW_RELAYED ? relay(w, c, m) : is_read(c, m);
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Ends the message. It then belongs to its thread again, which may sleep. */
static void end_receive(struct world *w, struct procs_pair *c, struct transfer *m, ccs_status s,
			const char *why)
{
	int peer = m->peer;

	c->wanted = m->count;
	c->wanted_type = (uint32_t)m->type;
	atomic_store(&c->taken, m->queue->over + 1);
	p2p_over(w, m, s, why);
	ring(w, peer);
	ring(w, w->first);
}

/* The message cannot be read: the communicator ends. */
static bool give_up(struct world *w, const struct transfer *m, const char *why)
{
	struct text t = { .len = 0 };

	text_add(&t, "rank %d cannot read the memory of rank %d (process %d): %s", w->first,
		 m->peer, cpu_of(w)->procs->table->seats[m->peer].pid, why);
	procs_fail(w, CCS_ESYSTEM, t.buf);
	return false;
}

static bool read_piece(struct world *w, const struct procs_pair *c, struct transfer *m)
{
	size_t n = least(m->bytes - m->moved, PIECE);
	struct iovec to = { m->at + m->moved, n };
	struct iovec from = { (void *)(uintptr_t)(c->at + m->moved), n };
	ssize_t got =
		process_vm_readv(cpu_of(w)->procs->table->seats[m->peer].pid, &to, 1, &from, 1, 0);

	if (got <= 0)
		return give_up(w, m, got ? strerror(errno) : "there is nothing at its address");
	m->moved += (size_t)got;
	return true;
}

static bool copy_region(struct world *w, const struct procs_pair *c, struct transfer *m)
{
	const unsigned char *at =
		procs_place(cpu_of(w)->procs, (uint32_t)m->peer, c->at, c->region);
	size_t n = least(m->bytes - m->moved, PIECE);

	if (!at)
		return give_up(w, m, "its buffer cannot be mapped");
	memcpy(m->at + m->moved, at + m->moved, n);
	m->moved += n;
	return true;
}

static bool drain(struct world *w, struct procs_pair *c, struct transfer *m)
{
	struct procs *p = cpu_of(w)->procs;
	size_t n = (size_t)atomic_load(&c->relayed) - m->moved, at = m->moved % RELAY_BYTES;
	const unsigned char *from;

	n = least(n, RELAY_BYTES - at);
	if (!n)
		return false;
	from = procs_place(p, (uint32_t)m->peer, p->table->seats[m->peer].regions[PROCS_RELAY].at,
			   PROCS_RELAY + 1);
	if (!from)
		return give_up(w, m, "its relay cannot be mapped");
	memcpy(m->at + m->moved, from + at, n);
	m->moved += n;
	return true;
}

static bool take_piece(struct world *w, struct procs_pair *c, struct transfer *m)
{
	bool any;

	if (c->how == HOW_REGION)
		any = copy_region(w, c, m);
	else
		any = c->how == HOW_READ ? read_piece(w, c, m) : drain(w, c, m);
	atomic_store(&c->drained, m->moved);
	if (any && c->how == HOW_RELAYED)
		ring(w, m->peer);
	return any;
}

/* The message has been posted: checks that it is the expected one. */
static bool begin(struct world *w, struct procs_pair *c, struct transfer *m)
{
	const struct p2p_shape sent = { c->count, c->type }, own = p2p_shape_of(m);
	struct text why = { .len = 0 };
	ccs_status s = p2p_same(m->peer, w->first, &sent, &own, &why);

	if (s) {
		end_receive(w, c, m, s, why.buf);
		return false;
	}
	m->state = TAKING;
	atomic_store(&c->drained, 0);
	atomic_store(&c->come, m->queue->over + 1);
	if (c->how == HOW_RELAYED)
		ring(w, m->peer);
	return true;
}

bool procs_next_message(const struct world *w, const struct queue *q, struct p2p_head *head)
{
	const struct procs_pair *c = pair_of(w, q->peer, q->rank);

	if (atomic_load(&c->posted) <= q->over)
		return false;
	*head = (struct p2p_head){ c->tag, { c->count, c->type } };
	return true;
}

bool procs_posted_message(const struct world *w, int from, int to, struct p2p_head *head)
{
	const struct procs_pair *c = pair_of(w, from, to);

	*head = (struct p2p_head){ c->tag, { c->count, c->type } };
	return atomic_load(&c->posted) > atomic_load(&c->come);
}

static bool carry_in(struct world *w, struct transfer *m)
{
	struct procs_pair *c = pair_of(w, m->peer, w->first);
	bool any = m->state == NEW;

	if (atomic_load(&c->posted) <= m->queue->over)
		return false;
	if (m->state == NEW && !begin(w, c, m))
		return true;
	if (m->bytes)
		any |= take_piece(w, c, m);
	if (atomic_load(&cpu_of(w)->procs->table->failed)) /* then its sender may have changed
							      the data */
		return any;
	if (m->moved == m->bytes)
		end_receive(w, c, m, CCS_OK, "");
	return any;
}

bool procs_carry(struct world *w, struct transfer *m)
{
	if (atomic_load(&cpu_of(w)->procs->table->failed))
		return false;
	return m->sends ? carry_out(w, m) : carry_in(w, m);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* A rank that has left, if all other ranks have. */
static int last_gone(struct world *w, const char **how)
{
	int gone = -1;

	for (int r = 0; r < w->nranks; r++) {
		const char *ended = r == w->first ? NULL : procs_gone(w, r);

		if (!ended && r != w->first)
			return -1;
		if (ended) {
			*how = ended;
			gone = r;
		}
	}
	return gone;
}

/* Returns a rank that messages wait for although its process has ended, and sets `how` to the way
 * it ended. -1: none. A receive from any rank waits for all others. */
static int missing_rank(struct world *w, const char **how)
{
	int gone = -1;

	pthread_mutex_lock(&w->p2p->lock);
	for (const struct queue *q = w->p2p->foreign; q && gone < 0; q = q->next_foreign) {
		*how = p2p_awaits(w, q) ? procs_gone(w, q->peer) : NULL;
		gone = *how ? q->peer : -1;
	}
	if (gone < 0 && p2p_awaits_any(w))
		gone = last_gone(w, how);
	pthread_mutex_unlock(&w->p2p->lock);
	return gone;
}

/* A process that has ended made all its stores before, so look once more. */
static void look_for_ends(struct world *w)
{
	struct text why = { .len = 0 };
	const char *how;
	int gone = missing_rank(w, &how);

	if (gone >= 0 && !p2p_poll(w)) {
		text_add(&why, "rank %d (process %d) %s", gone,
			 cpu_of(w)->procs->table->seats[gone].pid, how);
		procs_fail(w, CCS_EABORTED, why.buf);
	}
	pthread_mutex_lock(&w->lock);
	procs_look(w);
	procs_tell_death(w);
	pthread_mutex_unlock(&w->lock);
}

void procs_rest(struct world *w, unsigned idle)
{
	struct procs *p = cpu_of(w)->procs;
	uint32_t heard;

	if (idle < procs_polls(p) && procs_pause(p))
		return;
	p->crowded -= p->crowded > 0;
	heard = atomic_load(&p->own->p2p_bell);
	atomic_fetch_add(&p->own->p2p_asleep, 1);
	if (!p2p_poll(w))
		procs_futex_wait(&p->own->p2p_bell, heard, SLEEP_MS);
	atomic_fetch_sub(&p->own->p2p_asleep, 1);
	look_for_ends(w);
}
