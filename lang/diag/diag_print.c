/*
 * Prints diagnostics as text; also their order and number, for every format.
 *
 * In: the diagnostics that diag_add collected. Out: these, sorted by pass, then by place, up to the
 * cap, each with its source line and the place underlined. Texts come from files and command lines,
 * so control characters, which a terminal might obey, and bytes that are not UTF-8 are escaped. Of
 * a long line only the part around the place is shown, so a diagnostic costs O(1).
 */
#include "lang/diag/diag_print.h"

#include <stdlib.h>
#include <string.h>

#define LINE_MAX_SHOWN 120u /* bytes; a longer line is cut ... */
#define LINE_BEFORE 40u	    /* ... to this many before the place */
#define TAB 8u

/* ---- bytes that may be anything ------------------------------------------------ */

/* Whether it is a control character, or changes the direction of the text. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 ||
	       (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* Writes an escape for a character of `len` bytes, or for an invalid byte, to `to`; returns its
 * length. */
static size_t escape(const char *s, size_t len, uint32_t c, char *to)
{
	if (len && c >= 0x80)
		return (size_t)sprintf(to, "<U+%04X>", (unsigned)c);
	return (size_t)sprintf(to, "\\x%02x", (unsigned)(unsigned char)s[0]);
}

/* Writes one character of s, escaped if necessary, and returns its length in s; adds its columns to
 * *width. out == NULL: only counts. */
static size_t put_char(const char *s, size_t n, size_t *width, FILE *out)
{
	char text[16];
	uint32_t c = 0;
	size_t len = diag_utf8(s, n, &c);

	if (len && !is_control(c)) {
		if (out)
			fwrite(s, 1, len, out);
		*width += 1;
		return len;
	}
	if (c == '\t' && len) {
		size_t fill = TAB - *width % TAB;
		if (out)
			fprintf(out, "%*s", (int)fill, "");
		*width += fill;
		return len;
	}
	*width += escape(s, len, c, text);
	if (out)
		fputs(text, out);
	return len ? len : 1;
}

const char *diag_shown_text(struct arena *a, const char *s)
{
	size_t n = strlen(s), len;
	char *text = arena_alloc(a, 4 * n + 1), *to = text;
	uint32_t c = 0;

	for (size_t i = 0; i < n; i += len ? len : 1) {
		len = diag_utf8(s + i, n - i, &c);
		if (len && (!is_control(c) || c == '\t' || c == '\n'))
			to = mempcpy(to, s + i, len);
		else
			to += escape(s + i, len, c, to);
	}
	*to = '\0';
	return text;
}

/* A message; its lines after the first are indented. */
static void put_text(const char *s, FILE *out)
{
	size_t n = strlen(s), width = 0;

	for (size_t i = 0; i < n;) {
		if (s[i] == '\n') {
			fputs("\n        ", out);
			i++;
			continue;
		}
		i += put_char(s + i, n - i, &width, out);
	}
}

/* ---- text -------------------------------------------------------------------------- */

struct printer {
	struct diags *d;
	FILE *out;
	int color;
};

static const char *paint(const struct printer *p, const char *color)
{
	return p->color ? color : "";
}

#define BOLD "\033[1m"
#define RED "\033[1;31m"
#define MAGENTA "\033[1;35m"
#define CYAN "\033[1;36m"
#define GREEN "\033[32m"
#define BLUE "\033[34m"
#define PLAIN "\033[0m"

static const char *severity_color(enum severity s)
{
	return s == SEV_ERROR ? RED : s == SEV_WARNING ? MAGENTA : CYAN;
}

/* The margin of lines without a number. */
static void put_margin(const struct printer *p, char sign)
{
	fprintf(p->out, "%s      %c%s ", paint(p, BLUE), sign, paint(p, PLAIN));
}

/* First byte of the character that byte `at` belongs to. */
static uint32_t char_start(const char *text, uint32_t at)
{
	for (int i = 0; i < 3 && at && ((unsigned char)text[at] & 0xc0) == 0x80; i++)
		at--;
	return at;
}

