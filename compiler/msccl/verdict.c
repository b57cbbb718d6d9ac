/*
 * The verdict on an MSCCL file, as text for people or one JSON object (ccc(1), MSCCL XML).
 */
#include "compiler/msccl/msccl.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* ---- text ----------------------------------------------------------------------------- */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static const char *slots_text(struct arena *a, int64_t slots)
{
	return arena_printf(a, "%" PRId64 " slot%s", slots, plural((uint64_t)slots));
}

/* The sizes of chunks at which it hangs; `most`: the greatest number of chunks a slot that
 * matters. */
static const char *sizes_text(struct arena *a, uint32_t hangs, uint32_t most)
{
	if (hangs >= most)
		return "at every size";
	return arena_printf(a, "where a chunk takes more than 1/%u of a slot", hangs + 1);
}

static void print_depth(struct ctx *c, const struct msccl_verdict *v, const struct msccl_depth *d,
			FILE *out)
{
	uint32_t most = v->m->most < MSCCL_MOST_CHUNKS ? v->m->most : MSCCL_MOST_CHUNKS;

	if (d->slots == NONE)
		return;
	fprintf(out, "    %-13s ", slots_text(c->scratch, d->slots));
	if (!d->hangs)
		fprintf(out, "finishes at every size\n");
	else
		fprintf(out, "hangs %s; there %u block%s wait%s forever\n",
			sizes_text(c->scratch, d->hangs, most), d->blocked, plural(d->blocked),
			d->blocked == 1 ? "s" : "");
}

static void print_slots(struct ctx *c, const struct msccl_verdict *v, FILE *out)
{
	const struct msccl_slots *s = &v->slots;
	bool one = s->chunk == s->step;

	fprintf(out, "  deadlock-free   ");
	if (!v->has_slots)
		fprintf(out, "not decided\n");
	else if (s->chunk < 0)
		fprintf(out, "no, with any number of slots: %u blocks wait forever\n",
			s->depths[0].blocked);
	else if (s->chunk == 0)
		fprintf(out, "yes, even with unbuffered sends (0 slots), at every size\n");
	else if (one)
		fprintf(out, "%s; least: %s at every size\n", s->finishes ? "yes" : "no",
			slots_text(c->scratch, s->chunk));
	else
		fprintf(out, "%s; least: %s where a message is a step, %s where it is a chunk\n",
			s->finishes ? "yes" : "no", slots_text(c->scratch, s->step),
			slots_text(c->scratch, s->chunk));
	for (int i = 0; v->has_slots && s->chunk > 1 && i < MSCCL_DEPTHS; i++)
		print_depth(c, v, &s->depths[i], out);
}

static void print_computes(const struct msccl_verdict *v, enum msccl_answer answer,
			   const char *where, FILE *out)
{
	if (answer == NOT_ASKED)
		return;
	fprintf(out, "  %-15s ", where);
	if (answer == NO_CONTRACT)
		fprintf(out, "%s promises nothing that can be proved\n", v->contract);
	else if (v->root != NONE && answer == PROVED)
		fprintf(out, "computes %s from root %u, proved\n", v->contract, v->root);
	else if (answer == PROVED)
		fprintf(out, "computes %s, proved\n", v->contract);
	else if (answer == UNDECIDED)
		fprintf(out, "not decided\n");
	else if (answer == RACES)
		fprintf(out, "not determined, because of the races\n");
	else
		fprintf(out, "does not compute %s\n", v->contract);
}

static void print_text(struct ctx *c, const struct msccl_verdict *v, FILE *out)
{
	const struct msccl *m = v->m;

	fprintf(out, "%s: %s, N = %u, %s, %u chunk%s, %u block%s, %" PRIu64 " step%s\n", v->name,
		v->contract, m->nranks, m->protocol, m->nchunks, plural(m->nchunks), m->nblocks,
		plural(m->nblocks), m->nsteps, plural(m->nsteps));
	print_slots(c, v, out);
	print_computes(v, v->in_place, "in place", out);
	print_computes(v, v->out_of_place, "out of place", out);
	if (v->any_values)
		fprintf(out, "  races           %s\n",
			v->races	? "yes, between thread blocks"
			: v->races_open ? "not decided"
					: "none between thread blocks");
	if (v->in_place != PROVED && v->out_of_place != PROVED)
		return;
	fprintf(out, "  same bits       %s%s %s\n",
		v->same_bits ? "on every rank"
			     : "no: ranks combine in different orders, so floats may differ in "
			       "their last bits",
		v->same_bits && v->same_bits_counts ? "," : ";",
		v->same_bits_counts ? "for every count"
				    : arena_printf(c->scratch, "not for every count (%s)",
						   v->bits_why ? v->bits_why : ""));
	fprintf(out, "  steps           %u\n", v->steps);
	fprintf(out, "  sent per rank   %.2f S", v->sent);
	if (v->bound >= 0)
		fprintf(out, "; the lower bound is %.2f S\n", v->bound);
	else
		fprintf(out, "; no lower bound is known\n");
}

