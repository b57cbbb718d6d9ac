/*
 * Shared by all formats of diagnostics: the word for a severity, and all notes of a diagnostic.
 */
#include "lang/diag/diag_print.h"

#include <string.h>

const char *diag_severity_name(enum severity s)
{
	return s == SEV_ERROR ? "error" : s == SEV_WARNING ? "warning" : "note";
}

struct diag_notes diag_all_notes(struct diags *d, const struct diag *g)
{
	const struct diag_calls *c = &g->calls;
	struct diag_notes all = { 0 };

	for (uint32_t i = 0; i < diag_calls_kept(c); i++) {
		const char *times =
			c->v[i].times == 1
				? ""
				: arena_printf(d->arena, ", %u times in itself", c->v[i].times);
		if (c->n > DIAG_CALLS && i == DIAG_CALLS - DIAG_CALLS_FAR)
			ARENA_PUSH(d->arena, all.v, all.n, all.cap) = (struct diag_note){
				.text = arena_printf(d->arena, "%u more call%s between these",
						     c->n - DIAG_CALLS,
						     c->n - DIAG_CALLS == 1 ? "" : "s")
			};
		ARENA_PUSH(d->arena, all.v, all.n, all.cap) =
			(struct diag_note){ .span = c->v[i].span,
					    .text = arena_printf(d->arena, "in %s, called here%s",
								 c->v[i].name, times) };
	}
	for (uint32_t i = 0; i < g->notes.n; i++)
		ARENA_PUSH(d->arena, all.v, all.n, all.cap) = g->notes.v[i];
	return all;
}

size_t diag_utf8(const char *s, size_t n, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)s[0];
	size_t len;

	if (first < 0x80) {
		*c = first;
		return 1;
	}
	len = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	if (first < 0xc0 || first >= 0xf8 || len > n)
		return 0;
	*c = first & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		unsigned char b = (unsigned char)s[i];
		if ((b & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (b & 0x3f);
	}
	if (*c < least[len] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000))
		return 0;
	return len;
}
