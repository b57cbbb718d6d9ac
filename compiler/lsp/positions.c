/*
 * Positions, edits and URIs.
 *
 * A position is a line and a character in it, from 0; characters are units of UTF-16, or bytes if
 * the client supports that. Lines end in LF, CR LF or a single CR. An invalid byte counts as a
 * character. O(bytes up to the place).
 */
#include "compiler/lsp/server.h"
#include "lang/diag/diag_print.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- positions ------------------------------------------------------------------------- */

/* The begin of the line after the line of `at`; *end: the end of the line of `at`. */
static size_t next_line(const struct text *t, size_t at, size_t *end)
{
	while (at < t->n && t->s[at] != '\n' && t->s[at] != '\r')
		at++;
	*end = at;
	if (at + 1 < t->n && t->s[at] == '\r' && t->s[at + 1] == '\n')
		at++;
	return at < t->n ? at + 1 : at;
}

/* The length in bytes of the character at `at`; *units: its units of positions. */
static size_t character(const struct text *t, size_t at, size_t end, size_t *units)
{
	uint32_t c = 0;
	size_t n = diag_utf8(t->s + at, end - at, &c);

	n = n ? n : 1;
	*units = t->utf8 ? n : c >= 0x10000 ? 2 : 1;
	return n;
}

bool text_offset(const struct text *t, const json_t *position, size_t *offset)
{
	const json_t *line = json_object_get(position, "line"),
		     *units = json_object_get(position, "character");
	size_t at = 0, end = 0;
	json_int_t left;

	if (!json_is_integer(line) || !json_is_integer(units) || json_integer_value(line) < 0 ||
	    json_integer_value(units) < 0)
		return false;
	for (left = json_integer_value(line); left; left--) {
		size_t next = next_line(t, at, &end);

		if (next == end) { /* there is no such line */
			*offset = t->n;
			return true;
		}
		at = next;
	}
	next_line(t, at, &end);
	left = json_integer_value(units);
	for (size_t n, count; left > 0 && at < end; at += n, left -= (json_int_t)count) {
		n = character(t, at, end, &count);
		if (left < (json_int_t)count) /* in the middle of a character: before it */
			break;
	}
	*offset = at;
	return true;
}

json_t *text_position(const struct text *t, size_t offset)
{
	size_t at = 0, end, next;
	json_int_t line = 0, units = 0;

	offset = offset < t->n ? offset : t->n;
	while ((next = next_line(t, at, &end)) <= offset && next > end) {
		at = next;
		line++;
	}
	offset = offset < end ? offset : end;
	for (size_t n, count; at < offset; at += n, units += (json_int_t)count)
		n = character(t, at, end, &count);
	return json_pack("{s:I, s:I}", "line", line, "character", units);
}

json_t *text_range(const struct text *t, size_t lo, size_t hi)
{
	return json_pack("{s:o, s:o}", "start", text_position(t, lo), "end", text_position(t, hi));
}

bool text_offsets(const struct text *t, const json_t *range, size_t *lo, size_t *hi)
{
	return text_offset(t, json_object_get(range, "start"), lo) &&
	       text_offset(t, json_object_get(range, "end"), hi) && *lo <= *hi;
}

char *text_edit(const struct text *t, const json_t *change, size_t *n)
{
	const json_t *with = json_object_get(change, "text"),
		     *range = json_object_get(change, "range");
	size_t lo = 0, hi = t->n, length = json_string_length(with);
	char *edited;

	if (!json_is_string(with) || (range && !text_offsets(t, range, &lo, &hi)))
		return NULL;
	*n = lo + length + (t->n - hi);
	edited = malloc(*n + 1);
	if (!edited)
		return NULL;
	memcpy(edited, t->s, lo);
	memcpy(edited + lo, json_string_value(with), length);
	memcpy(edited + lo + length, t->s + hi, t->n - hi);
	return edited;
}

/* ---- URIs --------------------------------------------------------------------------------- */

static int hex(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Decodes %20 and the like, in place. */
static void decode(char *s)
{
	char *to = s;

	for (; *s; s++) {
		int high = *s == '%' ? hex(s[1]) : -1, low = high < 0 ? -1 : hex(s[2]);

		if (low >= 0 && high + low) {
			*to++ = (char)(high * 16 + low);
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

char *uri_path(const char *uri)
{
	const char *path = !strncmp(uri, "file:", 5) ? uri + 5 : NULL;
	char *decoded, *real;

	if (path && !strncmp(path, "//", 2)) /* skip the host, which is this one */
		path = strchr(path + 2, '/');
	decoded = strdup(path ? path : uri);
	if (!path || !decoded)
		return decoded;
	decode(decoded);
	real = realpath(decoded, NULL);
	if (!real)
		return decoded;
	free(decoded);
	return real;
}

char *uri_of(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~/";
	static const char scheme[] = "file://";
	char *real = realpath(path, NULL), *uri;
	size_t n = sizeof(scheme) - 1;

	if (!real)
		return NULL;
	uri = malloc(n + 3 * strlen(real) + 1);
	if (uri)
		memcpy(uri, scheme, n + 1);
	for (const char *s = real; uri && *s; s++) {
		if (strchr(plain, *s))
			uri[n++] = *s;
		else
			n += (size_t)sprintf(uri + n, "%%%02X", (unsigned)(unsigned char)*s);
		uri[n] = '\0';
	}
	free(real);
	return uri;
}
