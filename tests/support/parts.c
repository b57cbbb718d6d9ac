/* See parts.h. */
#include "tests/support/parts.h"
#include "tests/support/processes.h"
#include "tests/support/say.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT 2000000000u /* ns; a loaded machine's other kernel may begin late */

static const char cubin[] = "FAKE CUBIN -DCCS_TYPE=7 -DCCS_OP=0 -DCCS_PROTO=0";

int gpu_enter(struct cuda *d, int device)
{
	int mode;

	if (cuda_open(d, device) || cuda_enter(d, &mode)) {
		say(false, "GPU %d: %s", device, ccs_error());
		exit(1);
	}
	return mode;
}

void gpu_leave(struct cuda *d, int mode)
{
	cuda_leave(d, mode);
	cuda_close(d);
}

#define AT(base, member) ((void *)(uintptr_t)((base) + offsetof(struct part, member)))

static void fill_part(struct part *p, const struct seen *s)
{
	*p = (struct part){
		.ops = {
			{ .form = CCS_DEV_A | CCS_DEV_A_INITIAL | CCS_DEV_OUT, .n = 1, .done = 1,
			  .line = 11 },
			{ .form = CCS_DEV_IN | CCS_DEV_DST, .n = 1, .done = 1, .line = 12 },
		},
		.workers = {
			{ .rank = 0, .op = 0, .nops = 1, .count = 1, .of = 1 },
			{ .rank = 1, .op = 1, .nops = 1, .count = 1, .of = 1 },
		},
		.cell = { .chunks = 1 },
		.fifo = {
			.data = AT(s->host ? s->host : s->part[1], data),
			.head = AT(s->host ? s->host : s->part[1], head),
			.tail = AT(s->host ? s->host : s->part[0], tail),
			.slot_bytes = TILE * 4, .slots = SLOTS, .messages = 1,
			.src = 0, .dst = 1, .src_worker = 0, .dst_worker = 1,
		},
	};
	for (unsigned i = 0; i < COUNT; i++)
		p->buffer[i] = (float)i + 1;
}

struct ccs_dev_call part_call(const struct seen *s, unsigned rank)
{
	cuda_ptr own = s->part[rank];
	struct ccs_dev_call c = {
		.ops = AT(own, ops),
		.workers = AT(own, workers),
		.cells = AT(own, cell),
		.fifos = AT(own, fifo),
		.posts = AT(own, posts),
		.done = AT(own, done),
		.epoch = AT(own, epoch),
		.report = AT(own, report),
		.abort = AT(s->host ? s->host : s->part[0], abort),
		.count = COUNT,
		.tile = TILE,
		.ntiles = (COUNT + TILE - 1) / TILE,
		.longest = (COUNT + 3) / 4 * 4,
		.limit = LIMIT,
		.ends = 1,
		.worker0 = rank,
		.nworkers = 1,
		.replicas = 1,
		.replicas_max = 1,
		.far = 1,
	};

	c.ranks[rank].send = AT(own, buffer);
	c.ranks[rank].recv = AT(own, buffer);
	return c;
}

bool place_open(struct place *p, int device, unsigned rank)
{
	int mode;
	bool ok;

	*p = (struct place){ 0 };
	mode = gpu_enter(&p->cuda, device);
	ok = !cuda_load(&p->cuda, &p->module, &p->kernel, cubin, CCS_DEV_KERNEL) &&
	     !driver_stream_new(the_driver(), &p->stream) &&
	     !cuda_alloc_shared(&p->cuda, &p->seen.part[rank], sizeof(struct part), "a part");
	cuda_leave(&p->cuda, mode);
	return ok;
}

bool place_set_up(struct place *p, unsigned rank)
{
	struct part part;
	bool ok;
	int mode;

	fill_part(&part, &p->seen);
	if (rank == 1)
		memset(part.buffer, 0, sizeof(part.buffer));
	ok = !cuda_enter(&p->cuda, &mode) &&
	     !cuda_upload(&p->cuda, p->seen.part[rank], &part, sizeof(part), "a part");
	cuda_leave(&p->cuda, mode);
	return ok;
}

bool place_start(struct place *p, unsigned rank)
{
	struct ccs_dev_call c = part_call(&p->seen, rank);
	void *params[] = { &c };
	int mode;
	bool ok = !cuda_enter(&p->cuda, &mode) &&
		  !cuda_launch(&p->cuda, p->kernel, 1, 32, 0, p->stream, params);

	cuda_leave(&p->cuda, mode);
	return ok;
}

bool place_fetch(struct place *p, unsigned rank, struct part *part)
{
	int mode;
	bool ok = !cuda_enter(&p->cuda, &mode) && !cuda_sync(&p->cuda, p->stream) &&
		  !cuda_download(&p->cuda, part, p->seen.part[rank], sizeof(*part), "a part");

	cuda_leave(&p->cuda, mode);
	return ok;
}

bool places_finish(struct place *p)
{
	bool ok = true;
	int mode;

	for (int i = 0; i < 2; i++) {
		ok &= !cuda_enter(&p[i].cuda, &mode) && !cuda_sync(&p[i].cuda, p[i].stream);
		cuda_leave(&p[i].cuda, mode);
	}
	return ok;
}

bool place_arrived(struct place *p)
{
	struct part part;
	bool all = place_fetch(p, 1, &part);

	for (unsigned i = 0; i < COUNT; i++)
		all &= part.buffer[i] == (float)i + 1;
	return all && !part.report[0].taken;
}

void place_close(struct place *p, unsigned rank)
{
	int mode;

	cuda_enter(&p->cuda, &mode);
	cuda_sync(&p->cuda, p->stream);
	cuda_free(&p->cuda, p->seen.part[rank]);
	driver_stream_free(the_driver(), p->stream);
	cuda_unload(&p->cuda, p->module);
	gpu_leave(&p->cuda, mode);
}

ccs_status place_reach(struct place *from, struct place *to)
{
	int mode;
	ccs_status s = cuda_enter(&from->cuda, &mode);

	if (s)
		return s;
	s = cuda_reach(&from->cuda, &to->cuda);
	cuda_leave(&from->cuda, mode);
	return s;
}

bool socket_swap(int fd, const void *mine, void *others, size_t n)
{
	return write(fd, mine, n) == (ssize_t)n && read(fd, others, n) == (ssize_t)n;
}

bool place_exchange(struct place *p, int fd, unsigned rank)
{
	struct cuda_shared mine, others;
	cuda_ptr again = 0, *at = &p->seen.part[1 - rank];
	int mode;
	bool ok = !cuda_enter(&p->cuda, &mode) &&
		  !cuda_share(&p->cuda, p->seen.part[rank], &mine, "a part");

	ok = ok && cuda_map(&p->cuda, &mine, &again, "its own part") && !again;
	ok = socket_swap(fd, &mine, &others, sizeof(mine)) && ok;
	ok = ok && !cuda_map(&p->cuda, &others, at, "a part") &&
	     !cuda_map(&p->cuda, &others, &again, "a part") && again == *at;
	cuda_unmap(&p->cuda, again); /* it stays mapped once */
	cuda_leave(&p->cuda, mode);
	return ok;
}
