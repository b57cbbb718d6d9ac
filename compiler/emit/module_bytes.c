/*
 * The bytes of ccs_module_v1 (runtime/plan/plan.h), from lowered programs.
 *
 * In:  lowered and verified programs, one for each number of ranks and root (others are dropped).
 * Out: one block of bytes, reproducible: it does not depend on machine, directory or time. Files
 * are named by the last part of their path.
 *
 * The block grows table by table: the head, the tables of all plans, the texts, and later
 * (module_add_cuda) the CUDA source and kernels. Rows are zeroed and have no padding, so no byte is
 * undefined. Equal final values share their rows of sums: an allreduce of N chunks has N rows, not
 * N * N. read_back.c then proves the bytes, so a mistake here cannot reach a user.
 *
 * O(cells of all operations + ranks * cells + shares of the contract + sites * files), for each
 * plan.
 */
#include "compiler/emit/module_bytes.h"
#include "runtime/base/hash.h"
#include "runtime/plan/choice.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "modules are little-endian");
_Static_assert(sizeof(struct ccs_op) == 56 && sizeof(struct ccs_sum) == 24 &&
		       sizeof(struct ccs_plan) == 32 + 11 * sizeof(struct ccs_table),
	       "the rows written field by field have no padding");

struct builder {
	struct arena *arena;
	struct sources *sources;
	const struct module *module;
	unsigned char *data;
	size_t len, cap;
	char *text; /* all names and sources so far; appended to data as the last table */
	uint32_t ntext;
	size_t captext;
	uint32_t nfiles;
	struct facts_room room;
};

/* ---- the block ------------------------------------------------------------------ */

/* Appends a table of `n` zeroed rows of `size` bytes, at *t. The next call may move the block, and
 * with it the returned rows. */
static void *add_table(struct builder *b, struct ccs_table *t, uint64_t n, size_t size)
{
	size_t at = (b->len + 7) & ~(size_t)7, end = at + n * size;

	if (end > b->cap) {
		size_t cap = b->cap ? 2 * b->cap : 4096;
		if (cap < end)
			cap = end;
		b->data = arena_grow(b->arena, b->data, b->cap, cap);
		b->cap = cap;
	}
	memset(b->data + b->len, 0, end - b->len);
	b->len = end;
	*t = (struct ccs_table){ .at = at, .n = n };
	return b->data + at;
}

static void *rows_at(struct builder *b, struct ccs_table t)
{
	return b->data + t.at;
}

static uint32_t add_text(struct builder *b, const char *s, size_t n)
{
	uint32_t at = b->ntext;

	if (b->captext - b->ntext < n + 1) {
		size_t cap = 2 * (b->captext + n + 1);
		b->text = arena_grow(b->arena, b->text, b->captext, cap);
		b->captext = cap;
	}
	memcpy(b->text + at, s, n);
	b->text[at + n] = '\0';
	b->ntext += (uint32_t)n + 1;
	return at;
}

static uint32_t add_name(struct builder *b, const char *s)
{
	return add_text(b, s, strlen(s));
}

/* ---- tables that all plans share --------------------------------------------------- */

/* Adds the last part of a path. Control characters become '?', as users print the name on
 * terminals. */
static uint32_t add_file_name(struct builder *b, const char *path)
{
	const char *slash = strrchr(path, '/');
	uint32_t at = add_name(b, slash && slash[1] ? slash + 1 : path);

	for (char *s = b->text + at; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
	return at;
}

/* Adds the sources, imports first. The prelude is left out, as every compiler has it. */
static void add_files(struct builder *b, struct ccs_module_head *h)
{
	uint64_t n = 0;

	for (const struct unit *u = b->module->units; u; u = u->next)
		n += !u->source->prelude;
	struct ccs_file *f = add_table(b, &h->files, n, sizeof(*f));
	for (const struct unit *u = b->module->units; u; u = u->next) {
		const struct source *s = u->source;
		if (s->prelude)
			continue;
		f->name = add_file_name(b, s->name);
		f->content = add_text(b, s->text, strnlen(s->text, s->len));
		f++;
	}
	b->nfiles = (uint32_t)n;
}

static void add_params(struct builder *b, struct ccs_module_head *h, const struct decl *schedule,
		       const struct program *p)
{
	struct ccs_param *v = add_table(b, &h->params, p->nparams, sizeof(*v));
	const struct symbol *root = p->instance.root_param;
	uint32_t i = 0;

	h->root_param = CCS_NONE;
	for (const struct binding *d = schedule->params; d && i < p->nparams; d = d->next, i++) {
		bool at_run = root && !strcmp(d->name.name, root->name);
		v[i].name = add_name(b, d->name.name);
		v[i].value = at_run ? -1 : p->params[i];
		if (at_run)
			h->root_param = v[i].name;
	}
}

static void add_buffers(struct builder *b, struct ccs_module_head *h, const struct program *p)
{
	struct ccs_buffer *v = add_table(b, &h->buffers, p->nbuffers, sizeof(*v));

	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const struct buffer_def *d = p->buffers[i].def;
		v[i].name = add_name(b, d->name.name);
		v[i].direction = d->dir == DIR_IN    ? CCS_IN
				 : d->dir == DIR_OUT ? CCS_OUT
						     : CCS_INOUT;
		v[i].by_column = d->by_column;
		v[i].sized = d->sized;
		h->flags |= (d->by_column ? CCS_MODULE_BY_COLUMN : 0) |
			    (d->sized ? CCS_MODULE_SIZED : 0);
	}
}

