/*
 * Places the cells of a call: see cells.h. Cells are placed in the order of their numbers: buffer
 * by buffer, block by block, chunk by chunk; then scratch.
 */
#include "runtime/plan/cells.h"

#include "runtime/base/divide.h"

size_t cells_longest(const struct cells_call *c)
{
	size_t longest = module_longest(c->module, c->view, c->count, c->rows);
	size_t sized = c->sizes ? sizes_longest(c->sizes) : 0;

	return sized > longest ? sized : longest;
}

ccs_status cells_most(const struct cells_call *c, size_t *most)
{
	ccs_status s = CCS_OK;

	*most = 0;
	for (uint32_t r = 0; r < (c->sizes ? c->sizes->nrows : 1) && !s; r++) {
		const size_t *own = c->sizes ? c->sizes->of + (size_t)r * c->sizes->n : NULL;
		size_t send, recv;

		s = module_sizes(c->module, c->view, c->count, own, &send, &recv);
		if (s)
			break;
		*most = send > *most ? send : *most;
		*most = recv > *most ? recv : *most;
	}
	return s;
}

/* Places the chunks of a `sized` buffer one after another. Returns the sum of their elements. */
static size_t place_sized(const size_t *sizes, size_t n, struct cell_at *at, size_t send,
			  size_t recv)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		at[i] = (struct cell_at){ .send = send + sum, .recv = recv + sum, .len = sizes[i] };
		sum += sizes[i];
	}
	return sum;
}

/* plan.h: chunk c of a block begins at element min(c * q, count) of the block. In a `by
 * column` buffer this holds in each of `rows` rows, with the count and q of a row. */
static struct cell_at *place_buffer(const struct ccs_shape *s, size_t count, size_t rows,
				    struct cell_at *at, size_t send, size_t recv)
{
	size_t q = ceil_div(count, s->chunks);

	for (uint32_t b = 0; b < s->blocks; b++) {
		size_t from = 0;

		for (uint32_t c = 0; c < s->chunks; c++) {
			size_t len = count - from < q ? count - from : q;

			*at = (struct cell_at){ .send = send + b * count + from,
						.recv = recv + b * count + from,
						.len = len * rows };
			if (rows > 1 && len < s->blocks * count) {
				at->row = len;
				at->apart = s->blocks * count;
			}
			at++;
			from += len;
		}
	}
	return at;
}

void cells_place(const struct cells_call *c, uint32_t rank, size_t longest, struct cell_at *at)
{
	const struct ccs_module *m = c->module;
	const size_t *sizes = c->sizes ? c->sizes->of + (size_t)rank * c->sizes->n : NULL;
	size_t send = 0, recv = 0;

	for (uint32_t i = 0; i < m->nbuffers; i++) {
		const struct ccs_shape *s = c->view->shapes + i;
		size_t n = (size_t)s->chunks * s->blocks, elements = s->blocks * c->count;

		if (m->buffers[i].sized) {
			elements = place_sized(sizes, n, at, send, recv);
			at += n;
			sizes += n;
		} else if (m->buffers[i].by_column && c->rows) {
			at = place_buffer(s, c->count / c->rows, c->rows, at, send, recv);
		} else {
			at = place_buffer(s, c->count, 1, at, send, recv);
		}
		if (m->buffers[i].direction != CCS_OUT)
			send += elements;
		if (m->buffers[i].direction != CCS_IN)
			recv += elements;
	}
	for (uint32_t i = 0; i < c->view->plan->scratch; i++)
		*at++ = (struct cell_at){ .recv = i * longest, .len = longest };
}
