/*
 * Bytes to messages: the base protocol of LSP.
 *
 * In: any bytes. Out: bodies of messages, of at most MOST_BYTES. A message is a header of lines
 * that end in CR LF (or LF), an empty line, and Content-Length bytes. A larger body is skipped
 * without storing it. Bytes that are no header are skipped up to the next Content-Length, to
 * resynchronize with the client.
 */
#include "compiler/lsp/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static void drop(struct reader *r, size_t n)
{
	memmove(r->bytes, r->bytes + n, r->n - n);
	r->n -= n;
}

void reader_fill(struct reader *r)
{
	enum { PIECE = 1 << 16 };
	ssize_t got;

	if (r->cap - r->n < PIECE) {
		char *more = realloc(r->bytes, r->cap + r->n + PIECE);

		if (!more) {
			r->end = true;
			return;
		}
		r->bytes = more;
		r->cap += r->n + PIECE;
	}
	got = read(r->fd, r->bytes + r->n, PIECE);
	if (got > 0)
		r->n += (size_t)got;
	else if (got == 0 || (errno != EINTR && errno != EAGAIN))
		r->end = true;
}

static void pass_over(struct reader *r)
{
	size_t n = r->skip < r->n ? r->skip : r->n;

	drop(r, n);
	r->skip -= n;
}

/* The begin of the line after the header's line at `at`; 0: the line is incomplete. */
static size_t line_end(const struct reader *r, size_t at)
{
	const char *end = memchr(r->bytes + at, '\n', r->n - at);

	return end ? (size_t)(end - r->bytes) + 1 : 0;
}

/* "Content-Length: 12" in `n` bytes. */
static bool read_length(const char *line, size_t n, size_t *length)
{
	static const char name[] = "Content-Length:";
	size_t i = sizeof(name) - 1, digits = 0;

	if (n < i || strncasecmp(line, name, i) != 0)
		return false;
	while (i < n && line[i] == ' ')
		i++;
	for (*length = 0; i < n && line[i] >= '0' && line[i] <= '9'; i++, digits++) {
		if (*length > SIZE_MAX / 10 - 9)
			return false;
		*length = *length * 10 + (size_t)(line[i] - '0');
	}
	while (i < n && (line[i] == ' ' || line[i] == '\r' || line[i] == '\n'))
		i++;
	return digits && i == n;
}

/* Whether the header is complete; *end: its end, *length: the length of the body, if it has one. */
static bool read_header(const struct reader *r, size_t *end, size_t *length, bool *has_length)
{
	size_t at = 0, next;

	*has_length = false;
	for (; (next = line_end(r, at)) != 0; at = next) {
		bool empty = next - at == 1 || (next - at == 2 && r->bytes[at] == '\r');

		if (empty) {
			*end = next;
			return true;
		}
		*has_length |= read_length(r->bytes + at, next - at, length);
	}
	return false;
}

/* Skips bytes that are no header, up to a line that may begin one. */
static enum taken lose(struct reader *r, size_t from)
{
	bool told = r->lost;
	size_t at = from, length;

	for (size_t next; (next = line_end(r, at)) != 0; at = next)
		if (read_length(r->bytes + at, next - at, &length))
			break;
	drop(r, at ? at : r->n);
	r->lost = true;
	return told ? TAKEN_NONE : TAKEN_NO_HEADER;
}

enum taken reader_take(struct reader *r, char **body, size_t *n)
{
	size_t end = 0, length = 0;
	bool has_length;

	pass_over(r);
	if (r->skip || !r->n)
		return TAKEN_NONE;
	if (!read_header(r, &end, &length, &has_length))
		return r->n > MOST_HEADER ? lose(r, line_end(r, 0)) : TAKEN_NONE;
	if (!has_length)
		return lose(r, end);
	r->lost = false;
	if (length > MOST_BYTES) {
		drop(r, end);
		r->skip = length;
		return TAKEN_TOO_LARGE;
	}
	if (r->n - end < length)
		return TAKEN_NONE;
	*n = length;
	*body = malloc(length + 1);
	if (*body)
		memcpy(*body, r->bytes + end, length);
	drop(r, end + length);
	return *body ? TAKEN_BODY : TAKEN_NO_MEMORY;
}

void reader_free(struct reader *r)
{
	free(r->bytes);
	*r = (struct reader){ .fd = -1 };
}

bool stream_write(FILE *out, json_t *m)
{
	char *text = m ? json_dumps(m, JSON_COMPACT) : NULL;

	if (text)
		fprintf(out, "Content-Length: %zu\r\n\r\n%s", strlen(text), text);
	free(text);
	json_decref(m);
	return fflush(out) == 0 && !ferror(out);
}
