/*
 * The table of live things, injected failures, the log. See fake.h. A search is O(live).
 */
#include "tests/fake_cuda/fake.h"

#include "tests/fake_common/inject.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake fake = { .lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER };

static const char *const kinds[] = {
	"",
	"device memory",
	"host memory",
	"pinned memory",
	"managed memory",
	"mapped memory",
	"event",
	"module",
	"graph",
	"executable graph",
};

void illegal(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	abort_illegal("fake_cuda", format, ap);
}

/* One write, so that lines of several processes stay whole. */
void note(const char *format, ...)
{
	const char *path = getenv("FAKE_CUDA_LOG");
	FILE *f = path ? fopen(path, "a") : NULL;
	char line[512];
	va_list ap;

	if (!f)
		return;
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	fprintf(f, "%s\n", line);
	fclose(f);
}

int number(const char *variable, int otherwise)
{
	const char *s = getenv(variable);

	return s ? atoi(s) : otherwise;
}

/* Whether the call is to fail, with which error. */
int fails(const char *name)
{
	static struct injection i = { "FAKE_CUDA_FAIL", PTHREAD_MUTEX_INITIALIZER, "", 0 };

	if (fake.started && fake.started != getpid() && !number("FAKE_CUDA_FORK", 0)) {
		if (!strcmp(name, "cuInit"))
			return NOT_INITIALIZED;
		illegal("%s in a process that was forked from the one that called cuInit", name);
	}
	note("%s", name);
	return inject(&i, name);
}

void lock(void)
{
	pthread_mutex_lock(&fake.lock);
}

void unlock(void)
{
	pthread_mutex_unlock(&fake.lock);
}

struct object *add(enum kind kind, void *p, size_t bytes, int device)
{
	int i = 0;

	while (i < fake.nobjects && fake.objects[i].kind != FREE)
		i++;
	if (i == OBJECTS)
		illegal("more than %d live things", OBJECTS);
	if (i == fake.nobjects)
		fake.nobjects++;
	fake.objects[i] = (struct object){
		.kind = kind, .p = p, .bytes = bytes, .device = device, .owner = device, .fd = -1
	};
	return fake.objects + i;
}

struct object *find(enum kind kind, const void *p, const char *name)
{
	for (int i = 0; i < fake.nobjects; i++)
		if (fake.objects[i].kind == kind && fake.objects[i].p == p)
			return fake.objects + i;
	illegal("%s: %p is no live %s", name, p, kinds[kind]);
}

void drop(struct object *o)
{
	o->kind = FREE;
	while (fake.nobjects && fake.objects[fake.nobjects - 1].kind == FREE)
		fake.nobjects--;
	__atomic_add_fetch(&fake.generation, 1, __ATOMIC_RELEASE);
}

struct object *memory_at(const void *p, size_t n)
{
	for (int i = 0; i < fake.nobjects; i++) {
		struct object *o = fake.objects + i;

		if (o->kind >= DEVICE && o->kind <= MAPPED && (const char *)p >= o->p &&
		    (const char *)p + n <= o->p + o->bytes)
			return o;
	}
	return NULL;
}

/* What a device's context leaves behind. */
void report_leaks(int device)
{
	for (int i = 0; i < fake.nobjects; i++)
		if (fake.objects[i].kind != FREE && fake.objects[i].device == device)
			fprintf(stderr, "fake_cuda: LEAK: %s of %zu bytes\n",
				kinds[fake.objects[i].kind], fake.objects[i].bytes);
	for (int i = DEVICES; i < STREAMS; i++)
		if (fake.streams[i].used && fake.streams[i].device == device)
			fprintf(stderr, "fake_cuda: LEAK: stream %d\n", i);
}
