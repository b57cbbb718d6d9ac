/* Plans as `ccc --emit=json` prints them. See plan_sim.h. */
#include "tests/support/plan_sim.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void *rows(size_t n, size_t size)
{
	void *v = calloc(n ? n : 1, size);

	if (!v)
		abort();
	return v;
}

static int number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_integer(v) ? (int)json_integer_value(v) : ABSENT;
}

static bool truth(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

static enum sim_direction direction(const json_t *buffer)
{
	const char *s = json_string_value(json_object_get(buffer, "direction"));

	return s && !strcmp(s, "in") ? SIM_IN : s && !strcmp(s, "out") ? SIM_OUT : SIM_INOUT;
}

static void load_op(struct sim_plan *p, const json_t *o)
{
	json_t *waits = json_object_get(o, "waits");
	int n = (int)json_array_size(waits);

	p->ops[p->nops++] = (struct sim_op){
		.in = number(o, "in"),
		.out = number(o, "out"),
		.a = number(o, "a"),
		.b = number(o, "b"),
		.dst = number(o, "dst"),
		.n = number(o, "n"),
		.len = number(o, "len"),
		.len_same = truth(o, "len_same"),
		.remote = number(o, "remote"),
		.held = truth(o, "held"),
		.read = truth(o, "read"),
		.a_initial = truth(o, "a_initial"),
		.b_initial = truth(o, "b_initial"),
		.wait = p->nwaits,
		.nwaits = n,
		.line = number(o, "line"),
	};
	if (p->most < p->ops[p->nops - 1].n)
		p->most = p->ops[p->nops - 1].n;
	for (int i = 0; i < n; i++) {
		const json_t *w = json_array_get(waits, (size_t)i);

		p->waits[p->nwaits++] = (struct sim_wait){
			number(w, "worker"),
			number(w, "ops"),
		};
	}
}

static void load_workers(struct sim_plan *p, const json_t *workers)
{
	size_t nops = 0, nwaits = 0, i, j;
	json_t *w, *o;

	json_array_foreach(workers, i, w) json_array_foreach(json_object_get(w, "ops"), j, o)
	{
		nops++;
		nwaits += json_array_size(json_object_get(o, "waits"));
	}
	p->workers = rows(json_array_size(workers), sizeof(*p->workers));
	p->ops = rows(nops, sizeof(*p->ops));
	p->waits = rows(nwaits, sizeof(*p->waits));
	json_array_foreach(workers, i, w)
	{
		json_t *ops = json_object_get(w, "ops");

		p->workers[p->nworkers++] = (struct sim_worker){
			number(w, "rank"),
			p->nops,
			(int)json_array_size(ops),
		};
		json_array_foreach(ops, j, o) load_op(p, o);
	}
}

/* By rank and cell a row of runs of contributions, or none. */
static void load_promised(struct sim_plan *p, const json_t *expect, const json_t *sums)
{
	size_t i;
	json_t *at;

	p->promised = rows(json_array_size(expect), sizeof(*p->promised));
	json_array_foreach(expect, i, at)
	{
		struct sim_want *w = &p->promised[i];
		size_t k = (size_t)json_integer_value(at);
		const json_t *s;

		w->asked = !json_is_null(at);
		if (!w->asked)
			continue;
		do {
			s = json_array_get(sums, k++);
			for (int q = 0; q < number(s, "n"); q++)
				w->sum += (uint64_t)number(s, "times") *
					  sim_weight(number(s, "first") + q, number(s, "cell"));
		} while (s && !truth(s, "last"));
	}
}

static bool load_plan(struct sim_plan *p, const json_t *o, const json_t *buffers)
{
	const json_t *shapes = json_object_get(o, "shapes"), *fifos = json_object_get(o, "fifos");
	const json_t *after = json_object_get(o, "after");
	size_t i;
	json_t *row;

	*p = (struct sim_plan){
		.nranks = number(o, "nranks"),
		.root = number(o, "root"),
		.cells = number(o, "cells"),
		.scratch = number(o, "scratch"),
		.max_message = number(o, "max_message"),
	};
	p->buffers = rows(json_array_size(buffers), sizeof(*p->buffers));
	json_array_foreach(buffers, i, row)
	{
		const json_t *s = json_array_get(shapes, i);

		p->buffers[p->nbuffers++] = (struct sim_buffer){
			direction(row),
			number(s, "chunks"),
			number(s, "blocks"),
			number(s, "cell"),
		};
	}
	load_workers(p, json_object_get(o, "workers"));
	p->fifos = rows(json_array_size(fifos), sizeof(*p->fifos));
	json_array_foreach(fifos, i, row) p->fifos[p->nfifos++] = (struct sim_fifo){
		number(row, "src"),	   number(row, "dst"),	    number(row, "src_worker"),
		number(row, "dst_worker"), number(row, "messages"), number(row, "max_cells"),
	};
	p->after = rows(json_array_size(after), sizeof(*p->after));
	json_array_foreach(after, i, row) p->after[p->nafter++] = (struct sim_after){
		number(row, "rank"),
		number(row, "first"),
		number(row, "n"),
	};
	load_promised(p, json_object_get(o, "expect"), json_object_get(o, "sums"));
	return p->nranks > 0 && p->cells >= 0 && p->scratch >= 0;
}

static void load_layouts(struct sim_module *m, const json_t *buffers)
{
	bool columns = false, sized = false;
	json_t *b;
	size_t i;

	json_array_foreach(buffers, i, b)
	{
		columns |= truth(b, "by_column");
		sized |= truth(b, "sized");
	}
	m->runs = !columns && !sized;
	m->columns = columns && !sized;
}

bool sim_load(FILE *f, struct sim_module *m)
{
	json_t *o = json_loadf(f, 0, NULL), *plan;
	const char *contract = json_string_value(json_object_get(o, "contract"));
	json_t *plans = json_object_get(o, "plans");
	bool good = contract && json_array_size(plans) > 0;
	size_t i;

	memset(m, 0, sizeof(*m));
	if (good) {
		snprintf(m->contract, sizeof(m->contract), "%s", contract);
		m->slots = number(o, "slots");
		m->even_counts = truth(o, "even_counts");
		load_layouts(m, json_object_get(o, "buffers"));
		m->plans = rows(json_array_size(plans), sizeof(*m->plans));
		json_array_foreach(plans, i, plan) good &=
			load_plan(&m->plans[m->nplans++], plan, json_object_get(o, "buffers"));
	}
	json_decref(o);
	return good;
}

void sim_free(struct sim_module *m)
{
	for (int i = 0; i < m->nplans; i++) {
		struct sim_plan *p = &m->plans[i];

		free(p->buffers);
		free(p->workers);
		free(p->ops);
		free(p->waits);
		free(p->fifos);
		free(p->promised);
		free(p->after);
	}
	free(m->plans);
	memset(m, 0, sizeof(*m));
}
