/*
 * Modules, launches, and the order of launches. See fake.h.
 */
#include "tests/fake_cuda/fake.h"

#include "runtime/plan/types.h"

#include <stdlib.h>
#include <string.h>

struct module {
	struct fake_kernel kernel;
	bool loaded; /* the kernel itself; an old driver has no call for that */
};

/* What fake_nvrtc.c wrote; a real CUBIN counts as float32 sum, Simple. */
static void read_kernel(struct fake_kernel *k, const char *text)
{
	const char *s;

	*k = (struct fake_kernel){ .type = 7 };
	if (strncmp(text, "FAKE CUBIN", 10))
		return;
	if ((s = strstr(text, "-DCCS_TYPE=")))
		k->type = (unsigned)atoi(s + 11);
	if ((s = strstr(text, "-DCCS_OP=")))
		k->op = (unsigned)op_of_number((uint32_t)atoi(s + 9));
	if ((s = strstr(text, "-DCCS_PROTO=")))
		k->protocol = (unsigned)atoi(s + 12);
	k->layouts = strstr(text, " LAYOUTS") != NULL;
}

EXPORT int cuModuleLoadData(void **module, const void *image)
{
	struct module *m;
	int e, d;

	ENTER("cuModuleLoadData");
	e = unsafe("cuModuleLoadData");
	if (e)
		return e;
	d = need_context("cuModuleLoadData");
	if (memcmp(image, "FAKE CUBIN", 10) && memcmp(image, "\177ELF", 4))
		return BAD_IMAGE;
	m = calloc(1, sizeof(*m));
	read_kernel(&m->kernel, image);
	note("kernel type %u op %u protocol %u", m->kernel.type, m->kernel.op, m->kernel.protocol);
	lock();
	add(MODULE, m, sizeof(*m), d);
	unlock();
	*module = m;
	return 0;
}

EXPORT int cuModuleUnload(void *m)
{
	int d;

	ENTER("cuModuleUnload");
	d = need_context("cuModuleUnload");
	lock();
	drain_device(d);
	drop(find(MODULE, m, "cuModuleUnload"));
	unlock();
	free(m);
	return 0;
}

/* A kernel is named by its module: it has but one. */
static const struct module *module_of(const void *f, const char *name)
{
	int d = need_context(name);
	const struct object *o;

	lock();
	o = find(MODULE, f, name);
	if (o->device != d)
		illegal("%s: a kernel that was loaded on device %d, while device %d is current",
			name, o->device, d);
	unlock();
	return f;
}

EXPORT int cuModuleGetFunction(void **f, void *m, const char *name)
{
	ENTER("cuModuleGetFunction");
	module_of(m, "cuModuleGetFunction");
	if (strcmp(name, CCS_DEV_KERNEL))
		return NOT_FOUND;
	*f = m;
	return 0;
}

EXPORT int cuFuncLoad(void *f)
{
	ENTER("cuFuncLoad");
	module_of(f, "cuFuncLoad");
	((struct module *)f)->loaded = true;
	return 0;
}

/* Of GPUs of capability 9.0: 64 Ki registers, given by eights to each thread, 2048 threads and 32
 * blocks on a multiprocessor. */
static int blocks_per_sm(int threads)
{
	int registers = (number("FAKE_CUDA_REGISTERS", 64) + 7) / 8 * 8;
	int n = 65536 / (registers * threads);

	n = n < 2048 / threads ? n : 2048 / threads;
	return n < 32 ? n : 32;
}

EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int threads, size_t shared)
{
	ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
	module_of(f, "cuOccupancy");
	(void)shared;
	*n = blocks_per_sm(threads);
	return 0;
}

/* ---- the order of launches ------------------------------------------------------------ */

/* Of one communicator, which its abort flag names, on one device. */
struct orders {
	const uint32_t *comm;
	int device;
	unsigned long all[STREAMS];    /* the last launch's tick in each stream */
	unsigned long strict[STREAMS]; /* of those without turns */
	uint32_t launch;	       /* the last number of those with turns */
	struct orders *next;
};

static struct orders *direct; /* of launches outside captures */

static struct orders *orders_of(struct orders **at, const struct launch *l)
{
	struct orders *o = *at;

