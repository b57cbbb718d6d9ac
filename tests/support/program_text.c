/*
 * The text of programs, run: see program_text.h.
 *
 * FIFOs are without end here: a program that comes to its end with some depth does so
 * with any greater one, and with the same values.
 */
#include "tests/support/program_text.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 16, NAME = 64, LINE = 512 };
enum kind { SEND, RECV, REDUCE_FROM, COPY, REDUCE_INTO, FRESH, WAIT };

struct value {
	uint64_t sum;
	bool known;
};

struct row {
	enum kind kind;
	int x, n, y; /* cells; y: of a local operation */
	int peer, channel;
	int task, rows; /* WAIT */
	bool joined;
};

struct task {
	int rank;
	char path[NAME]; /* of par blocks, "" for the main line */
	struct row *rows;
	int nrows, caprows, next;
	bool started;
};

struct message {
	int src, dst, channel, n;
	char path[NAME];
	struct value *v;
	bool taken;
};

struct run {
	FILE *f;
	char line[LINE];
	bool again; /* the line is still to be read */
	struct sim_failure *why;
	int nranks, cells, width, nbuffers;
	struct {
		char name[NAME];
		int first;
	} buffers[BUFFERS];
	struct task *tasks;
	int ntasks;
	struct message *messages;
	int nmessages, capmessages;
	struct value *state;
};

static void *grown(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		abort();
	return p;
}

static bool fail(struct run *r, const char *what)
{
	snprintf(r->why->text, sizeof(r->why->text), "%s: %.120s", what, r->line);
	return false;
}

static bool next_line(struct run *r)
{
	if (r->again)
		r->again = false;
	else if (!fgets(r->line, sizeof(r->line), r->f))
		return false;
	r->line[strcspn(r->line, "\n")] = 0;
	return true;
}

/* ---- reading --------------------------------------------------------------------------- */

static int task_at(struct run *r, int rank, const char *path)
{
	for (int t = 0; t < r->ntasks; t++)
		if (r->tasks[t].rank == rank && !strcmp(r->tasks[t].path, path))
			return t;
	r->tasks = grown(r->tasks, (size_t)(r->ntasks + 1) * sizeof(*r->tasks));
	r->tasks[r->ntasks] = (struct task){ .rank = rank };
	snprintf(r->tasks[r->ntasks].path, NAME, "%s", path);
	return r->ntasks++;
}

/* "d[2]", "d[2..4]"; true, and `at` behind it. */
static bool read_cells(const struct run *r, const char **at, int *cell, int *n)
{
	char name[NAME];
	int lo, hi, used = 0;

	if (sscanf(*at, " %63[A-Za-z0-9_][%d%n", name, &lo, &used) != 2)
		return false;
	*at += used;
	hi = lo + 1;
	if (**at == '.') {
		if (sscanf(*at, "..%d%n", &hi, &used) != 1)
			return false;
		*at += used;
	}
	if (**at != ']')
		return false;
	++*at;
	*n = hi - lo;
	for (int b = 0; b < r->nbuffers; b++)
		if (!strcmp(r->buffers[b].name, name)) {
			*cell = r->buffers[b].first + lo;
			return *cell >= 0 && *cell + *n <= r->width;
		}
	return *n == 0; /* the name of nothing may be any */
}

static bool read_peer(const char *at, const char *word, struct row *o)
{
	char found[NAME];

	o->channel = 0;
	return sscanf(at, " %63s %d (channel %d)", found, &o->peer, &o->channel) >= 2 &&
	       !strcmp(found, word);
}

/* "rank 0" or "rank 0, block 1.0"; true, and `at` behind it. */
static bool read_task(struct run *r, const char **at, int *task)
{
	char path[NAME] = "";
	int rank, used = 0;

	if (sscanf(*at, " rank %d%n", &rank, &used) != 1)
		return false;
	*at += used;
	if (sscanf(*at, ", block %63[0-9.]%n", path, &used) == 1)
		*at += used;
	*task = task_at(r, rank, path);
	return true;
}

static bool read_operation(struct run *r, const char *word, const char *at, struct row *o)
{
	static const char *const words[] = {
		"send", "recv", "reduce", "copy", "", "fresh", "wait"
	};
	int k = SEND;

	while (k <= WAIT && strcmp(words[k], word))
		k++;
	o->kind = (enum kind)k;
	if (o->kind == WAIT) {
		at = strstr(at, "for ");
		return at && (at += 3, read_task(r, &at, &o->task)) &&
		       sscanf(at, ", operation %d", &o->rows) == 1;
	}
	if (k > WAIT || !read_cells(r, &at, &o->x, &o->n))
		return false;
	if (o->kind == SEND)
		return read_peer(at, "to", o);
	if (o->kind == FRESH || read_peer(at, "from", o))
		return true;
	if (o->kind == REDUCE_FROM)
		o->kind = REDUCE_INTO;
	return !strncmp(at, " into ", 6) && (at += 6, read_cells(r, &at, &o->y, &o->n));
}

