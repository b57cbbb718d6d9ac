/*
 * Read: MSCCL XML to a description.
 *
 * In: a text. Out: struct msccl with GPUs, blocks and steps, each with its place; E0601 for a text
 * that is no such file, E0602 for impossible attributes, each with line and column. expat parses. A
 * document type is refused (so there are no entities), elements nest only as deep as in the format,
 * and no tag is longer than LIMIT_TAG; this bounds expat's memory.
 *
 * Known faults of writers are accepted: comments before <algo>, and missing attributes with a usual
 * value. Attributes and <copy> elements that the executors ignore are ignored. Text after </algo>
 * is refused. O(bytes).
 */
#include "compiler/msccl/msccl.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 65536u
#define LIMIT_TAG (1u << 20) /* bytes of a tag or comment */

enum level { OUTSIDE, IN_ALGO, IN_GPU, IN_TB, IN_STEP };

struct reader {
	struct ctx *c;
	struct msccl *m;
	struct source *source;
	XML_Parser xml;
	enum level level;
	uint32_t ignored; /* depth below an element that is not read */
	bool ended;	  /* </algo> was there */
	bool stopped;	  /* further mistakes would be consequences */
	struct msccl_gpu *gpu;
	struct msccl_block *block;
};

static void stop(struct reader *r)
{
	r->stopped = true;
	XML_StopParser(r->xml, XML_FALSE);
}

/* The place of the current event of expat. */
static struct span here(const struct reader *r)
{
	XML_Index at = XML_GetCurrentByteIndex(r->xml);
	uint32_t lo = at < 0 || (uint64_t)at > r->source->len ? r->source->len : (uint32_t)at;
	uint32_t n = (uint32_t)XML_GetCurrentByteCount(r->xml);

	n = n > r->source->len - lo ? r->source->len - lo : n;
	return (struct span){ r->source->base + lo, r->source->base + lo + n };
}

/* ---- elements ----------------------------------------------------------------------- */

static const char *text_or(struct reader *r, const struct msccl_element *e, const char *name,
			   const char *none)
{
	const char *text = msccl_text(e, name);

	return text ? arena_strndup(r->c->arena, text, strnlen(text, 200)) : none;
}

/* Older files have only inplace; outofplace is then its negation. */
static void read_places(const struct msccl_element *e, struct msccl *m)
{
	m->inplace = msccl_number(e, "inplace", 0, 1, 0) > 0;
	m->outofplace = msccl_number(e, "outofplace", 0, 1, !m->inplace) > 0;
	if (!m->inplace && !m->outofplace)
		diag_add(e->ctx->diags, SEV_ERROR, 602, msccl_place(e, "outofplace"), NO_RANK,
			 "inplace and outofplace are both 0: no executor accepts the file");
}

static void read_algo(struct reader *r, const struct msccl_element *e)
{
	struct msccl *m = r->m;
	int coll = msccl_word(e, "coll", msccl_collective_names());

	m->span = e->span;
	m->name = text_or(r, e, "name", "algorithm");
	m->protocol = text_or(r, e, "proto", "Simple");
	if (coll >= 0)
		m->collective = msccl_collective(msccl_text(e, "coll"));
	m->nranks = (uint32_t)msccl_number(e, "ngpus", 1, LIMIT_RANKS, 0);
	m->nchunks = (uint32_t)msccl_number(e, "nchunksperloop", 1, MSCCL_MOST_NUMBER, 0);
	m->nchannels = (uint32_t)msccl_number(e, "nchannels", 0, MSCCL_MOST_NUMBER, 0);
	m->min_bytes = (uint64_t)msccl_number(e, "minBytes", 0, INT64_MAX, 0);
	m->max_bytes = (uint64_t)msccl_number(e, "maxBytes", 0, INT64_MAX, INT64_MAX);
	read_places(e, m);
	m->gpus = ARENA_ARRAY(r->c->arena, struct msccl_gpu, m->nranks);
}

static void read_gpu(struct reader *r, const struct msccl_element *e)
{
	static const char *const chunks[] = { "i_chunks", "o_chunks", "s_chunks" };
	struct msccl *m = r->m;
	uint32_t id = (uint32_t)msccl_number(e, "id", 0, (int64_t)m->nranks - 1, -1);

	r->gpu = &m->gpus[id];
	if (r->gpu->given) {
		diag_add(r->c->diags, SEV_ERROR, 602, e->span, NO_RANK,
			 "there is already a <gpu> with id=\"%u\"", id);
		stop(r);
		return;
	}
	*r->gpu = (struct msccl_gpu){ .span = e->span, .given = true, .first = m->nblocks };
	for (int b = 0; b < MSCCL_BUFFERS; b++) {
		r->gpu->chunks[b] = (uint32_t)msccl_number(e, chunks[b], 0, MSCCL_MOST_NUMBER, 0);
		r->gpu->counted[b] = msccl_text(e, chunks[b]) != NULL;
	}
}

