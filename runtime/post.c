/*
 * Posting: the lock-free start of a run that repeats an earlier one, for the ranks of one process.
 *
 * Each rank has a box. A thread uses the box of its lead, the lowest rank that it calls for. It
 * writes into the box: the id of the engine's data on such a call (struct kept), the set of its
 * ranks, their inputs or the addresses of their buffers, and last the number of the call. Then it
 * reads the other leads' boxes until they cover all ranks. If all threads make the same call, each
 * plays its part (`play`). A thread that has posted its inputs returns then: a box has room for two
 * calls, and a thread that posts a call has seen every thread finish the call before the last. A
 * thread that has posted the addresses of its buffers returns when all threads have written that
 * they finished, since they read its buffers. So a small call costs one cache line for each thread,
 * which is transferred once to each other thread; the other lines that a thread reads are not
 * written while calls are posted.
 *
 * Short inputs are posted. Writing a line that another core has read takes longer than reading one,
 * so that above MAIL_SHORT bytes a second meeting costs less than a copy of the inputs. Inputs that
 * the outputs overwrite are posted as long as there is room.
 *
 * run.c does everything else: a call that does not repeat one of the rank's last, or of which the
 * engine has kept nothing; a call that differs between threads; a rank for which no thread polls
 * any longer. Then posting is closed, under world.lock, from that call on, and each thread adds its
 * calls to the common run under the lock; posting opens again when no run is left. A thread that
 * has seen all boxes posted sets `met` and then re-reads `closed`. A thread that closes posting
 * after it has posted sets `closed` and then re-reads `met`. Both orders are sequentially
 * consistent, so that either all threads play, or none does. A thread that closes posting before it
 * has posted keeps all threads from meeting.
 *
 * O(ranks) a call.
 */
#include "runtime/comm.h"

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAIL_SHORT 256u
#define EAGER 200u /* polls before a thread pauses between polls */

/* A thread's letter for one call. */
struct letter {
	_Alignas(LINES_APART) _Atomic uint64_t call; /* 1 + its number; publishes the rest */
	uint64_t kept;				     /* its id */
	uint32_t ranks;
	bool left; /* `data` has inputs; else addresses */
	/* from the lead on, each rank's input, if inputs are left; or its struct post */
	_Alignas(8) unsigned char data[MAIL_LINE + MAIL_BYTES + MOST_POSTED * sizeof(struct post)];
};

/* A short call takes one cache line, which is transferred once to each other thread. */
_Static_assert(offsetof(struct letter, data) + MAIL_LINE <= CACHE_LINE, "a letter's line");

struct box {
	struct letter letter[2];		     /* of calls of even numbers, and odd ones */
	_Alignas(LINES_APART) _Atomic uint64_t over; /* 1 + the number of the last call played */
	_Alignas(LINES_APART) _Atomic uint64_t met;  /* ... in which it has seen all */
};

struct posts {
	_Atomic uint64_t closed; /* calls from this number on are not posted; UINT64_MAX: none */
	unsigned threads;	 /* most threads that may spin */
	_Alignas(LINES_APART) struct box box[];
};

/* A thread's calls, while they are posted. */
struct posting {
	struct world *w;
	struct call *calls;
	post_play *play;
	uint64_t number; /* of the calls */
	uint64_t ranks, leads;
	unsigned threads, thread; /* number of threads that have met; index of this one */
	int lead;
	bool leaves;	    /* it leaves its inputs; */
	bool parts;	    /* at least one thread leaves no inputs */
	struct post *posts; /* by rank */
};

bool post_enable(struct world *w)
{
	size_t bytes = sizeof(struct posts) + (size_t)w->nranks * sizeof(struct box);

	if (w->nranks > MOST_POSTED)
		return true; /* all later calls go through run.c */
	w->posts = aligned_alloc(LINES_APART, bytes);
	if (!w->posts)
		return false;
	memset(w->posts, 0, bytes);
	atomic_init(&w->posts->closed, 0);
	return true;
}

void post_limit(struct world *w, unsigned threads)
{
	if (w->posts)
		w->posts->threads = threads;
}

void post_keep(struct call *c, struct kept kept)
{
	struct checked *like = call_checked(c);

	if (like)
		like->kept = kept;
}

void post_close(struct world *w, uint64_t call)
{
	if (w->posts && call < atomic_load(&w->posts->closed))
		atomic_store(&w->posts->closed, call);
}