/* The source line with its number, and below it `span` underlined. */
static void print_excerpt(const struct printer *p, struct span span, const char *color)
{
	struct place place = source_place(p->d->sources, span.lo);
	uint32_t len, at, end, from = 0, to;
	size_t width = 0, indent = 0;
	const char *line;

	if (!place.source)
		return;
	line = source_line(place.source, place.line, &len);
	at = place.column - 1 < len ? place.column - 1 : len;
	end = span.hi > span.lo ? at + (span.hi - span.lo) : at;
	if (end > len || end < at)
		end = len;
	while (end > at && (line[end - 1] == ' ' || line[end - 1] == '\t'))
		end--;
	to = len;
	if (len > LINE_MAX_SHOWN) {
		if (at > LINE_BEFORE)
			from = char_start(line, at - LINE_BEFORE);
		if (len - from > LINE_MAX_SHOWN)
			to = char_start(line, from + LINE_MAX_SHOWN);
	}
	if (end > to)
		end = to;

	fprintf(p->out, "%s%5u |%s %s", paint(p, BLUE), place.line, paint(p, PLAIN),
		from ? "..." : "");
	for (uint32_t i = from; i < to;)
		i += (uint32_t)put_char(line + i, to - i, &width, p->out);
	fputs(to < len ? "...\n" : "\n", p->out);
	put_margin(p, '|');
	fputs(from ? "   " : "", p->out);
	for (uint32_t i = from; i < at;)
		i += (uint32_t)put_char(line + i, to - i, &indent, NULL);
	width = indent;
	for (uint32_t i = at; i < end;)
		i += (uint32_t)put_char(line + i, to - i, &width, NULL);
	fprintf(p->out, "%*s%s^", (int)indent, "", paint(p, color));
	for (size_t i = indent + 1; i < width; i++)
		putc('~', p->out);
	fprintf(p->out, "%s\n", paint(p, PLAIN));
}

/* Prints the fix below the place; not for a long line, or several lines. */
static void print_fix(const struct printer *p, const struct diag *g)
{
	const char *text = g->fix.text, *line;
	size_t length = text ? strlen(text) : 0, width = 0, indent = 0;
	struct place at, place;
	uint32_t len;

	while (length && text[length - 1] == ' ')
		length--;
	if (!length || strchr(text, '\n'))
		return;
	at = source_place(p->d->sources, g->span.lo);
	place = source_place(p->d->sources, g->fix.span.lo);
	if (place.source != at.source || place.line != at.line)
		return;
	line = source_line(place.source, place.line, &len);
	if (len > LINE_MAX_SHOWN || place.column - 1 > len)
		return;
	for (uint32_t i = 0; i < place.column - 1;)
		i += (uint32_t)put_char(line + i, len - i, &indent, NULL);
	put_margin(p, '|');
	fprintf(p->out, "%*s%s", (int)indent, "", paint(p, GREEN));
	for (size_t i = 0; i < length;)
		i += put_char(text + i, length - i, &width, p->out);
	fprintf(p->out, "%s\n", paint(p, PLAIN));
}

/* "file:line:col: error: ", or "ccc: error: " without a place. */
static bool print_head(const struct printer *p, struct span span, enum severity sev)
{
	struct place place = source_place(p->d->sources, span.lo);

	fputs(paint(p, BOLD), p->out);
	if (place.source) {
		put_text(place.source->name, p->out);
		fprintf(p->out, ":%u:%u: ", place.line, place.column);
	} else {
		fputs("ccc: ", p->out);
	}
	fprintf(p->out, "%s%s%s:%s ", paint(p, PLAIN), paint(p, severity_color(sev)),
		diag_severity_name(sev), paint(p, PLAIN));
	return place.source != NULL;
}

/* Whether the message names the first rank already. */
static bool names_rank(const char *message, int64_t rank)
{
	char text[32];
	size_t n = (size_t)snprintf(text, sizeof(text), "rank %lld", (long long)rank);

	for (const char *s = strstr(message, text); s; s = strstr(s + 1, text))
		if (s[n] < '0' || s[n] > '9')
			return true;
	return false;
}

/* Prints the ranks for which it is true: all, or all but the one in the message. */
static void print_ranks(const struct printer *p, const struct diag *g)
{
	int64_t *ranks = ARENA_ARRAY(p->d->arena, int64_t, g->nranks);
	bool named = g->nranks && names_rank(g->message, g->rank);
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->nranks; i++)
		if (!named || g->ranks[i] != g->rank)
			ranks[n++] = g->ranks[i];
	if (!n)
		return;
	put_margin(p, '=');
	fprintf(p->out, "%s rank%s %s\n", named ? "the same for" : "on", n > 1 ? "s" : "",
		diag_ranks(p->d->arena, ranks, n));
}