/* ---- operations ---------------------------------------------------------------------- */

struct at_line {
	uint32_t line;
	uint16_t file;
};

/* File and line of each site; for a site in the prelude the main file, and line 0. */
static struct at_line *site_lines(struct builder *b, struct arena *scratch, const struct program *p)
{
	struct at_line *v = ARENA_ARRAY(scratch, struct at_line, p->nsites);

	for (uint32_t i = 0; i < p->nsites; i++) {
		struct place at = source_place(b->sources, p->sites[i].span.lo);
		uint16_t file = 0;
		v[i].file = (uint16_t)(b->nfiles - 1);
		for (const struct unit *u = b->module->units; u; u = u->next) {
			if (u->source->prelude)
				continue;
			if (u->source == at.source)
				v[i] = (struct at_line){ .line = at.line, .file = file };
			file++;
		}
	}
	return v;
}

/* Sets the parts of an operation, in, a, b, dst and out, and from where a and b are read
 * (runtime/plan/plan.h). */
static void expand_op(struct ccs_op *r, const struct op *o)
{
	uint32_t stored = o->kind & OP_NOSTORE ? CCS_NONE : o->cell;

	*r = (struct ccs_op){
		.in = op_in(o),
		.out = op_out(o),
		.a = CCS_NONE,
		.b = CCS_NONE,
		.dst = CCS_NONE,
		.n = o->n,
		.to = CCS_NONE,
	};
	switch (op_kind(o)) {
	case OP_SEND: r->a = o->cell; break;
	case OP_RECV:
	case OP_RECV_SEND: r->dst = stored; break;
	case OP_REDUCE_FROM:
	case OP_REDUCE_SEND:
		r->a = o->cell;
		r->dst = stored;
		break;
	case OP_REDUCE_INTO:
		r->b = o->other;
		if (o->kind & OP_INITIAL_INTO)
			r->flags |= CCS_OP_B_INITIAL;
		r->a = o->cell;
		r->dst = o->other;
		break;
	case OP_COPY:
		r->a = o->cell;
		r->dst = o->other;
		break;
	case OP_FRESH:
	case OP_WAIT: break;
	}
	if (r->a != CCS_NONE && o->kind & OP_INITIAL)
		r->flags |= CCS_OP_A_INITIAL;
}

/* By task and row: how many of the rows before it are operations, not waits; so the row's number in
 * the plan. */
static uint32_t **count_ops(struct arena *scratch, const struct program *p)
{
	uint32_t **v = ARENA_ARRAY(scratch, uint32_t *, p->ntasks);

	for (uint32_t t = 0; t < p->ntasks; t++) {
		const struct task *task = &p->tasks[t];
		uint32_t n = 0;
		v[t] = ARENA_ARRAY(scratch, uint32_t, (size_t)task->nops + 1);
		for (uint32_t i = 0; i < task->nops; i++) {
			v[t][i] = n;
			n += op_kind(&task->ops[i]) != OP_WAIT;
		}
		v[t][task->nops] = n;
	}
	return v;
}

static void add_workers(struct builder *b, struct ccs_plan *plan, const struct program *p,
			uint32_t *const *count)
{
	struct ccs_rank *r = add_table(b, &plan->ranks, (uint64_t)p->nranks + 1, sizeof(*r));

	for (uint32_t t = 0; t < p->ntasks; t++)
		r[p->tasks[t].rank + 1].worker++;
	for (uint32_t i = 0; i < p->nranks; i++)
		r[i + 1].worker += r[i].worker;
	struct ccs_worker *w = add_table(b, &plan->workers, p->ntasks, sizeof(*w));
	uint32_t at = 0;
	for (uint32_t t = 0; t < p->ntasks; t++) {
		w[t] = (struct ccs_worker){
			.rank = p->tasks[t].rank,
			.op = at,
			.nops = count[t][p->tasks[t].nops],
		};
		at += w[t].nops;
	}
}

