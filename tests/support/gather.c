/* See gather.h. */
#include "tests/support/gather.h"
#include "tests/support/say.h"

#include <stdlib.h>
#include <string.h>

static unsigned char byte_of(int rank, size_t i, size_t each)
{
	return (unsigned char)((unsigned)rank * 67 + i * 13 + each);
}

bool gathers(gather_call *call, void *of, int rank, int n, size_t each)
{
	size_t size = (size_t)n * each;
	unsigned char *mine = calloc(each + 1, 1), *all = malloc(size + 1);
	bool ok;

	for (size_t i = 0; i < each; i++)
		mine[i] = byte_of(rank, i, each);
	memset(all, 0xee, size + 1);
	ok = is(call(of, mine, all, each), CCS_OK, NULL, "a gather");
	for (size_t i = 0; ok && i < size; i++)
		ok = all[i] == byte_of((int)(i / each), i % each, each);
	ok = ok && all[size] == 0xee;
	free(mine);
	free(all);
	return ok;
}
