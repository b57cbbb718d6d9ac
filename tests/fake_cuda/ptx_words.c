/*
 * Words of PTX. See ptx_reader.h.
 */
#include "tests/fake_cuda/ptx_reader.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3), noreturn)) void ptx_fail(struct ptx_reader *r,
							      const char *format, ...)
{
	int n = snprintf(r->why, r->size, "line %u: ", r->word.line);
	va_list ap;

	va_start(ap, format);
	vsnprintf(r->why + n, r->size - (size_t)n, format, ap);
	va_end(ap);
	longjmp(r->out, 1);
}

void *ptx_room(struct ptx_reader *r, void *of, uint32_t n, size_t size)
{
	void *more = of;

	if (!(n & (n - 1))) /* a power of two, or none: twice as many */
		more = realloc(of, (n ? 2 * (size_t)n : 1) * size);
	if (!more)
		ptx_fail(r, "out of memory");
	return more;
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || c == '%';
}

void ptx_next(struct ptx_reader *r)
{
	for (;; r->at++) {
		if (r->at[0] == '/' && r->at[1] == '/')
			r->at += strcspn(r->at, "\n");
		if (*r->at == '\n')
			r->line++;
		if (!isspace((unsigned char)*r->at))
			break;
	}
	r->word = (struct ptx_word){ r->at, 0, r->line };
	if (!*r->at)
		return;
	if (*r->at == '"')
		r->at += 1 + strcspn(r->at + 1, "\"");
	if (in_word(*r->at))
		while (in_word(*r->at) || (r->at[0] == ':' && r->at[1] == ':'))
			r->at += *r->at == ':' ? 2 : 1;
	else
		r->at++;
	r->word.n = (size_t)(r->at - r->word.at);
}

bool ptx_is(const struct ptx_reader *r, const char *text)
{
	return r->word.n == strlen(text) && !memcmp(r->word.at, text, r->word.n);
}

bool ptx_take(struct ptx_reader *r, const char *text)
{
	if (!ptx_is(r, text))
		return false;
	ptx_next(r);
	return true;
}

void ptx_need(struct ptx_reader *r, const char *text)
{
	if (!ptx_take(r, text))
		ptx_fail(r, "'%s' is missing before '%.*s'", text, (int)r->word.n, r->word.at);
}

void ptx_take_name(struct ptx_reader *r, char *to)
{
	if (!r->word.n || r->word.n >= NAME || !in_word(*r->word.at))
		ptx_fail(r, "no name: '%.*s'", (int)r->word.n, r->word.at);
	memcpy(to, r->word.at, r->word.n);
	to[r->word.n] = '\0';
	ptx_next(r);
}

const struct ptx_name *ptx_find(const struct ptx_names *names, const char *text)
{
	for (uint32_t i = names->n; i--;)
		if (!strcmp(names->v[i].text, text))
			return names->v + i;
	return NULL;
}

void ptx_add(struct ptx_reader *r, struct ptx_names *names, const char *text, uint32_t value,
	     uint32_t more)
{
	if (names->n == NAMES)
		ptx_fail(r, "more than %d names", NAMES);
	snprintf(names->v[names->n].text, NAME, "%s", text);
	names->v[names->n].value = value;
	names->v[names->n++].more = more;
}

int64_t ptx_take_number(struct ptx_reader *r)
{
	bool minus = ptx_take(r, "-");
	char text[NAME], *end;
	int64_t v;

	ptx_take_name(r, text);
	if (text[0] == '0' && (text[1] == 'f' || text[1] == 'd') && strlen(text) > 9)
		v = (int64_t)strtoull(text + 2, &end, 16); /* the bits of a float */
	else
		v = (int64_t)strtoull(text, &end, 0);
	if (end == text || (*end && strcmp(end, "U")))
		ptx_fail(r, "no number: '%s'", text);
	return minus ? -v : v;
}