/* ---- JSON ------------------------------------------------------------------------------ */

static json_t *answer_json(enum msccl_answer a)
{
	return a == PROVED ? json_true() : a == REFUTED ? json_false() : json_null();
}

static json_t *least_json(int64_t least)
{
	return least < 0 ? json_null() : json_integer(least);
}

/* {"slots": 2, "blocked": 128, "hangs_with_chunks_a_slot": 3} */
static json_t *depth_json(const struct msccl_depth *d)
{
	return json_pack("{s:o, s:i, s:i}", "slots",
			 d->slots == NONE ? json_null() : json_integer(d->slots), "blocked",
			 (int)d->blocked, "hangs_up_to_chunks_a_slot", (int)d->hangs);
}

static int add_slots(json_t *o, const struct msccl_verdict *v)
{
	json_t *depths = json_array();
	int failed = 0;

	for (int i = 0; i < MSCCL_DEPTHS; i++)
		failed |= json_array_append_new(depths, depth_json(&v->slots.depths[i]));
	failed |= json_object_set_new(o, "min_slots", json_pack("[o]", least_json(v->slots.chunk)));
	failed |= json_object_set_new(o, "min_slots_step", least_json(v->slots.step));
	failed |= json_object_set_new(o, "min_slots_chunk", least_json(v->slots.chunk));
	failed |= json_object_set_new(o, "deadlock_free", json_boolean(v->slots.finishes));
	failed |= json_object_set_new(o, "depths", depths);
	return failed;
}

static bool print_json(const struct msccl_verdict *v, FILE *out)
{
	const struct msccl *m = v->m;
	bool proved = (v->in_place == PROVED || v->in_place == NOT_ASKED) &&
		      (v->out_of_place == PROVED || v->out_of_place == NOT_ASKED) &&
		      (v->in_place == PROVED || v->out_of_place == PROVED);
	json_t *o = json_pack("{s:s, s:s, s:s, s:[i], s:s, s:i, s:i, s:I, s:o, s:o, s:[b]}",
			      "severity", "report", "schedule", v->name, "contract", v->contract,
			      "ranks", (int)m->nranks, "protocol", m->protocol, "chunks",
			      (int)m->nchunks, "blocks", (int)m->nblocks, "file_steps",
			      (json_int_t)m->nsteps, "in_place", answer_json(v->in_place),
			      "out_of_place", answer_json(v->out_of_place), "proved", proved);
	int failed = o == NULL;

	if (v->has_slots)
		failed |= add_slots(o, v);
	if (v->any_values)
		failed |= json_object_set_new(o, "races",
					      v->races_open && !v->races ? json_null()
									 : json_boolean(v->races));
	if (proved) {
		json_t *more =
			json_pack("{s:[b], s:[b], s:[i], s:[f], s:[o]}", "same_bits", v->same_bits,
				  "same_bits_counts", v->same_bits_counts, "steps", (int)v->steps,
				  "sent_per_rank", v->sent, "sent_bound",
				  v->bound < 0 ? json_null() : json_real(v->bound));
		failed |= json_object_update(o, more);
		json_decref(more);
	}
	failed |= json_dumpf(o, out, JSON_COMPACT | JSON_REAL_PRECISION(12));
	fputc('\n', out);
	json_decref(o);
	return !failed;
}

void msccl_verdict_print(struct ctx *c, const struct msccl_verdict *v, bool json, FILE *out)
{
	if (!json)
		print_text(c, v, out);
	else if (!print_json(v, out))
		arena_fail(c->arena);
	arena_free(c->scratch);
}