/* One line of a task: perhaps a number, perhaps a place, an operation. */
static bool read_row(struct run *r, int task)
{
	struct task *t;
	const char *at = r->line + strspn(r->line, " ");
	struct row o = { .joined = true };
	int used = 0, number;
	char word[NAME];

	if (sscanf(at, "%d%n", &number, &used) == 1) {
		at += used;
		o.joined = false;
	}
	used = 0;
	if (sscanf(at, " line %d%n", &number, &used) == 1)
		at += used;
	if (sscanf(at, " %63s%n", word, &used) != 1)
		return fail(r, "no operation");
	at += used;
	if (!read_operation(r, word, at, &o))
		return fail(r, "no operation");
	if (o.kind == FRESH || o.kind == WAIT)
		o.joined = false;
	t = &r->tasks[task]; /* which a wait may have moved */
	if (t->nrows == t->caprows) {
		t->caprows = t->caprows ? 2 * t->caprows : 64;
		t->rows = grown(t->rows, (size_t)t->caprows * sizeof(*t->rows));
	}
	t->rows[t->nrows++] = o;
	return true;
}

/* Up to the next program, or the end of the text. */
static bool read_tasks(struct run *r)
{
	while (next_line(r)) {
		const char *at = r->line;
		bool more;
		int task;

		if (!r->line[0])
			continue;
		if (!strncmp(r->line, "program ", 8)) {
			r->again = true;
			break;
		}
		if (!read_task(r, &at, &task) || *at)
			return fail(r, "no task");
		while ((more = next_line(r)) && r->line[0] == ' ')
			if (!read_row(r, task))
				return false;
		r->again = more;
	}
	return true;
}

static bool read_program(struct run *r)
{
	int blocks, chunks;
	char name[NAME], *n;

	do
		if (!next_line(r)) {
			r->why->text[0] = 0;
			return false;
		}
	while (strncmp(r->line, "program ", 8) != 0);
	n = strstr(r->line, "N = ");
	if (!n)
		return fail(r, "no N");
	r->nranks = atoi(n + 4);
	while (next_line(r) && r->line[0]) {
		if (!strncmp(r->line, "implements ", 11))
			continue;
		if (r->nbuffers == BUFFERS)
			return fail(r, "too many buffers");
		if (sscanf(r->line, "%63[A-Za-z0-9_]: %d block%*[s] of %d", name, &blocks,
			   &chunks) != 3 &&
		    sscanf(r->line, "%63[A-Za-z0-9_]: %d block of %d", name, &blocks, &chunks) !=
			    3) {
			if (sscanf(r->line, "%63[A-Za-z0-9_]: %d", name, &chunks) != 2)
				return fail(r, "no buffer");
			blocks = 1;
		}
		snprintf(r->buffers[r->nbuffers].name, NAME, "%s", name);
		r->buffers[r->nbuffers++].first = r->width;
		if (strcmp(name, "scratch"))
			r->cells += blocks * chunks;
		r->width += blocks * chunks;
	}
	return read_tasks(r);
}

/* ---- running ----------------------------------------------------------------------------- */

static struct value *cell(struct run *r, int rank, int i)
{
	return &r->state[rank * r->width + i];
}

static struct message *arrived(struct run *r, const struct task *t, const struct row *o, int skip)
{
	for (int i = 0; i < r->nmessages; i++) {
		struct message *m = &r->messages[i];
		if (!m->taken && m->src == o->peer && m->dst == t->rank &&
		    m->channel == o->channel && !strcmp(m->path, t->path) && skip-- == 0)
			return m;
	}
	return NULL;
}

static void post(struct run *r, const struct task *t, const struct row *o)
{
	struct message m = { .src = t->rank, .dst = o->peer, .channel = o->channel, .n = o->n };

	snprintf(m.path, NAME, "%s", t->path);
	m.v = grown(NULL, ((size_t)o->n + 1) * sizeof(*m.v));
	for (int i = 0; i < o->n; i++)
		m.v[i] = *cell(r, t->rank, o->x + i);
	if (r->nmessages == r->capmessages) {
		r->capmessages = r->capmessages ? 2 * r->capmessages : 64;
		r->messages = grown(r->messages, (size_t)r->capmessages * sizeof(*r->messages));
	}
	r->messages[r->nmessages++] = m;
}