static void add_waits(struct builder *b, struct ccs_plan *plan, const struct program *p,
		      uint32_t *const *count, uint64_t nwaits)
{
	struct ccs_wait *w = add_table(b, &plan->waits, nwaits, sizeof(*w));

	for (uint32_t t = 0; t < p->ntasks; t++)
		for (uint32_t i = 0; i < p->tasks[t].nops; i++) {
			const struct op *o = &p->tasks[t].ops[i];
			if (op_kind(o) == OP_WAIT)
				*w++ = (struct ccs_wait){ .worker = o->fifo,
							  .ops = count[o->fifo][o->other] };
		}
}

/* Fills in the operations, all but `to`, and plan->max_message; returns the number of waits. */
static uint64_t fill_ops(struct ccs_op *v, struct ccs_plan *plan, const struct planned *in,
			 const struct at_line *lines)
{
	const struct program *p = in->lowered->program;
	uint32_t nwaits = 0;

	for (uint32_t t = 0; t < p->ntasks; t++) {
		uint32_t first = nwaits;
		for (uint32_t i = 0; i < p->tasks[t].nops; i++) {
			const struct op *o = &p->tasks[t].ops[i];
			if (op_kind(o) == OP_WAIT) {
				nwaits++;
				continue;
			}
			expand_op(v, o);
			uint32_t len = in->lowered->proof.len[t][i];
			v->len = len == NONE ? 0 : len & ~LEN_SAME;
			if (len != NONE && len & LEN_SAME)
				v->flags |= CCS_OP_LEN_SAME;
			v->wait = first;
			v->nwaits = nwaits - first;
			v->line = lines[o->site].line;
			v->file = lines[o->site].file;
			first = nwaits;
			if ((v->in != CCS_NONE || v->out != CCS_NONE) && v->n > plan->max_message)
				plan->max_message = v->n;
			v++;
		}
	}
	return nwaits;
}

/* Tells each sending operation the one that receives its message, and marks messages that are
 * direct, held or read. */
static void fill_messages(struct ccs_op *v, const struct ccs_worker *w, const struct lowered *l,
			  uint32_t *const *count)
{
	const struct program *p = l->program;

	for (uint32_t f = 0; f < p->nfifos; f++) {
		const struct fifo *q = &p->fifos[f];
		for (uint32_t k = q->first; k < q->first + q->nsends; k++) {
			const struct message *m = &p->messages[k];
			struct ccs_op *o = &v[w[q->src_task].op + count[q->src_task][m->send]];
			o->to = w[q->dst_task].op + count[q->dst_task][m->recv];
			if (l->direct && l->direct[k])
				o->flags |= CCS_OP_DIRECT;
			if (l->held && l->held[k])
				o->flags |= CCS_OP_HELD;
			if (l->read && l->read[k])
				o->flags |= CCS_OP_READ;
		}
	}
}

static void add_fifos(struct builder *b, struct ccs_plan *plan, const struct program *p)
{
	struct ccs_fifo *v = add_table(b, &plan->fifos, p->nfifos, sizeof(*v));

	for (uint32_t f = 0; f < p->nfifos; f++) {
		const struct fifo *q = &p->fifos[f];
		v[f] = (struct ccs_fifo){
			.src = q->src,
			.dst = q->dst,
			.channel = q->channel,
			.messages = q->nsends,
			.src_worker = q->src_task,
			.dst_worker = q->dst_task,
		};
		for (uint32_t k = 0; k < q->nsends; k++) {
			const struct message *m = &p->messages[q->first + k];
			uint32_t n = p->tasks[q->src_task].ops[m->send].n;
			v[f].max_cells = n > v[f].max_cells ? n : v[f].max_cells;
		}
	}
}

/* ---- the contract's values -------------------------------------------------------------- */

/* Appends the value that begins at share `s` to the sums. */
static void push_sums(struct arena *scratch, const struct share *s, struct ccs_sum **sums,
		      uint32_t *n, uint32_t *cap)
{
	do
		ARENA_PUSH(scratch, *sums, *n, *cap) = (struct ccs_sum){
			.cell = s->cell,
			.first = s->first,
			.n = s->n,
			.times = s->times,
			.last = s->last,
			.reduced = s->reduced,
		};
	while (!s++->last);
}

