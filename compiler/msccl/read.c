/*
 * Read: MSCCL XML to a description.
 *
 * In: a text. Out: struct msccl with GPUs, blocks and steps, each with its place; E0601 for a text
 * that is no such file, E0602 for impossible attributes, each with line and column. Elements nest only as
 * deep as in the format, which bounds expat's memory (xml/xml.h).
 *
 * Known faults of writers are accepted: comments before <algo>, and missing attributes with a usual
 * value. Attributes and <copy> elements that the executors ignore are ignored. Text after </algo>
 * is refused. O(bytes).
 */
#include "compiler/msccl/msccl.h"
#include "compiler/xml/xml.h"

#include <string.h>

enum level { OUTSIDE, IN_ALGO, IN_GPU, IN_TB, IN_STEP };

struct reader {
	struct ctx *c;
	struct msccl *m;
	enum level level;
	uint32_t ignored; /* depth below an element that is not read */
	struct msccl_gpu *gpu;
	struct msccl_block *block;
};

/* ---- elements ----------------------------------------------------------------------- */

static const char *text_or(struct reader *r, const struct xml_element *e, const char *name,
			   const char *none)
{
	const char *text = xml_text(e, name);

	return text ? arena_strndup(r->c->arena, text, strnlen(text, 200)) : none;
}

/* Older files have only inplace; outofplace is then its negation. */
static void read_places(const struct xml_element *e, struct msccl *m)
{
	m->inplace = xml_number(e, "inplace", 0, 1, 0) > 0;
	m->outofplace = xml_number(e, "outofplace", 0, 1, !m->inplace) > 0;
	if (!m->inplace && !m->outofplace)
		diag_add(e->ctx->diags, SEV_ERROR, 602, xml_place(e, "outofplace"), NO_RANK,
			 "inplace and outofplace are both 0: no executor accepts the file");
}

static void read_algo(struct reader *r, const struct xml_element *e)
{
	struct msccl *m = r->m;
	int coll = xml_word(e, "coll", msccl_collective_names());

	m->span = e->span;
	m->name = text_or(r, e, "name", "algorithm");
	m->protocol = text_or(r, e, "proto", "Simple");
	if (coll >= 0)
		m->collective = msccl_collective(xml_text(e, "coll"));
	m->nranks = (uint32_t)xml_number(e, "ngpus", 1, LIMIT_RANKS, 0);
	m->nchunks = (uint32_t)xml_number(e, "nchunksperloop", 1, MSCCL_MOST_NUMBER, 0);
	m->nchannels = (uint32_t)xml_number(e, "nchannels", 0, MSCCL_MOST_NUMBER, 0);
	m->min_bytes = (uint64_t)xml_number(e, "minBytes", 0, INT64_MAX, 0);
	m->max_bytes = (uint64_t)xml_number(e, "maxBytes", 0, INT64_MAX, INT64_MAX);
	read_places(e, m);
	m->gpus = ARENA_ARRAY(r->c->arena, struct msccl_gpu, m->nranks);
}

static void read_gpu(struct reader *r, const struct xml_element *e)
{
	static const char *const chunks[] = { "i_chunks", "o_chunks", "s_chunks" };
	struct msccl *m = r->m;
	uint32_t id = (uint32_t)xml_number(e, "id", 0, (int64_t)m->nranks - 1, -1);

	r->gpu = &m->gpus[id];
	if (r->gpu->given) {
		diag_add(r->c->diags, SEV_ERROR, 602, e->span, NO_RANK,
			 "there is already a <gpu> with id=\"%u\"", id);
		xml_stop(e->xml);
		return;
	}
	*r->gpu = (struct msccl_gpu){ .span = e->span, .given = true, .first = m->nblocks };
	for (int b = 0; b < MSCCL_BUFFERS; b++) {
		r->gpu->chunks[b] = (uint32_t)xml_number(e, chunks[b], 0, MSCCL_MOST_NUMBER, 0);
		r->gpu->counted[b] = xml_text(e, chunks[b]) != NULL;
	}
}

static void read_block(struct reader *r, const struct xml_element *e)
{
	struct msccl *m = r->m;
	struct msccl_block b = { .span = e->span, .out = NONE, .in = NONE };

	b.gpu = (uint32_t)(r->gpu - m->gpus);
	b.id = (uint32_t)xml_number(e, "id", 0, MSCCL_MOST_NUMBER, r->gpu->nblocks);
	b.send = (int32_t)xml_number(e, "send", -1, MSCCL_MOST_NUMBER, -1);
	b.recv = (int32_t)xml_number(e, "recv", -1, MSCCL_MOST_NUMBER, -1);
	b.channel = (uint32_t)xml_number(e, "chan", 0, MSCCL_MOST_NUMBER, 0);
	ARENA_PUSH(r->c->arena, m->blocks, m->nblocks, m->capblocks) = b;
	r->block = &m->blocks[m->nblocks - 1];
	r->gpu->nblocks++;
}

