/*
 * Memory for calls on GPUs: that of a part on its GPU, and that which all parts share on the
 * host.
 *
 * Device memory that a captured launch uses is kept until the communicator's end; other memory
 * that has become too small is freed once the last call is done.
 *
 * Within one process, host memory is pinned for all its GPUs. Among processes it is a POSIX
 * shared segment. Rank 0 allocates all of its bytes, so that a full /dev/shm is an error now and
 * not a signal later; all processes map and pin it; its name is removed as soon as all have, or
 * one has failed. O(1), plus the driver's calls; gpu_rows compares with all kept rows.
 */
#include "runtime/cuda/gpu_comm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEGUN_BYTES ((size_t)64 << 10)

/* ---- a GPU's ------------------------------------------------------------------------ */

ccs_status gpu_keep(struct gpu_part *p, cuda_ptr *at, size_t bytes, const char *what)
{
	struct gpu_block *b = calloc(1, sizeof(*b));
	ccs_status s;

	if (!b)
		return error_set(CCS_ENOMEM, "out of memory for %s", what);
	s = cuda_alloc(&p->cuda, &b->p, bytes, what);
	if (s) {
		free(b);
		return s;
	}
	b->next = p->blocks;
	p->blocks = b;
	*at = b->p;
	return CCS_OK;
}

/* Frees a block when nothing that was launched uses it. */
static ccs_status drop(struct gpu_part *p, cuda_ptr dead)
{
	struct gpu_block **at = &p->blocks, *b;
	ccs_status s = p->ran ? cuda_finish(&p->cuda, p->last) : CCS_OK;

	if (s)
		return s;
	while (*at && (*at)->p != dead)
		at = &(*at)->next;
	b = *at;
	if (b) {
		*at = b->next;
		cuda_free(&p->cuda, b->p);
		free(b);
	}
	return CCS_OK;
}

/* A captured launch may be replayed at any time, so memory that it uses is kept. */
ccs_status gpu_room(struct gpu_part *p, struct gpu_room *r, size_t bytes, const char *what)
{
	ccs_status s = CCS_OK;

	if (r->p && bytes <= r->bytes)
		return CCS_OK;
	if (r->p && !p->captured) {
		s = drop(p, r->p);
		*r = (struct gpu_room){ 0 };
	}
	if (!s)
		s = gpu_keep(p, &r->p, bytes, what);
	if (!s)
		r->bytes = bytes;
	else
		*r = (struct gpu_room){ 0 };
	return s;
}

/* The rows with these contents, or NULL; then *oldest are rows of that size to overwrite, if
 * the most that may be kept are kept. */
static struct gpu_rows *find_rows(const struct gpu_part *p, const void *rows, size_t bytes,
				  struct gpu_rows **oldest)
{
	struct gpu_rows *f = p->rows;
	uint32_t n = 0;

	*oldest = NULL;
	for (; f && (f->bytes != bytes || memcmp(f->copy, rows, bytes)); f = f->next, n++)
		if (f->bytes == bytes && !f->captured)
			*oldest = f;
	*oldest = f || n < GPU_MOST_ROWS ? NULL : *oldest;
	return f;
}

/* The newest are in front, so a call's own rows are not the oldest while it is set up. */
static void put_in_front(struct gpu_part *p, struct gpu_rows *f)
{
	struct gpu_rows **at = &p->rows;

	while (*at && *at != f)
		at = &(*at)->next;
	if (*at)
		*at = f->next;
	f->next = p->rows;
	p->rows = f;
}

static ccs_status new_rows(struct gpu_part *p, size_t bytes, const char *what,
			   struct gpu_rows **rows)
{
	struct gpu_rows *f = *rows = calloc(1, sizeof(*f) + bytes);
	ccs_status s;

	if (!f)
		return error_set(CCS_ENOMEM, "out of memory for %s", what);
	s = gpu_keep(p, &f->p, bytes, what);
	if (s) {
		free(f);
		*rows = NULL;
	}
	return s;
}

ccs_status gpu_rows(struct gpu_part *p, const void *rows, size_t bytes, const char *what,
		    cuda_ptr *at)
{
	struct gpu_rows *oldest, *f = find_rows(p, rows, bytes, &oldest);
	ccs_status s = CCS_OK;

	if (!f && oldest) {
		f = oldest;
		s = p->ran ? cuda_finish(&p->cuda, p->last) : CCS_OK;
		f->bytes = 0; /* unused until it is filled */
	} else if (!f) {
		s = new_rows(p, bytes, what, &f);
	}
	if (f)
		put_in_front(p, f);
	if (!s && !f->bytes)
		s = cuda_upload(&p->cuda, f->p, rows, bytes, what);
	if (s)
		return s;
	memcpy(f->copy, rows, bytes);
	f->bytes = bytes;
	f->captured |= p->capturing;
	*at = f->p;
	return CCS_OK;
}

/* Taken from large blocks, as an allocation on a GPU has a large minimum. */
ccs_status gpu_begun(struct gpu_part *p, size_t n, cuda_ptr *at)
{
	struct gpu_room *left = &p->begun;
	size_t need = n * sizeof(uint64_t);
	ccs_status s = CCS_OK;

	if (left->bytes < need) {
		left->bytes = need > BEGUN_BYTES ? need : BEGUN_BYTES;
		s = gpu_keep(p, &left->p, left->bytes, "a captured launch's counters");
		if (!s)
			s = cuda_zero(&p->cuda, left->p, left->bytes,
				      "a captured launch's counters");
		if (s)
			left->bytes = 0;
	}
	if (s)
		return s;
	*at = left->p;
	left->p += need;
	left->bytes -= need;
	return CCS_OK;
}