void post_open(struct world *w)
{
	if (w->posts && !w->dead && !w->trace)
		atomic_store(&w->posts->closed, UINT64_MAX);
}

static uint64_t bit(int rank)
{
	return (uint64_t)1 << rank;
}

static int lowest(uint64_t ranks)
{
	return __builtin_ctzll(ranks);
}

/* ---- leaving a letter ------------------------------------------------------------------------ */

/* Whether a call may be posted with the other calls of its thread. Sets `leaves` if its inputs must
 * be left. */
static bool may_post(struct posting *p, const struct call *c)
{
	const struct call *first = p->calls;
	struct placing where;

	if (!c->like || !c->like->kept.id || c->comm->world != p->w ||
	    c->like->kept.id != first->like->kept.id || c->comm->seq != p->number ||
	    p->ranks & bit(c->comm->rank))
		return false;
	where = call_placing(c, c->prep->ranks + c->comm->rank);
	p->leaves |= where.copy_aside || c->send == c->recv;
	return !where.lacks && (!where.copy_aside || c->like->kept.mail);
}

static bool begin_posting(struct posting *p, struct call *calls)
{
	size_t mail;

	p->w = calls->comm->world;
	p->calls = calls;
	p->number = calls->comm->seq;
	p->leaves = false;
	for (const struct call *c = calls; c; c = c->next) {
		if (!may_post(p, c))
			return false;
		p->ranks |= bit(c->comm->rank);
	}
	p->lead = lowest(p->ranks);
	mail = calls->like->kept.mail;
	p->leaves = mail && (mail <= MAIL_SHORT || p->leaves);
	return true;
}

/* Bytes from the data of one rank in a letter to the data of the next. */
static size_t room_of(const struct letter *n, const struct kept *kept)
{
	return n->left ? kept->mail : sizeof(struct post);
}

/* The data of the lead's ranks in a letter. */
static unsigned char *data_of(struct letter *n, size_t each)
{
	return n->data + (each > MAIL_LINE ? MAIL_LINE : 0);
}

static struct letter *letter_of(const struct posting *p, int lead)
{
	return p->w->posts->box[lead].letter + (p->number & 1);
}

static void write_letter(struct posting *p)
{
	const struct kept *kept = &p->calls->like->kept;
	struct letter *n = letter_of(p, p->lead);
	unsigned char *data;
	size_t each;

	n->kept = kept->id;
	n->ranks = (uint32_t)p->ranks;
	n->left = p->leaves;
	each = room_of(n, kept);
	data = data_of(n, each);
	for (const struct call *c = p->calls; c; c = c->next) {
		unsigned char *at = data + (size_t)(c->comm->rank - p->lead) * each;
		const bool sends = c->prep->ranks[c->comm->rank].send;
		struct post where = { sends ? c->send : NULL, c->recv };

		if (!p->leaves)
			memcpy(at, &where, sizeof(where));
		else if (sends)
			memcpy(at, c->send, c->send_bytes);
	}
	atomic_store_explicit(&n->call, p->number + 1, memory_order_release);
}

/* ---- meeting --------------------------------------------------------------------------------- */

static uint64_t all_ranks(const struct world *w)
{
	return bit(w->nranks) - 1;
}

static bool has_letter(const struct posting *p, int lead)
{
	return atomic_load_explicit(&letter_of(p, lead)->call, memory_order_acquire) ==
	       p->number + 1;
}

static bool is_closed(const struct posting *p)
{
	return atomic_load(&p->w->posts->closed) <= p->number;
}

/* The number of threads that have posted, and so are awake. */
static unsigned awake(const struct posting *p)
{
	unsigned n = 0;

	for (int r = 0; r < p->w->nranks; r++)
		n += has_letter(p, r);
	return n;
}

/* Waits until the rank's thread has posted. False: it has not; it has no core, or is late. */
static bool await(const struct posting *p, int lead)
{
	unsigned spins = 0;

	for (; spins < EAGER; spins++)
		if (has_letter(p, lead))
			return true;
	if (awake(p) >= p->w->posts->threads)
		return has_letter(p, lead);
	for (spins = 0; spins < SPINS && !is_closed(p); spins++) {
		if (has_letter(p, lead))
			return true;
		relax();
	}
	return has_letter(p, lead);
}

/* Reads the letters of all other leads. The lowest rank that no letter covers yet must be a
 * lead. */