static bool receives(const struct row *o)
{
	return o->kind == RECV || o->kind == REDUCE_FROM;
}

/* Whether the k-th receive of the wave on its FIFO has a message. */
static bool can_finish(struct run *r, const struct task *t, int end)
{
	for (int i = t->next; i < end; i++) {
		const struct row *o = &t->rows[i];
		int before = 0;

		if (o->kind == WAIT && r->tasks[o->task].next < o->rows)
			return false;
		if (!receives(o))
			continue;
		for (int k = t->next; k < i; k++)
			before += receives(&t->rows[k]) && t->rows[k].peer == o->peer &&
				  t->rows[k].channel == o->channel;
		if (!arrived(r, t, o, before))
			return false;
	}
	return true;
}

static void add(struct value *a, struct value b)
{
	a->sum += b.sum;
	a->known = a->known && b.known;
}

static void do_row(struct run *r, const struct task *t, const struct row *o)
{
	struct value *v = grown(NULL, ((size_t)o->n + 1) * sizeof(*v));
	struct message *m = receives(o) ? arrived(r, t, o, 0) : NULL;

	for (int i = 0; i < o->n; i++)
		v[i] = m ? m->v[i] : *cell(r, t->rank, o->x + i);
	for (int i = 0; i < o->n; i++) {
		struct value *to = cell(r, t->rank, (m ? o->x : o->y) + i);

		if (o->kind == RECV || o->kind == COPY)
			*to = v[i];
		else if (o->kind == REDUCE_FROM || o->kind == REDUCE_INTO)
			add(to, v[i]);
		else if (o->kind == FRESH)
			cell(r, t->rank, o->x + i)->known = false;
	}
	if (m)
		m->taken = true;
	free(v);
}

/* True if the task has gone on. */
static bool advance(struct run *r, struct task *t)
{
	int end = t->next + 1;

	if (t->next == t->nrows)
		return false;
	while (end < t->nrows && t->rows[end].joined)
		end++;
	if (!t->started)
		for (int i = t->next; i < end; i++)
			if (t->rows[i].kind == SEND)
				post(r, t, &t->rows[i]);
	t->started = true;
	if (!can_finish(r, t, end))
		return false;
	for (int i = t->next; i < end; i++)
		if (t->rows[i].kind != SEND && t->rows[i].kind != WAIT)
			do_row(r, t, &t->rows[i]);
	t->next = end;
	t->started = false;
	return true;
}

static bool run(struct run *r)
{
	bool moved = true;

	r->state = grown(NULL, ((size_t)(r->nranks * r->width) + 1) * sizeof(*r->state));
	for (int q = 0; q < r->nranks; q++)
		for (int i = 0; i < r->width; i++)
			*cell(r, q, i) = (struct value){ sim_weight(q, i), i < r->cells };
	while (moved) {
		moved = false;
		for (int t = 0; t < r->ntasks; t++)
			while (advance(r, &r->tasks[t]))
				moved = true;
	}
	for (int t = 0; t < r->ntasks; t++)
		if (r->tasks[t].next < r->tasks[t].nrows)
			return fail(r, "the program does not come to its end");
	for (int i = 0; i < r->nmessages; i++)
		if (!r->messages[i].taken)
			return fail(r, "a message is left over");
	return true;
}

static void result(const struct run *r, struct text_program *p)
{
	size_t n = (size_t)(r->nranks * r->cells);

	*p = (struct text_program){ .nranks = r->nranks, .cells = r->cells };
	p->sum = grown(NULL, (n + 1) * sizeof(*p->sum));
	p->known = grown(NULL, (n + 1) * sizeof(*p->known));
	for (int q = 0; q < r->nranks; q++)
		for (int i = 0; i < r->cells; i++) {
			p->sum[q * r->cells + i] = r->state[q * r->width + i].sum;
			p->known[q * r->cells + i] = r->state[q * r->width + i].known;
		}
}

bool text_program_next(FILE *f, struct text_program *p, struct sim_failure *why)
{
	struct run r = { .f = f, .why = why };
	bool good = read_program(&r) && run(&r);

	if (good)
		result(&r, p);
	if (r.again) /* the head of the next program is read again */
		fseek(f, -(long)strlen(r.line) - 1, SEEK_CUR);
	for (int t = 0; t < r.ntasks; t++)
		free(r.tasks[t].rows);
	for (int i = 0; i < r.nmessages; i++)
		free(r.messages[i].v);
	free(r.tasks);
	free(r.messages);
	free(r.state);
	return good;
}

void text_program_free(struct text_program *p)
{
	free(p->sum);
	free(p->known);
	*p = (struct text_program){ 0 };
}
