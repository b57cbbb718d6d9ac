/*
 * Runs the front end on an open document, to answer questions about a place in it.
 *
 * In: the document, and the texts of all other open documents. Out: its tree, the meanings of its
 * names (struct uses), and descriptions of them. All memory is from one arena with a limit; running
 * out of it jumps to the caller's setjmp. O(text of the file and of its imports).
 */
#include "compiler/lsp/server.h"
#include "lang/keywords.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void look_open(struct look *l, const struct server *s, const struct document *doc)
{
	memset(l, 0, sizeof(*l));
	l->server = s;
	l->doc = doc;
	l->budget.limit = LOOK_MEMORY;
	arena_init(&l->arena, &l->budget, &l->full);
	l->sources.arena = &l->arena;
	l->diags.arena = &l->arena;
	l->diags.sources = &l->sources;
	l->unsaved = documents_unsaved(&s->documents);
	l->front = (struct front){
		.arena = &l->arena,
		.sources = &l->sources,
		.diags = &l->diags,
		.unsaved = l->unsaved,
		.nunsaved = l->unsaved ? s->documents.n : 0,
		.uses = &l->uses,
	};
	s->compiler->prepare(s->compiler->self, &l->front);
}

void look_read(struct look *l, bool alone)
{
	l->front.only_main = alone;
	l->module = lang_load(&l->front, l->doc->path);
	if (l->module && !alone)
		lang_resolve(&l->front, l->module);
}

void look_free(struct look *l)
{
	free(l->unsaved);
	l->unsaved = NULL;
	arena_free(&l->arena);
}

/* ---- places -------------------------------------------------------------------------------- */

/* A byte order mark is not in the source. */
static size_t skipped(const struct look *l)
{
	return l->doc->n - l->module->main->source->len;
}

uint32_t look_at(const struct look *l, size_t offset)
{
	const struct source *src = l->module->main->source;

	return offset < skipped(l) ? 0 : src->base + (uint32_t)(offset - skipped(l));
}

/* Whether an offset is in a name; a cursor just after its last letter counts. */
static bool covers(struct span span, uint32_t at)
{
	return span.lo && span.lo <= at && at <= span.hi;
}

const struct use *look_use(const struct look *l, uint32_t at)
{
	const struct use *best = NULL;

	for (uint32_t i = 0; i < l->uses.n; i++) {
		const struct use *u = &l->uses.v[i];

		/* prefer a name that begins here to one that ends here */
		if (covers(u->span, at) && (!best || u->span.lo > best->span.lo))
			best = u;
	}
	return best;
}

const struct decl *look_import(const struct look *l, uint32_t at)
{
	for (const struct decl *d = l->module->main->decls; d; d = d->next)
		if (d->kind == D_IMPORT && covers(d->text_span, at))
			return d;
	return NULL;
}

const char *look_text(struct look *l, struct span span)
{
	const struct source *src = source_at(&l->sources, span.lo);

	return src ? arena_strndup(&l->arena, src->text + (span.lo - src->base), span.hi - span.lo)
		   : "";
}

/* ---- the description of a name --------------------------------------------------------------- */

enum { MOST_HEAD = 2000 }; /* bytes of a declaration that are shown */

/* The text of a declaration up to its body; the whole text of a contract. */
static const char *head(struct look *l, const struct decl *d)
{
	const struct source *src = d->source;
	const char *text = src->text + (d->span.lo - src->base);
	size_t n = d->span.hi - d->span.lo;
	const char *brace = d->kind == D_LET || d->kind == D_FN || d->kind == D_CONTRACT
				    ? NULL
				    : memchr(text, '{', n);

	n = brace ? (size_t)(brace - text) : n;
	while (n && strchr(" \t\r\n", text[n - 1]))
		n--;
	return arena_strndup(&l->arena, text, n < MOST_HEAD ? n : MOST_HEAD);
}

/* The begin of the line before the line that begins at `at`. */
static uint32_t line_before(const struct source *src, uint32_t at)
{
	if (at)
		at--;
	while (at && src->text[at - 1] != '\n')
		at--;
	return at;
}