static bool meet(struct posting *p)
{
	uint64_t covered = p->ranks, all = all_ranks(p->w);

	p->leads = bit(p->lead);
	p->threads = 1;
	p->thread = 0;
	while (covered != all) {
		int lead = lowest(all & ~covered);

		if (!await(p, lead))
			return false;
		p->leads |= bit(lead);
		p->threads++;
		p->thread += lead < p->lead;
		covered |= letter_of(p, lead)->ranks;
	}
	atomic_store(&p->w->posts->box[p->lead].met, p->number + 1);
	return true;
}

static bool any_met(const struct posting *p)
{
	for (int r = 0; r < p->w->nranks; r++)
		if (atomic_load(&p->w->posts->box[r].met) == p->number + 1)
			return true;
	return false;
}

/* Called by a thread that stops waiting, or sees that posting is closed or about to be. True:
 * the run is posted all the same. Under world.lock. */
static bool settle(struct posting *p, bool met)
{
	if (is_closed(p))
		return false;
	if (met)
		return true;
	post_close(p->w, p->number);
	if (!any_met(p))
		return false;
	post_open(p->w); /* all have posted, and some may be playing */
	return true;
}

static bool is_posted(struct posting *p)
{
	bool met = meet(p), posted = met && !is_closed(p);

	if (posted)
		return true;
	pthread_mutex_lock(&p->w->lock);
	posted = settle(p, met);
	pthread_mutex_unlock(&p->w->lock);
	return posted && (met || meet(p));
}

/* ---- playing -------------------------------------------------------------------------------- */

/* Reads all letters. False: the calls differ. */
static bool read_letters(struct posting *p)
{
	const struct kept *kept = &p->calls->like->kept;

	for (uint64_t leads = p->leads; leads; leads &= leads - 1) {
		int lead = lowest(leads);
		struct letter *n = letter_of(p, lead);
		size_t each = room_of(n, kept);
		const unsigned char *data = data_of(n, each);

		if (n->kept != kept->id)
			return false;
		p->parts |= !n->left;
		for (uint64_t ranks = n->ranks; ranks; ranks &= ranks - 1) {
			int r = lowest(ranks);
			const unsigned char *at = data + (size_t)(r - lead) * each;

			if (n->left)
				p->posts[r] = (struct post){ at, NULL };
			else
				memcpy(p->posts + r, at, sizeof(p->posts[r]));
		}
	}
	for (const struct call *c = p->calls; c && p->leaves; c = c->next)
		p->posts[c->comm->rank].recv = c->recv;
	return true;
}

/* Publishes that this thread has finished with all buffers, and waits until all threads have
 * finished with its own. */
static void wait_for_readers(const struct posting *p)
{
	atomic_store_explicit(&p->w->posts->box[p->lead].over, p->number + 1, memory_order_release);
	for (uint64_t leads = p->leaves ? 0 : p->leads; leads; leads &= leads - 1) {
		const struct box *s = p->w->posts->box + lowest(leads);

		for (unsigned i = 0;
		     atomic_load_explicit(&s->over, memory_order_acquire) != p->number + 1; i++) {
			if (i >= EAGER)
				relax();
			if (i >= SPINS)
				sched_yield(); /* that thread may have lost its core */
		}
	}
}

static bool take_part(struct posting *p)
{
	const struct kept *kept = &p->calls->like->kept;
	struct meeting m = {
		.call = p->number,
		.ranks = p->ranks,
		.threads = p->threads,
		.thread = p->thread,
		.posts = p->posts,
	};

	if (!read_letters(p))
		return false;
	m.left = !p->parts;
	if (!p->play(p->w, *kept, &m))
		return false;
	if (p->parts)
		wait_for_readers(p);
	return true;
}

bool post_calls(struct call *calls, post_play *play)
{
	struct world *w = calls->comm->world;
	struct post posts[MOST_POSTED];
	struct posting p = { .posts = posts, .play = play };

	/* reading `closed` as open makes visible what another thread has kept of a run before */
	if (!w->posts ||
	    atomic_load_explicit(&w->posts->closed, memory_order_acquire) <= calls->comm->seq)
		return false;
	if (!begin_posting(&p, calls))
		return false;
	write_letter(&p);
	if (!is_posted(&p) || !take_part(&p))
		return false;
	for (struct call *c = calls; c; c = c->next)
		c->comm->seq++;
	return true;
}