/* " [E0304]", or " [W0201, -Wunused]" */
static void print_code(const struct printer *p, const struct diag *g, const char *color)
{
	const struct diag_code *row = diag_code(g->code);

	if (!g->code)
		return;
	fprintf(p->out, " %s[%s", paint(p, color), diag_code_text(g->code).s);
	if (row && row->name)
		fprintf(p->out, ", -W%s%s", g->severity == SEV_ERROR ? "error=" : "", row->name);
	fprintf(p->out, "]%s", paint(p, PLAIN));
}

static void print_line(const struct printer *p, const char *what, const char *text)
{
	put_margin(p, '=');
	fprintf(p->out, "%s%s:%s ", paint(p, CYAN), what, paint(p, PLAIN));
	put_text(text, p->out);
	putc('\n', p->out);
}

static void print_text(const struct printer *p, const struct diag *g)
{
	const struct diag_notes notes = diag_all_notes(p->d, g);
	const char *color = severity_color(g->severity);
	bool placed = print_head(p, g->span, g->severity);

	fputs(paint(p, BOLD), p->out);
	put_text(g->message, p->out);
	if (g->where) {
		fputs(" (", p->out);
		put_text(g->where, p->out);
		putc(')', p->out);
	}
	fputs(paint(p, PLAIN), p->out);
	print_code(p, g, color);
	putc('\n', p->out);
	if (placed)
		print_excerpt(p, g->span, color);
	if (placed)
		print_fix(p, g);
	print_ranks(p, g);
	for (uint32_t i = 0; i < notes.n; i++) {
		const struct diag_note *note = &notes.v[i];
		if (note->span.lo && print_head(p, note->span, SEV_NOTE)) {
			put_text(note->text, p->out);
			putc('\n', p->out);
			print_excerpt(p, note->span, CYAN);
			continue;
		}
		print_line(p, "note", note->text);
	}
	for (uint32_t i = 0; i < g->help.n; i++)
		print_line(p, "help", g->help.v[i].text);
}

/* ---- all of them ------------------------------------------------------------------------- */

static int compare(const void *pa, const void *pb)
{
	const struct diag *a = *(struct diag *const *)pa, *b = *(struct diag *const *)pb;

	if (a->phase != b->phase)
		return a->phase < b->phase ? -1 : 1;
	if (a->span.lo != b->span.lo)
		return a->span.lo < b->span.lo ? -1 : 1;
	return a->row < b->row ? -1 : 1; /* keeps the sort stable */
}

static void print(const struct printer *p, const struct diag_style *style, const struct diag *g)
{
	switch (style->format) {
	case DIAG_TEXT: print_text(p, g); return;
	case DIAG_JSON: diag_print_json(p->d, g, p->out); return;
	case DIAG_SARIF: diag_log_add(style->log, p->d, g); return;
	}
}

/* Prints the closing line with the number of diagnostics beyond the cap. */
static void print_left_out(const struct printer *p, const struct diag_style *style, uint32_t errors,
			   uint32_t warnings)
{
	struct diag g = { .severity = SEV_NOTE, .rank = NO_RANK };
	const char *what = errors && warnings ? "errors and warning" : errors ? "error" : "warning";

	g.message = arena_printf(p->d->arena, "and %u more %s%s (--max-errors=0 shows all)",
				 errors + warnings, what, errors + warnings > 1 ? "s" : "");
	if (style->format == DIAG_TEXT)
		fprintf(p->out, "%s\n", g.message);
	else
		print(p, style, &g);
}

void diags_print(struct diags *d, const struct diag_style *style, FILE *out)
{
	struct printer p = { .d = d, .out = out, .color = style->color };
	uint32_t shown[SEV_NOTE + 1] = { 0 }, left[SEV_NOTE + 1] = { 0 };
	struct diag **sorted = ARENA_ARRAY(d->arena, struct diag *, d->n);

	if (d->n) {
		memcpy(sorted, d->v, d->n * sizeof(*sorted));
		qsort(sorted, d->n, sizeof(*sorted), compare);
	}
	for (uint32_t i = 0; i < d->n; i++) {
		const struct diag *g = sorted[i];

		if (style->max_errors && shown[g->severity] >= style->max_errors) {
			left[g->severity]++;
			continue;
		}
		shown[g->severity]++;
		print(&p, style, g);
	}
	if (left[SEV_ERROR] || left[SEV_WARNING])
		print_left_out(&p, style, left[SEV_ERROR], left[SEV_WARNING]);
}