static struct msccl_chunks read_chunks(const struct xml_element *e, const char *buf,
				       const char *off)
{
	static const char *const names[] = { "i", "o", "s", NULL };
	int b = xml_word(e, buf, names);
	uint32_t at = (uint32_t)xml_number(e, off, 0, MSCCL_MOST_NUMBER, -1);

	return (struct msccl_chunks){ b < 0 ? BUFFER_I : (enum msccl_buffer)b, at };
}

static void read_step(struct reader *r, const struct xml_element *e)
{
	const char *names[STEP_TYPES + 1] = { NULL };
	struct msccl_block *b = r->block;
	struct msccl_step s = { .span = e->span, .waits_block = NONE, .waits_step = NONE };

	for (int i = 0; i < STEP_TYPES; i++)
		names[i] = msccl_does((enum msccl_type)i)->name;
	int type = xml_word(e, "type", names);
	s.type = type < 0 ? STEP_NOP : (enum msccl_type)type;
	s.s = (uint32_t)xml_number(e, "s", 0, MSCCL_MOST_NUMBER, b->nsteps);
	s.depid = (int32_t)xml_number(e, "depid", -1, MSCCL_MOST_NUMBER, -1);
	s.deps = (int32_t)xml_number(e, "deps", -1, MSCCL_MOST_NUMBER, -1);
	s.hasdep = xml_number(e, "hasdep", 0, 1, 0) > 0;
	const struct msccl_does *does = msccl_does(s.type);
	if (does->reads)
		s.src = read_chunks(e, "srcbuf", "srcoff");
	if (does->writes)
		s.dst = read_chunks(e, "dstbuf", "dstoff");
	if (s.type != STEP_NOP)
		s.cnt = (uint32_t)xml_number(e, "cnt", 0, MSCCL_MOST_NUMBER, 1);
	if (b->nsteps && b->steps[b->nsteps - 1].s >= s.s)
		diag_add(r->c->diags, SEV_ERROR, 602, xml_place(e, "s"), NO_RANK,
			 "step %u follows step %u: steps must be in execution order", s.s,
			 b->steps[b->nsteps - 1].s);
	ARENA_PUSH(r->c->arena, b->steps, b->nsteps, b->capsteps) = s;
	r->m->nsteps++;
}

/* ---- the format ------------------------------------------------------------------------- */

static void wrong_element(struct reader *r, const struct xml_element *e)
{
	static const char *const inside[] = { "the file", "<algo>", "<gpu>", "<tb>", "<step>" };
	static const char *const wanted[] = { "algo", "gpu", "tb", "step", NULL };
	const char *want = wanted[r->level];
	struct diag *g = diag_add(r->c->diags, SEV_ERROR, 601, e->span, NO_RANK,
				  "<%.40s> is not an element of %s", e->name, inside[r->level]);

	if (want)
		diag_note(r->c->diags, g, NOWHERE, "%s has <%s>", inside[r->level], want);
	xml_stop(e->xml);
}

static void start_element(void *arg, const struct xml_element *e)
{
	static const char *const names[] = { "algo", "gpu", "tb", "step" };
	static void (*const read[])(struct reader *,
				    const struct xml_element *) = { read_algo, read_gpu, read_block,
								    read_step };
	struct reader *r = arg;

	if (r->ignored || (r->level == IN_GPU && !strcmp(e->name, "copy"))) {
		r->ignored++;
		if (r->ignored > IN_STEP)
			wrong_element(r, e);
		return;
	}
	if (r->level == IN_STEP || strcmp(e->name, names[r->level]) != 0) {
		wrong_element(r, e);
		return;
	}
	enum level level = r->level++;
	uint32_t errors = r->c->diags->errors;
	read[level](r, e);
	/* Without these numbers, the elements inside cannot be checked. */
	if (level <= IN_ALGO && r->c->diags->errors != errors)
		xml_stop(e->xml);
}

static void end_element(void *arg)
{
	struct reader *r = arg;

	if (r->ignored)
		r->ignored--;
	else
		r->level--;
}

struct msccl *msccl_read(struct ctx *c, struct source *source)
{
	static const struct xml_format format = { "algo", "the executors need it", 602,
						  start_element, end_element };
	struct reader r = { .c = c, .m = ARENA_NEW(c->arena, struct msccl) };
	uint32_t errors = c->diags->errors;

	r.m->source = source;
	return xml_read(c, source, &format, &r) && c->diags->errors == errors ? r.m : NULL;
}