	while (o && (o->comm != l->call.abort || o->device != l->device))
		o = o->next;
	if (!o) {
		o = calloc(1, sizeof(*o));
		o->comm = l->call.abort;
		o->device = l->device;
		o->next = *at;
		*at = o;
	}
	return o;
}

/* Graphs and calls that take turns are told apart by it. */
static void check_number(const struct launch *l)
{
	struct orders *o = orders_of(&direct, l);

	if (!l->call.turn)
		return;
	if (l->call.launch <= o->launch)
		illegal("a launch that takes turns has number %u, and another one had %u",
			l->call.launch, o->launch);
	o->launch = l->call.launch;
}

void order_launch(struct orders **orders, const struct stream *s, const struct launch *l)
{
	struct orders *o = orders_of(orders ? orders : &direct, l);

	for (int i = 0; i < STREAMS; i++) {
		unsigned long last = l->call.turn ? o->strict[i] : o->all[i];

		if (i != s->number && s->clock.at[i] < last)
			illegal("a launch in stream %d is not ordered after the last one, in "
				"stream %d, and they don't take turns",
				s->number, i);
	}
	o->all[s->number] = s->clock.at[s->number] + 1; /* submit's tick */
	if (!l->call.turn)
		o->strict[s->number] = o->all[s->number];
}

void orders_free(struct orders *o)
{
	while (o) {
		struct orders *next = o->next;

		free(o);
		o = next;
	}
}

void orders_forget(const void *p, size_t n)
{
	struct orders **at = &direct, *o;

	while ((o = *at)) {
		const char *comm = (const char *)o->comm;

		if (comm >= (const char *)p && comm < (const char *)p + n) {
			*at = o->next;
			free(o);
		} else {
			at = &o->next;
		}
	}
}

/* ---- launches --------------------------------------------------------------------------- */

bool may_start(const struct launch *l)
{
	return !l->call.turn || !__atomic_load_n(l->call.turn, __ATOMIC_ACQUIRE);
}

static int launch(struct launch *l, struct stream *s)
{
	struct work w = { .what = LAUNCH };

	note("launch blocks %u device %d stream %d workers %u..%u tile %llu ntiles %llu "
	     "replicas %u type %u op %u protocol %u limit %llu ms%s%s%s%s",
	     l->blocks, l->device, s->number, l->call.worker0, l->call.worker0 + l->call.nworkers,
	     (unsigned long long)l->call.tile, (unsigned long long)l->call.ntiles, l->call.replicas,
	     l->kernel.type, l->kernel.op, l->kernel.protocol,
	     (unsigned long long)l->call.limit / 1000000, l->call.far ? " far" : "",
	     l->call.direct ? " direct" : "", l->call.turn ? " turn" : "",
	     s->capture ? " captured" : "");
	check_number(l);
	order_launch(s->capture ? capture_orders(s->capture) : NULL, s, l);
	w.launch = malloc(sizeof(*l));
	*w.launch = *l;
	return submit(s, w);
}

EXPORT int cuLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
				     unsigned by, unsigned bz, unsigned shared, void *s,
				     void **params)
{
	const struct module *m = module_of(f, "cuLaunchCooperativeKernel");
	struct launch l = { .kernel = m->kernel,
			    .call = *(const struct ccs_dev_call *)params[0],
			    .blocks = gx,
			    .stuck = number("FAKE_CUDA_STUCK", -1),
			    .patience = number("FAKE_CUDA_PATIENCE", 20) };
	int e;

	ENTER("cuLaunchCooperativeKernel");
	l.device = need_context("cuLaunchCooperativeKernel");
	if (!m->loaded && number("FAKE_CUDA_VERSION", 13000) >= 12040)
		illegal("a kernel that is loaded by its first launch, which may wait for others");
	(void)shared;
	if (gy != 1 || gz != 1 || by != 1 || bz != 1 || bx % 32 || bx > CCS_THREADS)
		illegal("a launch of %u x %u x %u blocks of %u x %u x %u threads", gx, gy, gz, bx,
			by, bz);
	if (gx > (unsigned)(blocks_per_sm((int)bx) * number("FAKE_CUDA_SMS", 132) /
			    number("FAKE_CUDA_SHARE", 1)))
		return TOO_LARGE;
	check_launch(&l);
	lock();
	e = launch(&l, stream_of(s, "cuLaunchCooperativeKernel"));
	unlock();
	return e;
}