static void read_block(struct reader *r, const struct msccl_element *e)
{
	struct msccl *m = r->m;
	struct msccl_block b = { .span = e->span, .out = NONE, .in = NONE };

	b.gpu = (uint32_t)(r->gpu - m->gpus);
	b.id = (uint32_t)msccl_number(e, "id", 0, MSCCL_MOST_NUMBER, r->gpu->nblocks);
	b.send = (int32_t)msccl_number(e, "send", -1, MSCCL_MOST_NUMBER, -1);
	b.recv = (int32_t)msccl_number(e, "recv", -1, MSCCL_MOST_NUMBER, -1);
	b.channel = (uint32_t)msccl_number(e, "chan", 0, MSCCL_MOST_NUMBER, 0);
	ARENA_PUSH(r->c->arena, m->blocks, m->nblocks, m->capblocks) = b;
	r->block = &m->blocks[m->nblocks - 1];
	r->gpu->nblocks++;
}

static struct msccl_chunks read_chunks(const struct msccl_element *e, const char *buf,
				       const char *off)
{
	static const char *const names[] = { "i", "o", "s", NULL };
	int b = msccl_word(e, buf, names);
	uint32_t at = (uint32_t)msccl_number(e, off, 0, MSCCL_MOST_NUMBER, -1);

	return (struct msccl_chunks){ b < 0 ? BUFFER_I : (enum msccl_buffer)b, at };
}

static void read_step(struct reader *r, const struct msccl_element *e)
{
	const char *names[STEP_TYPES + 1] = { NULL };
	struct msccl_block *b = r->block;
	struct msccl_step s = { .span = e->span, .waits_block = NONE, .waits_step = NONE };

	for (int i = 0; i < STEP_TYPES; i++)
		names[i] = msccl_does((enum msccl_type)i)->name;
	int type = msccl_word(e, "type", names);
	s.type = type < 0 ? STEP_NOP : (enum msccl_type)type;
	s.s = (uint32_t)msccl_number(e, "s", 0, MSCCL_MOST_NUMBER, b->nsteps);
	s.depid = (int32_t)msccl_number(e, "depid", -1, MSCCL_MOST_NUMBER, -1);
	s.deps = (int32_t)msccl_number(e, "deps", -1, MSCCL_MOST_NUMBER, -1);
	s.hasdep = msccl_number(e, "hasdep", 0, 1, 0) > 0;
	const struct msccl_does *does = msccl_does(s.type);
	if (does->reads)
		s.src = read_chunks(e, "srcbuf", "srcoff");
	if (does->writes)
		s.dst = read_chunks(e, "dstbuf", "dstoff");
	if (s.type != STEP_NOP)
		s.cnt = (uint32_t)msccl_number(e, "cnt", 0, MSCCL_MOST_NUMBER, 1);
	if (b->nsteps && b->steps[b->nsteps - 1].s >= s.s)
		diag_add(r->c->diags, SEV_ERROR, 602, msccl_place(e, "s"), NO_RANK,
			 "step %u follows step %u: steps must be in execution order", s.s,
			 b->steps[b->nsteps - 1].s);
	ARENA_PUSH(r->c->arena, b->steps, b->nsteps, b->capsteps) = s;
	r->m->nsteps++;
}

/* ---- handlers of expat ------------------------------------------------------------------ */

static void wrong_element(struct reader *r, const char *name)
{
	static const char *const inside[] = { "the file", "<algo>", "<gpu>", "<tb>", "<step>" };
	static const char *const wanted[] = { "algo", "gpu", "tb", "step", NULL };
	const char *want = wanted[r->level];
	struct diag *g = diag_add(r->c->diags, SEV_ERROR, 601, here(r), NO_RANK,
				  "<%.40s> is not an element of %s", name, inside[r->level]);

	if (want)
		diag_note(r->c->diags, g, NOWHERE, "%s has <%s>", inside[r->level], want);
	stop(r);
}

static void start_element(void *arg, const char *name, const char **attributes)
{
	static const char *const names[] = { "algo", "gpu", "tb", "step" };
	static void (*const read[])(struct reader *,
				    const struct msccl_element *) = { read_algo, read_gpu,
								      read_block, read_step };
	struct reader *r = arg;
	struct msccl_element e = { r->c, r->source, name, (const char *const *)attributes,
				   here(r) };

	if (r->stopped)
		return;
	if (r->ignored || (r->level == IN_GPU && !strcmp(name, "copy"))) {
		r->ignored++;
		if (r->ignored > IN_STEP)
			wrong_element(r, name);
		return;
	}
	if (r->level == IN_STEP || strcmp(name, names[r->level]) != 0) {
		wrong_element(r, name);
		return;
	}
	enum level level = r->level++;
	uint32_t errors = r->c->diags->errors;
	read[level](r, &e);
	/* Without these numbers, the elements inside cannot be checked. */
	if (level <= IN_ALGO && r->c->diags->errors != errors && !r->stopped)
		stop(r);
}

