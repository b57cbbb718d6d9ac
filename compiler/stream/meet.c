/*
 * The k-th send of a FIFO meets its k-th receive, of the same size (ccs(5) 6, Matching): here all
 * messages of a FIFO have one size, so that it is enough to count them. O(ends of batches).
 */
#include "compiler/stream/stream.h"

#define MOST_FOUND 1000u /* reports: more say nothing new */

/* Sends (a receiver's place would be a second report) of a FIFO beyond its receives, or the other
 * way. */
static void report(const struct stream *s, const struct fifo *f, const uint64_t n[2],
		   const struct end *e, uint32_t batch)
{
	bool send = n[SENDS] > n[RECVS];
	uint32_t rank = send ? f->src : f->dst, peer = send ? f->dst : f->src;
	struct diag *g = diag_add(s->ctx->diags, SEV_ERROR, send ? 301 : 302,
				  s->p->sites[e->site].span, rank,
				  send ? "rank %u sends more to rank %u than that rank receives"
				       : "rank %u receives more from rank %u than that rank sends",
				  rank, peer);
	stream_show_calls(s, rank, batch, 0, (uint32_t)(e - s->ends), g);
	if (g)
		diag_note(s->ctx->diags, g, NOWHERE,
			  "rank %u sends %llu message%s to rank %u%s, which receives %llu", f->src,
			  (unsigned long long)n[SENDS], n[SENDS] == 1 ? "" : "s", f->dst,
			  f->channel ? " on this channel" : "", (unsigned long long)n[RECVS]);
}

/* Reports FIFOs with different numbers of sends and receives, each at the first surplus place. */
static void report_all(const struct stream *s, const uint64_t (*n)[2])
{
	uint32_t found = 0;
	uint64_t *seen = ARENA_ARRAY(s->ctx->arena, uint64_t, s->p->nfifos);
	for (uint32_t b = 0; b < s->nbatches; b++) {
		const struct batch *r = &s->batches[b];
		for (uint32_t i = r->first; i < r->first + r->n && found < MOST_FOUND; i++) {
			const struct end *e = &s->ends[i];
			uint32_t f = e->fifo;
			uint64_t other = n[f][e->recv ? SENDS : RECVS], before = seen[f];
			if (n[f][e->recv ? RECVS : SENDS] <= other)
				continue;
			seen[f] += r->times;
			if (before > other || seen[f] <= other)
				continue;
			found++;
			report(s, &s->p->fifos[f], n[f], e, b);
		}
	}
}

bool stream_meet(struct stream *s)
{
	struct program *p = s->p;
	bool equal = true, fits = true;
	uint64_t(*n)[2] =
		(uint64_t(*)[2])ARENA_ARRAY(s->ctx->arena, uint64_t, 2 * (size_t)p->nfifos);
	for (uint32_t r = 0; r < s->nbatches; r++)
		for (uint32_t i = s->batches[r].first; i < s->batches[r].first + s->batches[r].n;
		     i++)
			n[s->ends[i].fifo][s->ends[i].recv ? RECVS : SENDS] += s->batches[r].times;
	for (uint32_t f = 0; f < p->nfifos; f++) {
		equal &= n[f][SENDS] == n[f][RECVS];
		fits &= n[f][SENDS] < UINT32_MAX / 2;
		p->fifos[f].nsends = (uint32_t)n[f][SENDS];
		p->fifos[f].nrecvs = (uint32_t)n[f][RECVS];
		p->fifos[f].src_task = p->fifos[f].src;
		p->fifos[f].dst_task = p->fifos[f].dst;
	}
	if (!equal)
		report_all(s, (const uint64_t(*)[2])n);
	else if (!fits)
		stream_refuse(s->ctx, p->instance.schedule->name.span,
			      "more than 2147483647 messages go from one rank to another");
	return equal && fits;
}
