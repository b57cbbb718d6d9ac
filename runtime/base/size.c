/*
 * Sizes from and to text. See size.h. In: any text. Out: a size below 2^63.
 */
#include "runtime/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST ((uint64_t)INT64_MAX)

static const char units[] = "KMG";

const char *size_read(const char **s, uint64_t *bytes)
{
	const char *at = *s, *unit;
	uint64_t n = 0;
	unsigned shift = 0;

	for (; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (n > (MOST - digit) / 10)
			return "the size is beyond 2^63";
		n = n * 10 + digit;
	}
	if (at == *s)
		return "a size such as 512, 64K, 16M or 1G is expected here";
	unit = *at ? strchr(units, *at) : NULL;
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		at++;
	}
	if (n > MOST >> shift)
		return "the size is beyond 2^63";
	*bytes = n << shift;
	*s = at;
	return NULL;
}

bool size_read_number(const char **s, uint64_t most, uint64_t *n)
{
	const char *at = *s;

	if (size_read(&at, n) || at[-1] > '9' || !*n || *n > most)
		return false;
	*s = at;
	return true;
}

void size_text(char text[SIZE_TEXT], uint64_t bytes)
{
	unsigned u = 0;

	while (u < 3 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		u++;
	}
	snprintf(text, SIZE_TEXT, "%" PRIu64 "%.*s", bytes, u != 0, units + (u ? u - 1 : 0));
}