static void end_element(void *arg, const char *name)
{
	struct reader *r = arg;

	(void)name; /* expat has checked that it matches */
	if (r->stopped)
		return;
	if (r->ignored) {
		r->ignored--;
		return;
	}
	r->level--;
	r->ended = r->level == OUTSIDE;
}

/* The tag in which, or after which, expat is. */
static struct span tag_before(const struct reader *r)
{
	struct span at = here(r);
	const char *text = r->source->text;

	for (uint32_t i = at.lo - r->source->base; i > 0; i--)
		if (!strncmp(text + i - 1, "<!DOCTYPE", 9))
			return (struct span){ r->source->base + i - 1, r->source->base + i + 8 };
	return at;
}

static void refuse_doctype(void *arg, const char *name, const char *system, const char *public,
			   int internal)
{
	struct reader *r = arg;

	(void)name;
	(void)system;
	(void)public;
	(void)internal;
	struct diag *g = diag_add(r->c->diags, SEV_ERROR, 601, tag_before(r), NO_RANK,
				  "a document type is not allowed, because entities are not");
	diag_help(r->c->diags, g, "an MSCCL file needs none: remove <!DOCTYPE ...>");
	stop(r);
}

/* ---- the text ---------------------------------------------------------------------------- */

static void not_well_formed(struct reader *r)
{
	enum XML_Error e = XML_GetErrorCode(r->xml);

	if (r->stopped)
		return;
	if (e == XML_ERROR_NO_MEMORY)
		arena_fail(r->c->arena);
	if (e == XML_ERROR_JUNK_AFTER_DOC_ELEMENT) {
		struct diag *g = diag_add(r->c->diags, SEV_ERROR, 601, here(r), NO_RANK,
					  "this follows </algo> and is ignored");
		diag_help(r->c->diags, g, "remove it; a second algorithm needs a separate file");
		r->stopped = true;
		return;
	}
	diag_add(r->c->diags, SEV_ERROR, 601, here(r), NO_RANK, "this is not well-formed XML: %s",
		 XML_ErrorString(e));
	r->stopped = true;
}

/* Parses in pieces, so that a tag without an end is detected before it uses much memory. */
static void parse(struct reader *r)
{
	const struct source *s = r->source;

	for (uint32_t at = 0; at < s->len && !r->stopped;) {
		uint32_t n = s->len - at < PIECE ? s->len - at : PIECE;
		bool ok =
			XML_Parse(r->xml, s->text + at, (int)n, at + n == s->len) == XML_STATUS_OK;

		at += n;
		if (!ok) {
			not_well_formed(r);
			return;
		}
		if (at - (here(r).lo - s->base) > LIMIT_TAG) {
			diag_add(r->c->diags, SEV_ERROR, 601, here(r), NO_RANK,
				 "a tag or comment has more than %u bytes (LIMIT_TAG)", LIMIT_TAG);
			return;
		}
	}
	if (!s->len)
		diag_add(r->c->diags, SEV_ERROR, 601, here(r), NO_RANK, "the file is empty");
}

/* Parses, and frees expat's memory even if the arena runs out. */
static bool parse_guarded(struct reader *r)
{
	struct arena *a = r->c->arena;
	jmp_buf *outer = a->full, inner;
	volatile bool whole = false;

	a->full = &inner;
	if (!setjmp(inner)) {
		parse(r);
		whole = true;
	}
	a->full = outer;
	XML_ParserFree(r->xml);
	return whole;
}

struct msccl *msccl_read(struct ctx *c, struct source *source)
{
	struct reader *r = ARENA_NEW(c->arena, struct reader);
	uint32_t errors = c->diags->errors;

	*r = (struct reader){ .c = c, .source = source, .m = ARENA_NEW(c->arena, struct msccl) };
	r->m->source = source;
	r->xml = XML_ParserCreate(NULL);
	if (!r->xml)
		arena_fail(c->arena);
	XML_SetUserData(r->xml, r);
	XML_SetElementHandler(r->xml, start_element, end_element);
	XML_SetStartDoctypeDeclHandler(r->xml, refuse_doctype);
	if (!parse_guarded(r))
		arena_fail(c->arena);
	return c->diags->errors == errors && r->ended ? r->m : NULL;
}