void gpu_memory_free(struct gpu_part *p)
{
	while (p->blocks) {
		struct gpu_block *next = p->blocks->next;

		cuda_free(&p->cuda, p->blocks->p);
		free(p->blocks);
		p->blocks = next;
	}
	while (p->rows) {
		struct gpu_rows *next = p->rows->next;

		free(p->rows);
		p->rows = next;
	}
}

/* ---- the host's ----------------------------------------------------------------------- */

/* Pins a segment, or memory that is allocated here, for all GPUs of this process. */
static ccs_status pin(struct gpu *g, struct gpu_segment *m, const char *what)
{
	ccs_status s = CCS_OK;
	void *host;
	int mode;

	for (uint32_t i = 0; i < g->nparts && !s; i++) {
		struct cuda *d = &g->parts[i].cuda;

		s = cuda_enter(d, &mode);
		if (s)
			return s;
		if (!i && m->shared) {
			s = cuda_pin(d, m->host, m->bytes, what);
			m->pinned = !s;
		} else if (!i) {
			s = cuda_alloc_host(d, &host, m->bytes, what);
			m->host = host;
		}
		if (!s)
			s = cuda_pinned(d, m->host, m->seen + i, what);
		cuda_leave(d, mode);
	}
	return s;
}

/* ---- the host's, among processes ------------------------------------------------------ */

static ccs_status refused(const char *call, const char *name, size_t bytes, const char *what,
			  int error)
{
	return error_set(error == ENOSPC || error == ENOMEM ? CCS_ENOMEM : CCS_ESYSTEM,
			 "%s of /dev/shm%s, %zu bytes for %s: %s%s", call, name, bytes, what,
			 strerror(error),
			 error == ENOSPC ? " (make /dev/shm larger, in a "
					   "container with --shm-size, or set CCS_TILE_BYTES)"
					 : "");
}

/* Whether a segment is this user's, so that no other user can truncate it, and has all of its
 * bytes. */
static bool is_mine(int fd, size_t bytes)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_uid == geteuid() && st.st_size == (off_t)bytes;
}

static ccs_status map(struct gpu_segment *m, const char *name, bool make, const char *what)
{
	int fd = shm_open(name, make ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600), error;
	void *p;

	if (fd < 0)
		return refused("shm_open", name, m->bytes, what, errno);
	error = make ? posix_fallocate(fd, 0, (off_t)m->bytes) : 0;
	if (error) {
		close(fd);
		shm_unlink(name);
		return refused("posix_fallocate", name, m->bytes, what, error);
	}
	if (!is_mine(fd, m->bytes)) {
		close(fd);
		return error_set(
			CCS_ESYSTEM,
			"/dev/shm%s belongs to another user, or lacks the %zu bytes for %s", name,
			m->bytes, what);
	}
	p = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	error = errno;
	close(fd);
	if (p == MAP_FAILED) {
		if (make)
			shm_unlink(name);
		return refused("mmap", name, m->bytes, what, error);
	}
	m->host = p;
	m->shared = true;
	return CCS_OK;
}

static ccs_status share(struct gpu *g, struct gpu_segment *m, const char *what)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	bool make = g->parts->index == 0, made;
	char name[64];
	ccs_status s;

	m->bytes = (m->bytes + page - 1) / page * page;
	snprintf(name, sizeof(name), "/ccs-%016llx-%u", (unsigned long long)g->token,
		 g->segments++);
	s = make ? map(m, name, true, what) : CCS_OK;
	made = make && !s;
	s = gpu_agree(g, s);
	if (s) {
		if (made)
			shm_unlink(name);
		return s;
	}
	if (!make)
		s = map(m, name, false, what);
	if (!s)
		s = pin(g, m, what);
	s = gpu_agree(g, s);
	if (made)
		shm_unlink(name);
	return s;
}

ccs_status gpu_segment_make(struct gpu *g, struct gpu_segment *m, size_t bytes, const char *what)
{
	ccs_status s;

	*m = (struct gpu_segment){ .bytes = bytes };
	m->seen = calloc(g->nparts, sizeof(*m->seen));
	s = m->seen ? CCS_OK : error_set(CCS_ENOMEM, "out of memory for %s", what);
	if (g->group) {
		s = gpu_agree(g, s);
		s = s ? s : share(g, m, what);
	} else if (!s) {
		s = pin(g, m, what);
	}
	if (s)
		gpu_segment_free(g, m);
	return s;
}

void gpu_segment_free(struct gpu *g, struct gpu_segment *m)
{
	struct cuda *d = &g->parts[0].cuda;
	int mode;

	if (m->host && (m->pinned || !m->shared) && !cuda_enter(d, &mode)) {
		if (m->pinned)
			cuda_unpin(d, m->host);
		else
			cuda_free_host(d, m->host);
		cuda_leave(d, mode);
	}
	if (m->shared && !g->forked) /* a forked child may not have the pinned memory */
		munmap(m->host, m->bytes);
	free(m->seen);
	*m = (struct gpu_segment){ 0 };
}
