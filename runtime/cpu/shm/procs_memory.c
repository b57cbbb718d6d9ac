/*
 * Held messages that are read across processes, and memory made for it.
 *
 * A buffer from ccs_mem_alloc is in the file of buffers: a region of its process, which other
 * processes map at their first read, and then read in place. A range of that file is never
 * reused; freed ranges are punched out. A message in other memory is copied by the system
 * (process_vm_readv), if permitted: to the cells that store it, or, if it is combined, into the
 * message's slot. If not permitted, no message there is held. O(regions) a call and rank, plus
 * the bytes read.
 */
#include "runtime/base/file.h"
#include "runtime/cpu/shm/procs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PULL_PARTS 64

/* ---- regions of this process --------------------------------------------------------------- */

/* Beyond PROCS_REGIONS regions, buffers are ordinary memory. */
uint32_t procs_region_of(const struct procs *p, uint64_t at)
{
	for (uint32_t i = 0; i < PROCS_REGIONS; i++) {
		const struct procs_region *g = p->own->regions + i;

		if (g->bytes && at - g->at < g->bytes)
			return i + 1;
	}
	return 0;
}

static struct procs_region *free_region(const struct procs *p)
{
	for (uint32_t i = 0; i < PROCS_REGIONS; i++)
		if (!p->own->regions[i].bytes)
			return p->own->regions + i;
	return NULL;
}

static size_t in_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static void cut_out(const struct procs *p, uint64_t in_file, size_t bytes)
{
	fallocate(p->files[FILE_BUFFERS], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  (off_t)in_file, (off_t)in_pages(bytes));
}

static ccs_status no_memory(size_t bytes, int why)
{
	return error_set(CCS_ENOMEM, "no shared memory of %zu bytes: %s", bytes, strerror(why));
}

/* Allocates and maps bytes of the file. */
static ccs_status make_shared(struct procs *p, size_t bytes, uint64_t *in_file, void **out)
{
	int file = p->files[FILE_BUFFERS], why;
	uint64_t from = atomic_fetch_add(&p->table->buffers, in_pages(bytes));

	why = file_reserve(file, from, bytes);
	if (!why) {
		*out = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)from);
		if (*out != MAP_FAILED) {
			*in_file = from;
			return CCS_OK;
		}
		why = errno;
		cut_out(p, from, bytes);
	}
	return no_memory(bytes, why);
}

ccs_status procs_alloc(struct world *w, size_t bytes, void **out)
{
	struct procs *p = cpu_of(w)->procs;
	struct procs_region *g = free_region(p);
	uint64_t in_file;
	ccs_status s;

	if (!g) {
		*out = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		return *out != MAP_FAILED ? CCS_OK : no_memory(bytes, errno);
	}
	s = make_shared(p, bytes, &in_file, out);
	if (s)
		return s;
	*g = (struct procs_region){ (uint64_t)(uintptr_t)*out, bytes, ++p->births, in_file };
	p->buffers[g - p->own->regions] = *out;
	return CCS_OK;
}

ccs_status procs_make_relay(struct world *w, size_t bytes)
{
	struct procs *p = cpu_of(w)->procs;
	uint64_t in_file;
	void *at;
	ccs_status s = make_shared(p, bytes, &in_file, &at);

	if (s)
		return s;
	p->own->regions[PROCS_RELAY] =
		(struct procs_region){ (uint64_t)(uintptr_t)at, bytes, UINT64_MAX, in_file };
	p->relay = at;
	p->relay_bytes = bytes;
	return CCS_OK;
}

/* In a forked process the table is the parent's, which goes on. */
void procs_release(struct world *w, void *at, size_t bytes)
{
	struct procs *p = cpu_of(w)->procs;

	munmap(at, bytes);
	for (uint32_t i = 0; i < PROCS_REGIONS; i++) {
		if (p->buffers[i] != at)
			continue;
		p->buffers[i] = NULL;
		if (!origin_here(&w->origin))
			continue;
		p->own->regions[i].bytes = 0;
		cut_out(p, p->own->regions[i].in_file, bytes);
	}
}

void procs_tell(struct cpu *e, struct procs_call *c)
{
	const struct rank_io *io = e->ranks + e->world->first;

	c->send = (uint64_t)(uintptr_t)io->send;
	c->recv = (uint64_t)(uintptr_t)io->recv;
	c->scratch = (uint64_t)(uintptr_t)io->scratch;
	c->send_region = procs_region_of(e->procs, c->send);
	c->recv_region = procs_region_of(e->procs, c->recv);
	c->holds = io->holds;
}

bool procs_holds(struct cpu *e, const struct rank_io *io)
{
	const struct procs *p = e->procs;

	return e->layout.key.read ||
	       ((!io->call->send_bytes || procs_region_of(p, (uint64_t)(uintptr_t)io->send)) &&
		(!io->call->recv_bytes || procs_region_of(p, (uint64_t)(uintptr_t)io->recv)));
}

void procs_free_relay(struct procs *p)
{
	if (!p->relay)
		return;
	munmap(p->relay, p->relay_bytes);
	p->relay = NULL;
}

/* ---- regions of other processes ------------------------------------------------------------- */

static void unmap(struct procs_mapped *m)
{
	if (m->data)
		munmap(m->data, m->bytes);
	*m = (struct procs_mapped){ 0 };
}

