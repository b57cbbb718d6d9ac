/*
 * `ccc lsp`: the table of functions with which the language server (lsp/) makes checks and
 * pictures.
 *
 * In: the command line, and the options that the client sends at its start, which are read after
 * it. A check is a `ccc check`, and a picture a `ccc explain`, with the open texts in place of
 * files; each may use 1 GiB, unless --memory is given.
 */
#include "compiler/editor.h"
#include "compiler/lsp/lsp.h"
#include "compiler/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_MEMORY ((uint64_t)1 << 30)

struct editor {
	const struct command *started; /* of the command line */
	struct command *sent;	       /* with the client's texts; or NULL */
	int argc;
	char **argv;
	char **words; /* the arguments of `sent` */
	size_t nwords;
};

static const struct options *options_of(const struct editor *e)
{
	return e->sent ? &e->sent->options : &e->started->options;
}

static void free_sent(struct editor *e)
{
	if (e->sent)
		options_free(e->sent);
	free(e->sent);
	for (size_t i = 0; i < e->nwords; i++)
		free(e->words[i]);
	free(e->words);
	e->sent = NULL;
	e->words = NULL;
	e->nwords = 0;
}

/* Copies the command line with the client's options after it; options point into the copy. */
static bool copy_words(struct editor *e, const char *const *arguments, size_t n)
{
	size_t first = (size_t)e->argc;
	bool ok;

	e->words = calloc(first + n + 1, sizeof(*e->words));
	ok = e->words != NULL;
	for (; ok && e->nwords < first + n; e->nwords++) {
		size_t i = e->nwords;

		e->words[i] = strdup(i < first ? e->argv[i] : arguments[i - first]);
		ok = e->words[i] != NULL;
	}
	return ok;
}

static bool read_sent(struct editor *e, const char *const *arguments, size_t n)
{
	struct command *c = calloc(1, sizeof(*c));

	if (!c || !copy_words(e, arguments, n)) {
		free(c);
		return false;
	}
	e->sent = c;
	return options_parse(c, (int)e->nwords, e->words) < 0 &&
	       c->options.action == ACTION_SERVE && !c->help && !c->version && !c->list_options &&
	       !c->explain_code;
}

static bool configure(void *self, const char *const *arguments, size_t n)
{
	struct editor *e = self;

	free_sent(e);
	if (read_sent(e, arguments, n))
		return true;
	free_sent(e);
	return false;
}

static void prepare(void *self, struct front *f)
{
	const struct options *o = options_of(self);

	f->include_dirs = o->include_dirs;
	f->installed_dir = o->installed_dir;
	f->diags->warn = o->warn;
}

static bool setting(void *self, const char *name, int64_t *value)
{
	const struct options *o = options_of(self);

	for (size_t i = o->nsettings; i-- > 0;)
		if (o->settings[i].name && !strcmp(o->settings[i].name, name)) {
			*value = o->settings[i].value;
			return true;
		}
	return false;
}

/* Runs a compilation with the options `o`, in which the action is set. */
static void collect(struct options *o, const struct lsp_check *what)
{
	const struct collector to = { what->take, what->said, what->made, what->arg };

	o->file = what->path;
	o->unsaved = what->unsaved;
	o->nunsaved = what->nunsaved;
	if (!o->memory)
		o->memory = CHECK_MEMORY;
	session_collect(o, &to);
}

static void check(void *self, const struct lsp_check *what)
{
	struct options o = *options_of(self);

	o.action = ACTION_CHECK;
	collect(&o, what);
}

/* Chooses one N: the picture's; else 4 or the last N of the check; else the choice of `ccc
 * explain`. */
static size_t choose_ranks(const struct numbers *checked, uint32_t *nranks)
{
	for (size_t i = 0; !*nranks && i < checked->n; i++)
		if (checked->v[i] == 4 || i + 1 == checked->n)
			*nranks = checked->v[i];
	return *nranks != 0;
}

static void draw(void *self, const struct lsp_check *what, const struct lsp_picture *p)
{
	struct options o = *options_of(self);
	uint32_t nranks = p->nranks;
	struct setting *settings = calloc(o.nsettings + 1, sizeof(*settings));

	if (!settings)
		return;
	if (o.nsettings)
		memcpy(settings, o.settings, o.nsettings * sizeof(*settings));
	o.settings = settings;
	if (p->root >= 0)
		settings[o.nsettings++] = (struct setting){ .value = p->root };
	o.action = ACTION_EXPLAIN;
	o.schedule = p->schedule;
	o.require = 0;
	o.ranks.n = choose_ranks(&o.ranks, &nranks);
	o.ranks.v = &nranks;
	o.view = (struct shown){ .format = p->html ? FORMAT_HTML : FORMAT_SVG };
	collect(&o, what);
	free(settings);
}

int editor_serve(const struct command *c, int argc, char **argv)
{
	struct editor e = { .started = c, .argc = argc, .argv = argv };
	const struct lsp_compiler compiler = {
		.self = &e,
		.configure = configure,
		.prepare = prepare,
		.setting = setting,
		.check = check,
		.draw = draw,
	};
	int status = lsp_serve(&compiler, STDIN_FILENO, stdout);

	free_sent(&e);
	return status;
}