static void add_expected(struct builder *b, struct arena *scratch, struct ccs_plan *plan,
			 const struct program *p, const struct contract *k)
{
	struct alike alike = { .k = k, .arena = scratch };
	struct ccs_sum *sums = NULL;
	uint64_t n = (uint64_t)p->nranks * p->cells;
	uint32_t *rows = add_table(b, &plan->expect, n, sizeof(*rows)), nsums = 0, cap = 0;
	uint32_t *row_of = none_array(scratch, k->nshares); /* by share: its row of sums */

	for (uint64_t i = 0; i < n; i++) {
		uint32_t rank = (uint32_t)(i / p->cells), cell = (uint32_t)(i % p->cells);
		uint32_t asked = contract_row(k, rank, cell);
		uint32_t share = asked == NONE ? NONE : contract_alike(&alike, asked);
		if (share != NONE && row_of[share] == NONE) {
			row_of[share] = nsums;
			push_sums(scratch, k->shares + share, &sums, &nsums, &cap);
		}
		rows[i] = share == NONE ? CCS_NONE : row_of[share];
	}
	struct ccs_sum *to = add_table(b, &plan->sums, nsums, sizeof(*to));
	if (nsums)
		memcpy(to, sums, nsums * sizeof(*to));
}

/* Adds the number of each `sized` chunk's size; lowering copies these from the source program. */
static void add_sizes(struct builder *b, struct ccs_plan *plan, const struct program *p)
{
	uint64_t n = p->size_class ? (uint64_t)p->nranks * p->cells : 0;
	uint32_t *sizes = add_table(b, &plan->sizes, n, sizeof(*sizes));

	for (uint64_t i = 0; i < n; i++)
		sizes[i] = p->size_class[i] == NONE ? CCS_NONE : p->size_class[i];
}

static void add_after(struct builder *b, struct ccs_plan *plan, const struct contract *k)
{
	struct ccs_after *v = add_table(b, &plan->after, k->nafter, sizeof(*v));

	for (uint32_t i = 0; i < k->nafter; i++)
		v[i] = (struct ccs_after){ .rank = k->after[i].rank,
					   .first = k->after[i].first,
					   .n = k->after[i].n };
}

/* ---- one plan, and all ---------------------------------------------------------------------- */

static void add_facts(struct builder *b, struct arena *scratch, struct ccs_plan *plan,
		      const struct lowered *l, bool even)
{
	struct plan_view v = {
		.plan = plan,
		.shapes = rows_at(b, plan->shapes),
		.workers = rows_at(b, plan->workers),
		.ops = rows_at(b, plan->ops),
		.waits = rows_at(b, plan->waits),
		.fifos = rows_at(b, plan->fifos),
	};

	facts_fill(scratch, &b->room, &v, plan, rows_at(b, plan->workers), rows_at(b, plan->ops), l,
		   even);
}

static struct ccs_plan add_plan(struct builder *b, struct arena *scratch, const struct planned *in,
				bool even)
{
	const struct program *p = in->lowered->program;
	int64_t root = in->source->instance.root;
	struct ccs_plan plan = {
		.nranks = p->nranks,
		.cells = p->cells,
		.scratch = p->scratch,
		.root = root < 0 ? CCS_NONE : (uint32_t)root,
		.steps = in->steps,
	};
	struct ccs_shape *shapes = add_table(b, &plan.shapes, p->nbuffers, sizeof(*shapes));

	for (uint32_t i = 0; i < p->nbuffers; i++)
		shapes[i] = (struct ccs_shape){ .chunks = p->buffers[i].chunks,
						.blocks = p->buffers[i].blocks,
						.cell = p->buffers[i].cell };
	uint32_t **count = count_ops(scratch, p);
	add_workers(b, &plan, p, count);
	struct ccs_op *ops = add_table(b, &plan.ops, p->nops, sizeof(*ops));
	struct ccs_worker *workers = rows_at(b, plan.workers);
	uint64_t nwaits = fill_ops(ops, &plan, in, site_lines(b, scratch, p));
	fill_messages(ops, workers, in->lowered, count);
	add_waits(b, &plan, p, count, nwaits);
	add_fifos(b, &plan, p);
	add_expected(b, scratch, &plan, p, in->contract);
	struct ccs_choice *rows = add_table(b, &plan.choices, in->choices->n, sizeof(*rows));
	memcpy(rows, in->choices->rows, in->choices->n * sizeof(*rows));
	add_after(b, &plan, in->contract);
	add_sizes(b, &plan, p);
	add_facts(b, scratch, &plan, in->lowered, even);
	return plan;
}

static int compare_planned(const void *x, const void *y)
{
	const struct instance *a = &(*(const struct planned *const *)x)->source->instance;
	const struct instance *b = &(*(const struct planned *const *)y)->source->instance;

	if (a->nranks != b->nranks)
		return a->nranks < b->nranks ? -1 : 1;
	return a->root < b->root ? -1 : a->root > b->root;
}