void procs_unmap(struct procs *p, int nranks)
{
	for (size_t i = 0; p->mapped && i < (size_t)nranks * (PROCS_REGIONS + 1); i++)
		unmap(p->mapped + i);
}

/* Maps a rank's region; NULL: impossible. The region is checked against the file's size, as an
 * access beyond the end raises SIGBUS. */
static unsigned char *map(struct procs *p, uint32_t rank, uint32_t region)
{
	const struct procs_region *g = p->table->seats[rank].regions + region;
	struct procs_mapped *m = p->mapped + (size_t)rank * (PROCS_REGIONS + 1) + region;
	const int file = p->files[FILE_BUFFERS];
	void *at = MAP_FAILED;

	if (m->birth == g->birth)
		return m->data;
	unmap(m);
	m->birth = g->birth; /* do not try again */
	m->bytes = g->bytes;
	if (procs_file_holds(file, g->in_file, m->bytes))
		at = mmap(NULL, m->bytes, PROT_READ, MAP_SHARED, file, (off_t)g->in_file);
	m->data = at == MAP_FAILED ? NULL : at;
	return m->data;
}

unsigned char *procs_place(struct procs *p, uint32_t rank, uint64_t at, uint32_t region)
{
	unsigned char *here = region ? map(p, rank, region - 1) : NULL;

	return here ? here + (at - p->table->seats[rank].regions[region - 1].at) : NULL;
}

void procs_find(struct cpu *e, uint32_t rank)
{
	const struct layout *l = &e->layout;
	uint64_t call = l->run->seq;
	const struct procs_call *c = e->procs->table->seats[rank].call + call % PROCS_LAG;
	struct rank_io *io = e->ranks + rank;

	if (e->procs->found[rank] == call + 1)
		return;
	e->procs->found[rank] = call + 1;
	io->holds = c->holds;
	if (!c->holds) /* and may have finished the call */
		return;
	io->send = procs_place(e->procs, rank, c->send, c->send_region);
	io->recv = procs_place(e->procs, rank, c->recv, c->recv_region);
	io->scratch = l->scratch + rank * l->scratch_bytes;
	io->foreign = (c->send && !io->send) || (c->recv && !io->recv);
	if (!io->foreign)
		return;
	io->send = (const unsigned char *)(uintptr_t)c->send;
	io->recv = (unsigned char *)(uintptr_t)c->recv;
	io->scratch = (unsigned char *)(uintptr_t)c->scratch;
}

/* ---- copying --------------------------------------------------------------------------------- */

/* A message being copied. */
struct pull {
	struct cpu *e;
	uint32_t rank;
	const struct ccs_op *o;
	size_t lo;
	unsigned char *slot; /* NULL: into cells */
	struct iovec to[PULL_PARTS], from[PULL_PARTS];
	unsigned n;
	size_t bytes; /* bytes of its parts */
	int failed;   /* errno */
};

static void pull_parts(struct pull *p)
{
	int pid = p->e->procs->table->seats[p->rank].pid;
	ssize_t n;

	if (!p->n || p->failed)
		return;
	n = process_vm_readv(pid, p->to, p->n, p->from, p->n, 0);
	if (n < 0)
		p->failed = errno;
	else if ((size_t)n != p->bytes)
		p->failed = EFAULT;
	p->n = 0;
	p->bytes = 0;
}

static bool adjoins(const struct iovec *v, const void *p)
{
	return (const unsigned char *)v->iov_base + v->iov_len == p;
}

static void pull_part(void *of, uint32_t j, size_t at, const unsigned char *part, size_t bytes)
{
	struct pull *p = of;
	const struct cpu *e = p->e;
	unsigned char *to = p->slot ? p->slot + at
				    : piece_target(&e->layout, e->ranks + e->world->first, p->o, j,
						   p->lo, &bytes);
	struct iovec *last = p->n ? p->to + p->n - 1 : NULL;

	if (last && adjoins(last, to) && adjoins(p->from + p->n - 1, part)) {
		last->iov_len += bytes;
		p->from[p->n - 1].iov_len += bytes;
		p->bytes += bytes;
		return;
	}
	if (p->n == PULL_PARTS)
		pull_parts(p);
	p->to[p->n] = (struct iovec){ to, bytes };
	p->from[p->n++] = (struct iovec){ (void *)(uintptr_t)part, bytes };
	p->bytes += bytes;
}

bool procs_pull(struct cpu *e, const struct ccs_op *o, const struct ccs_op *from, size_t lo,
		unsigned char *slot)
{
	struct pull p = { .e = e,
			  .rank = e->layout.view->fifos[o->in].src,
			  .o = o,
			  .lo = lo,
			  .slot = piece_stores(&e->layout, o) ? NULL : slot };
	struct text why = { .len = 0 };

	piece_held(&e->layout, e->ranks + p.rank, from, lo, pull_part, &p);
	pull_parts(&p);
	if (!p.failed)
		return !p.slot;
	text_add(&why, "rank %d cannot read the memory of rank %u (process %d): %s",
		 e->world->first, p.rank, e->procs->table->seats[p.rank].pid, strerror(p.failed));
	procs_fail(e->world, CCS_ESYSTEM, why.buf);
	return false;
}