/* The // lines right above a declaration, without their slashes. */
static const char *comment(struct look *l, const struct decl *d)
{
	const struct source *src = d->source;
	uint32_t at = d->span.lo - src->base;
	const char *text = "";

	while (at && src->text[at - 1] != '\n')
		at--;
	while (at && strlen(text) < MOST_HEAD) {
		uint32_t from = line_before(src, at), end = at - 1;
		const char *line = src->text + from;

		if (end < from + 2 || strncmp(line, "//", 2) != 0)
			break;
		line += 2 + (line[2] == ' ');
		text = arena_printf(&l->arena, "%.*s\n%s", (int)(src->text + end - line), line,
				    text);
		at = from;
	}
	return text;
}

static const char *describe_decl(struct look *l, const struct decl *d)
{
	return arena_printf(&l->arena, "```ccs\n%s\n```\n%s", head(l, d), comment(l, d));
}

/* The source of the value of a parameter of a schedule or topology. */
static const char *describe_param(struct look *l, const struct symbol *s)
{
	const struct decl *owner = s->owner;
	const struct server *server = l->server;
	const char *of = owner ? arena_printf(&l->arena, " of %s", owner->name.name) : "";
	int64_t value;

	if (owner && owner->kind == D_SCHEDULE &&
	    server->compiler->setting(server->compiler->self, s->name, &value))
		return arena_printf(&l->arena,
				    "```ccs\n%s = %" PRId64 "\n```\nparameter%s, set by -D",
				    s->name, value, of);
	for (const struct binding *b = owner ? owner->params : NULL; b; b = b->next)
		if (b->sym == s && b->value)
			return arena_printf(&l->arena,
					    "```ccs\n%s = %s\n```\nparameter%s with its default",
					    s->name, look_text(l, b->value->span), of);
	return arena_printf(&l->arena, "```ccs\n%s\n```\nparameter%s: a number", s->name, of);
}

static const char *describe_buffer(struct look *l, const struct buffer_def *b)
{
	const char *chunks = b->count ? look_text(l, b->count->span) : "1";
	const char *shape = b->blocks ? arena_printf(&l->arena, "%s blocks of %s chunks each",
						     look_text(l, b->blocks->span), chunks)
				      : arena_printf(&l->arena, "%s chunks", chunks);
	const char *layout = b->by_column ? ", by column: a chunk is a group of adjacent columns"
			     : b->sized	  ? ", each chunk with its own size"
					  : "";

	return arena_printf(&l->arena, "```ccs\n%s\n```\n%s: %s%s", look_text(l, b->span),
			    b->dir == DIR_VIEW	    ? "chunks passed to this proc"
			    : b->dir == DIR_SCRATCH ? "scratch of this rank"
						    : "buffer",
			    shape, layout);
}

static const char *describe_value(struct look *l, const struct symbol *s)
{
	struct span fn = { s->span.lo, s->fn && s->fn->body ? s->fn->body->span.hi : s->span.hi };

	switch (s->kind) {
	case SYM_LET:
		return arena_printf(&l->arena, "```ccs\nlet %s = %s\n```", s->name,
				    s->value ? look_text(l, s->value->span) : "");
	case SYM_FN: return arena_printf(&l->arena, "```ccs\nfn %s\n```", look_text(l, fn));
	case SYM_LOOP: return arena_printf(&l->arena, "`%s`: the variable of a loop", s->name);
	case SYM_PARAM: return describe_param(l, s);
	case SYM_BUFFER: return describe_buffer(l, s->buffer);
	case SYM_COUNT:
		return arena_printf(&l->arena, "`%s`: a count; the schedule gives its value",
				    s->name);
	case SYM_SWITCH:
		return arena_printf(&l->arena, "`%s`: %s of a topology: %s messages", s->name,
				    s->value ? "switches" : "a switch",
				    s->value ? "they carry" : "it carries");
	case SYM_INDEX: return arena_printf(&l->arena, "`%s`: every index of the buffer", s->name);
	}
	return "";
}

const char *look_describe(struct look *l, const struct use *u)
{
	if (u->decl && (!u->sym || u->decl->kind == D_LET || u->decl->kind == D_FN))
		return describe_decl(l, u->decl);
	return u->sym ? describe_value(l, u->sym) : "";
}