/* Sorts the instances by N and root, and keeps one of equal ones. *n becomes their number. */
static const struct planned **sort_planned(struct arena *a, const struct planned *v, size_t *n)
{
	const struct planned **s = ARENA_ARRAY(a, const struct planned *, *n + 1);
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++)
		s[i] = &v[i];
	qsort(s, *n, sizeof(*s), compare_planned);
	for (size_t i = 0; i < *n; i++)
		if (kept == 0 || compare_planned(&s[kept - 1], &s[i]))
			s[kept++] = s[i];
	*n = kept;
	return s;
}

/* Adds an instance's needs: what one plan needs, the whole module has. add_plan needs the flags of
 * all instances. */
static void set_flags(struct ccs_module_head *h, const struct planned *v)
{
	if (v->contract->any_reduced)
		h->flags |= CCS_MODULE_REDUCES;
	if (v->contract->any_reduced && v->contract->any_single)
		h->flags |= CCS_MODULE_MIXED;
	if (v->lowered->proof.even_counts)
		h->flags |= CCS_MODULE_EVEN_COUNTS;
}

/* Writes the head, with the size of the whole block and the checksum of all bytes after that
 * field. */
static struct bytes complete(struct builder *b, struct ccs_module_head *h)
{
	size_t behind = offsetof(struct ccs_module_head, checksum) + sizeof(h->checksum);

	h->size = b->len;
	memcpy(b->data, h, sizeof(*h));
	h->checksum = hash_fnv1a(HASH_START, b->data + behind, b->len - behind);
	memcpy(b->data, h, sizeof(*h));
	return (struct bytes){ .data = b->data, .len = b->len };
}

struct bytes module_build(struct ctx *c, const struct module *m, const struct decl *schedule,
			  const struct planned *v, size_t n)
{
	struct builder b = { .arena = c->arena, .sources = c->sources, .module = m };
	const struct planned **sorted = sort_planned(c->scratch, v, &n);
	struct ccs_plan *plans = ARENA_ARRAY(c->scratch, struct ccs_plan, n);
	struct ccs_module_head h = { .abi = CCS_PLAN_ABI, .slots = c->slots };
	struct ccs_table head;

	memcpy(h.magic, CCS_PLAN_MAGIC, sizeof(h.magic));
	add_table(&b, &head, 1, sizeof(h));
	h.schedule = add_name(&b, schedule->name.name);
	h.contract = add_name(&b, schedule->contract_name.name);
	h.compiler = add_name(&b, CCS_VERSION);
	h.root_param = CCS_NONE;
	add_files(&b, &h);
	if (n) {
		add_params(&b, &h, schedule, sorted[0]->source);
		add_buffers(&b, &h, sorted[0]->source);
	}
	add_table(&b, &h.plans, n, sizeof(*plans));
	for (size_t i = 0; i < n; i++)
		set_flags(&h, sorted[i]);
	for (size_t i = 0; i < n; i++)
		plans[i] = add_plan(&b, c->scratch, sorted[i], h.flags & CCS_MODULE_EVEN_COUNTS);
	if (n)
		/* only now: add_plan may move the block */
		memcpy(b.data + h.plans.at, plans, n * sizeof(*plans));
	char *text = add_table(&b, &h.text, b.ntext, 1);
	memcpy(text, b.text, b.ntext);
	add_table(&b, &h.cuda, 0, 1);
	add_table(&b, &h.kernels, 0, sizeof(struct ccs_kernel));
	return complete(&b, &h);
}

/* Appends; of the bytes before only the head changes: size, checksum and two tables. */
void module_add_cuda(struct ctx *c, struct bytes *module, const char *source,
		     struct ccs_kernel *kernels, const struct bytes *cubins, size_t n)
{
	struct builder b = {
		.arena = c->arena, .data = module->data, .len = module->len, .cap = module->len
	};
	struct ccs_module_head h;
	size_t len = strlen(source) + 1;

	memcpy(&h, b.data, sizeof(h));
	memcpy(add_table(&b, &h.cuda, len, 1), source, len);
	for (size_t i = 0; i < n; i++)
		memcpy(add_table(&b, &kernels[i].cubin, cubins[i].len, 1), cubins[i].data,
		       cubins[i].len);
	struct ccs_kernel *rows = add_table(&b, &h.kernels, n, sizeof(*kernels));
	if (n)
		memcpy(rows, kernels, n * sizeof(*kernels));
	*module = complete(&b, &h);
}
