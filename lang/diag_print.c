/*
 * Diagnostics: how they are printed, as text for people or as JSON, one object
 * a line.
 *
 * In: what diag_add collected. Out: the diagnostics sorted by pass, then by
 * place, capped, each with its source line and the place underlined. Texts
 * come from files and command lines, so nothing goes out as it is: bytes that
 * a terminal might obey, and bytes that are not UTF-8, are escaped. Of a long
 * line only the neighbourhood of the place is shown, so a diagnostic costs
 * O(1) whatever the file looks like.
 */
#include "lang/diag.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_SHOWN 120u	/* bytes; a longer line is cut ... */
#define LINE_BEFORE 40u		/* ... to this many before the place */
#define TAB 8u

/* ---- bytes that may be anything ------------------------------------------------ */

/* Length of the UTF-8 character at s (n > 0 bytes are there) and the character
 * in *c, or 0 if the bytes are none. */
static size_t utf8_char(const char *s, size_t n, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)s[0];
	size_t len;

	if (first < 0x80) {
		*c = first;
		return 1;
	}
	if (first >= 0xf0 && first < 0xf8)
		len = 4;
	else if (first >= 0xe0)
		len = 3;
	else
		len = 2;
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

/* Control characters, and those that turn the direction of the text round. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 ||
	       (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* Writes one character of s as it can be shown, and returns how many bytes it
 * took; *width grows by the columns it fills. out == NULL: only counts. */
