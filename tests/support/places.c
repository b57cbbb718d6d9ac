/* See places.h. */
#include "tests/support/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const size_t places_counts[COUNTS] = { 1, 840, 13, 25200, 0 };

/* ---- what is right ---------------------------------------------------------------- */

void data_free(struct data *d)
{
	for (int r = 0; r < d->n; r++) {
		free(d->in[r]);
		free(d->out[r]);
	}
}

static void poison(float *p, size_t n)
{
	memset(p, 0x5a, n * sizeof(*p));
}

bool data_make(struct data *d, const struct ccs_module *m, int n, size_t count)
{
	struct ccs_comm *cpu[MOST];
	ccs_status s;

	*d = (struct data){ .m = m, .n = n, .count = count, .root = ccs_module_rooted(m) ? 1 : 0 };
	if (ccs_module_elements(m, n, count, &d->send, &d->recv) || ccs_comm_init_all(cpu, n))
		return false;
	ccs_group_start();
	for (int r = 0; r < n; r++) {
		d->in[r] = calloc(d->send + 1, sizeof(float));
		d->out[r] = calloc(d->recv + 1, sizeof(float));
		for (size_t i = 0; i < d->send; i++)
			d->in[r][i] = (float)((i * 7 + (size_t)r * 13) % 31) - 9;
		poison(d->out[r], d->recv);
		ccs_run(m, d->in[r], d->out[r], count, CCS_FLOAT32, CCS_SUM, d->root, cpu[r], NULL);
	}
	s = ccs_group_end();
	for (int r = 0; r < n; r++)
		ccs_comm_free(cpu[r]);
	if (s)
		data_free(d);
	return !s;
}

/* ---- a rank's buffers on its GPU ----------------------------------------------------- */

bool spot_take(struct spot *s, struct ccs_comm *c, const struct data *d)
{
	int rank = ccs_comm_rank(c), mode;
	float *fill = calloc(d->recv + 1, sizeof(float));
	bool ok;

	*s = (struct spot){ .cuda = gpu_cuda_of(c->world, rank) };
	poison(fill, d->recv);
	ok = s->cuda && !cuda_enter(s->cuda, &mode);
	if (ok) {
		ok = !cuda_alloc(s->cuda, &s->in, (d->send + 1) * sizeof(float), "a test") &&
		     !cuda_alloc(s->cuda, &s->out, (d->recv + 1) * sizeof(float), "a test") &&
		     !cuda_upload(s->cuda, s->in, d->in[rank], d->send * sizeof(float), "a test") &&
		     !cuda_upload(s->cuda, s->out, fill, d->recv * sizeof(float), "a test");
		cuda_leave(s->cuda, mode);
	}
	free(fill);
	return ok;
}

void spot_leave(struct spot *s)
{
	int mode;

	if (!s->cuda || cuda_enter(s->cuda, &mode))
		return;
	cuda_free(s->cuda, s->in);
	cuda_free(s->cuda, s->out);
	cuda_leave(s->cuda, mode);
}

ccs_status spot_run_on(const struct spot *s, struct ccs_comm *c, const struct data *d,
		       cuda_stream stream)
{
	return ccs_run(d->m, (void *)(uintptr_t)s->in, (void *)(uintptr_t)s->out, d->count,
		       CCS_FLOAT32, CCS_SUM, d->root, c, stream);
}

ccs_status spot_run(const struct spot *s, struct ccs_comm *c, const struct data *d)
{
	return spot_run_on(s, c, d, NULL);
}

ccs_status spot_sync(const struct spot *s)
{
	int mode;
	ccs_status e = cuda_enter(s->cuda, &mode);

	if (e)
		return e;
	e = cuda_sync(s->cuda, NULL);
	cuda_leave(s->cuda, mode);
	return e;
}

bool spot_right(const struct spot *s, int rank, const struct data *d)
{
	float *got = calloc(d->recv + 1, sizeof(float));
	bool right = false;
	int mode;

	if (!spot_sync(s) && !cuda_enter(s->cuda, &mode)) {
		right = !cuda_download(s->cuda, got, s->out, d->recv * sizeof(float), "a test") &&
			!memcmp(got, d->out[rank], d->recv * sizeof(float));
		cuda_leave(s->cuda, mode);
	}
	free(got);
	return right;
}

int modules_load(const struct ccs_module **m, int most, char **paths, int n)
{
	struct ccs_module *loaded;

	for (int i = 0; i < n && i < most; i++) {
		if (ccs_module_load(&loaded, paths[i])) {
			fprintf(stderr, "%s\n", ccs_error());
			return 0;
		}
		m[i] = loaded;
	}
	return n < most ? n : most;
}

void modules_free(const struct ccs_module **m, int n)
{
	for (int i = 0; i < n; i++)
		ccs_module_free((struct ccs_module *)(uintptr_t)m[i]);
}
