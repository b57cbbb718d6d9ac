/* Whether an object was made by this process: see origin.h. O(1). */
#include "runtime/base/load/origin.h"

#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

void origin_set(struct origin *o)
{
	unsigned char *p =
		mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*o = (struct origin){ .pid = getpid() };
	if (p == MAP_FAILED)
		return;
	if (madvise(p, page_size(), MADV_WIPEONFORK)) {
		munmap(p, page_size());
		return;
	}
	*p = 1;
	o->page = p;
}

void origin_free(struct origin *o)
{
	if (o->page)
		munmap((void *)(uintptr_t)o->page, page_size());
	o->page = NULL;
}