static size_t put_char(const char *s, size_t n, size_t *width, FILE *out)
{
	char text[16];
	uint32_t c = 0;
	size_t len = utf8_char(s, n, &c);

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
	if (len && c >= 0x80)
		snprintf(text, sizeof text, "<U+%04X>", (unsigned)c);
	else
		snprintf(text, sizeof text, "\\x%02x", (unsigned)(unsigned char)s[0]);
	if (out)
		fputs(text, out);
	*width += strlen(text);
	return len ? len : 1;
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
#define BLUE "\033[34m"
#define PLAIN "\033[0m"

static const char *severity_name(enum severity s)
{
	return s == SEV_ERROR ? "error" : s == SEV_WARNING ? "warning" : "note";
}

static const char *severity_color(enum severity s)
{
	return s == SEV_ERROR ? RED : s == SEV_WARNING ? MAGENTA : CYAN;
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
	line = source_line((struct source *)(uintptr_t)place.source, place.line, &len);
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
	fprintf(p->out, "%s\n%s      |%s %s", to < len ? "..." : "", paint(p, BLUE),
		paint(p, PLAIN), from ? "   " : "");
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

/* "file:line:col: error: ", or "ccc: error: " without a place. */
static bool print_head(const struct printer *p, struct span span, enum severity sev)
{
	struct place place = { 0 };

	if (span.lo)
		place = source_place(p->d->sources, span.lo);
	fputs(paint(p, BOLD), p->out);
	if (place.source) {
		put_text(place.source->name, p->out);
		fprintf(p->out, ":%u:%u: ", place.line, place.column);
	} else {
		fputs("ccc: ", p->out);
	}
	fprintf(p->out, "%s%s%s:%s ", paint(p, PLAIN), paint(p, severity_color(sev)),
		severity_name(sev), paint(p, PLAIN));
	return place.source != NULL;
}

/* Whether the message names the first rank already. */
static bool names_rank(const char *message, int64_t rank)
{
	char text[32];
	size_t n = (size_t)snprintf(text, sizeof text, "rank %lld", (long long)rank);

	for (const char *s = strstr(message, text); s; s = strstr(s + 1, text))
		if (s[n] < '0' || s[n] > '9')
			return true;
	return false;
}

/* Which ranks it is true for: all of them, or those that the text leaves out. */
static void print_ranks(const struct printer *p, const struct diag *g)
{
	int64_t *others;
	uint32_t n = 0;

	if (!g->nranks)
		return;
	others = ARENA_ARRAY(p->d->arena, int64_t, g->nranks);
	if (!names_rank(g->message, g->rank)) {
		fprintf(p->out, "%s      =%s on rank%s %s\n", paint(p, BLUE), paint(p, PLAIN),
			g->nranks > 1 ? "s" : "",
			diag_ranks(p->d->arena, g->ranks, g->nranks));
		return;
	}
	for (uint32_t i = 0; i < g->nranks; i++)
		if (g->ranks[i] != g->rank)
			others[n++] = g->ranks[i];
	if (n)
		fprintf(p->out, "%s      =%s the same for rank%s %s\n", paint(p, BLUE),
			paint(p, PLAIN), n > 1 ? "s" : "", diag_ranks(p->d->arena, others, n));
}

static void print_text(const struct printer *p, const struct diag *g)
{
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
	if (g->code)
		fprintf(p->out, " %s[E%04d]%s", paint(p, color), g->code, paint(p, PLAIN));
	putc('\n', p->out);
	if (placed)
		print_excerpt(p, g->span, color);
	print_ranks(p, g);
	for (uint32_t i = 0; i < g->nnotes; i++) {
		const struct diag_note *note = &g->notes[i];
		if (note->span.lo && print_head(p, note->span, SEV_NOTE)) {
			put_text(note->text, p->out);
			putc('\n', p->out);
			print_excerpt(p, note->span, CYAN);
			continue;
		}
		bool help = !strncmp(note->text, "help: ", 6);
		fprintf(p->out, "%s      =%s %s%s:%s ", paint(p, BLUE), paint(p, PLAIN),
			paint(p, CYAN), help ? "help" : "note", paint(p, PLAIN));
		put_text(note->text + (help ? 6 : 0), p->out);
		putc('\n', p->out);
	}
}

/* ---- JSON ------------------------------------------------------------------------------ */

/* A string with U+FFFD where the bytes are no UTF-8; `more` in parentheses. */
static json_t *json_text(const char *s, const char *more)
{
	size_t n = strlen(s), extra = more ? strlen(more) + 3 : 0, at = 0;
	char *joined = malloc(n + extra + 1);
	char *clean = malloc(3 * (n + extra) + 1);
	json_t *text = NULL;

	if (joined && clean) {
		snprintf(joined, n + extra + 1, "%s%s%s%s", s, more ? " (" : "",
			 more ? more : "", more ? ")" : "");
		n += extra;
		for (size_t i = 0; i < n;) {
			uint32_t c;
			size_t len = utf8_char(joined + i, n - i, &c);
			memcpy(clean + at, len ? joined + i : "\xef\xbf\xbd", len ? len : 3);
			at += len ? len : 3;
			i += len ? len : 1;
		}
		text = json_stringn(clean, at);
	}
	free(joined);
	free(clean);
	return text;
}

/* file, line and column of `span`; without a place they are null, or left out. */
static void json_place(struct diags *d, json_t *object, struct span span, bool always)
{
	struct place place = { 0 };

	if (span.lo)
		place = source_place(d->sources, span.lo);
	if (!place.source && !always)
		return;
	json_object_set_new(object, "file",
			    place.source ? json_text(place.source->name, NULL) : json_null());
	json_object_set_new(object, "line",
			    place.source ? json_integer(place.line) : json_null());
	json_object_set_new(object, "column",
			    place.source ? json_integer(place.column) : json_null());
}

static json_t *json_notes(struct diags *d, const struct diag *g)
{
	json_t *notes = json_array();

	for (uint32_t i = 0; i < g->nnotes; i++) {
		json_t *note = json_object();
		json_object_set_new(note, "message", json_text(g->notes[i].text, NULL));
		json_place(d, note, g->notes[i].span, false);
		json_array_append_new(notes, note);
	}
	return notes;
}

/* An arena's allocation might not return, and the object would be lost: so what
 * source_place makes on demand is made first. */
static void find_places(struct diags *d, const struct diag *g)
{
	if (g->span.lo)
		source_place(d->sources, g->span.lo);
	for (uint32_t i = 0; i < g->nnotes; i++)
		if (g->notes[i].span.lo)
			source_place(d->sources, g->notes[i].span.lo);
}

static void print_json(struct diags *d, const struct diag *g, FILE *out)
{
	json_t *object;
	char code[16];

	find_places(d, g);
	object = json_object();
	snprintf(code, sizeof code, "E%04d", g->code);
	json_object_set_new(object, "severity", json_string(severity_name(g->severity)));
	json_object_set_new(object, "code", g->code ? json_string(code) : json_null());
	json_object_set_new(object, "message", json_text(g->message, g->where));
	json_place(d, object, g->span, true);
	json_object_set_new(object, "rank",
			    g->rank == NO_RANK ? json_null() : json_integer(g->rank));
	json_object_set_new(object, "notes", json_notes(d, g));
	if (g->nranks > 1) {
		json_t *ranks = json_array();
		for (uint32_t i = 0; i < g->nranks; i++)
			json_array_append_new(ranks, json_integer(g->ranks[i]));
		json_object_set_new(object, "ranks", ranks);
	}
	if (g->has_slots)
		json_object_set_new(object, "min_slots", g->min_slots < 0 ?
				    json_null() : json_integer(g->min_slots));
	json_dumpf(object, out, JSON_COMPACT | JSON_PRESERVE_ORDER);
	putc('\n', out);
	json_decref(object);
}

/* ---- all of them ------------------------------------------------------------------------- */

struct row {
	const struct diag *diag;
	uint32_t added;		/* keeps the sort stable */
};

static int compare(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->diag->phase != b->diag->phase)
		return a->diag->phase < b->diag->phase ? -1 : 1;
	if (a->diag->span.lo != b->diag->span.lo)
		return a->diag->span.lo < b->diag->span.lo ? -1 : 1;
	return a->added < b->added ? -1 : 1;
}

/* The closing line of what the cap left out. */
static void print_left_out(const struct printer *p, const struct diag_style *style,
			   uint32_t errors, uint32_t warnings)
{
	struct diag g = { .severity = SEV_NOTE, .rank = NO_RANK };
	const char *s = errors + warnings > 1 ? "s" : "";

	if (errors && warnings)
		g.message = arena_printf(p->d->arena, "and %u more errors and warnings "
					 "(--max-errors=0 shows all)", errors + warnings);
	else
		g.message = arena_printf(p->d->arena, "and %u more %s%s "
					 "(--max-errors=0 shows all)", errors + warnings,
					 errors ? "error" : "warning", s);
	if (style->json)
		print_json(p->d, &g, p->out);
	else
		fprintf(p->out, "%s\n", g.message);
}

void diags_print(struct diags *d, const struct diag_style *style, FILE *out)
{
	struct printer p = { .d = d, .out = out, .color = style->color };
	uint32_t shown[SEV_NOTE + 1] = { 0 }, left[SEV_NOTE + 1] = { 0 };
	struct row *rows = ARENA_ARRAY(d->arena, struct row, d->n);

	for (uint32_t i = 0; i < d->n; i++)
		rows[i] = (struct row){ .diag = d->v[i], .added = i };
	if (d->n)
		qsort(rows, d->n, sizeof *rows, compare);
	for (uint32_t i = 0; i < d->n; i++) {
		const struct diag *g = rows[i].diag;
		if (style->max_errors && shown[g->severity] >= style->max_errors) {
			left[g->severity]++;
			continue;
		}
		shown[g->severity]++;
		if (style->json)
			print_json(d, g, out);
		else
			print_text(&p, g);
	}
	if (left[SEV_ERROR] || left[SEV_WARNING])
		print_left_out(&p, style, left[SEV_ERROR], left[SEV_WARNING]);
}
