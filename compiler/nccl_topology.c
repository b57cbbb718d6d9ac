/*
 * A topology of NCCL (topo/topo.h): `ccc check` of it, and `ccc --emit=ccs`, its text as a topology of the
 * schedule language, in canonical form.
 */
#include "compiler/topo/topo.h"
#include "compiler/session.h"
#include "compiler/xml/xml.h"

#include <string.h>

static struct topo *topology(struct session *s, struct source *source)
{
	struct topo *t = topo_read(&s->ctx, source);
	const char *base = strrchr(source->name, '/');
	size_t n;

	if (!t)
		return NULL;
	base = base ? base + 1 : source->name;
	n = strlen(base);
	base = arena_strndup(&s->arena, base, n > 4 ? n - 4 : n);
	t->name = xml_identifier(&s->arena, "topology_", base);
	topo_fold(&s->ctx, t);
	return t;
}

const char *topology_text(struct session *s, struct source *source, const char **name)
{
	struct topo *t = topology(s, source);
	const char *text = t ? topo_text(&s->ctx, t) : NULL;

	arena_free(&s->scratch);
	*name = t ? t->name : NULL;
	return text;
}

static void print_text(struct session *s, const char *text)
{
	struct diags none = { .arena = &s->arena, .sources = &s->sources };
	struct front f = {
		.arena = &s->arena, .sources = &s->sources, .diags = &none, .only_main = true
	};
	size_t n;

	s->module = lang_load_text(&f, "topology", text, strlen(text));
	if (!s->module || none.errors) /* the sources exceed the space of offsets */
		arena_fail(&s->arena);
	text = lang_format(&f, s->module->main, &n);
	fwrite(text, 1, n, s->out.stream);
}

void run_topology(struct session *s, struct source *source)
{
	const struct options *o = s->o;
	bool fits =
		o->action == ACTION_CHECK || (o->action == ACTION_COMPILE && o->emit == EMIT_CCS);
	const char *why =
		!fits ? "can be checked, written with --emit=ccs, and simulated on, nothing else"
		: o->ranks_given || o->nsettings || o->schedule || o->certificate
			? "is no schedule, so it takes no -n, -D, --root, --schedule, --certificate"
			: NULL;
	const char *name, *text;

	if (why) {
		session_refuse(s, "%s: a topology of NCCL %s", o->file, why);
		return;
	}
	if (!session_can_write(s))
		return;
	text = topology_text(s, source, &name);
	if (text && !s->diags.errors && o->action == ACTION_COMPILE)
		print_text(s, text);
}
