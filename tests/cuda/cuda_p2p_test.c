/*
 * Messages between ranks on the GPUs of one process, against a driver of our own
 * (tests/fake_cuda): streams, values, order, groups, errors, requests.
 *
 * usage: cuda_p2p_test, with FAKE_CUDA_GPUS=3 and the library in LD_LIBRARY_PATH
 *        (tests/cuda/cuda_driver_test.sh does that)
 */
#include "tests/support/processes.h"
#include "tests/support/say.h"

#include <stdint.h>
#include <string.h>

enum { RANKS = 4, COUNT = 1003 };

struct rank {
	struct ccs_comm *comm;
	void *context;
	cuda_stream stream;
	cuda_ptr out, in;
};

static const int devices[RANKS] = { 0, 0, 1, 2 };

static bool open_ranks(struct rank *r)
{
	const struct driver *d = the_driver();
	struct ccs_comm *comm[RANKS];
	bool ok = is(ccs_comm_init_devices(comm, RANKS, devices), CCS_OK, NULL, "a communicator");

	for (int i = 0; i < RANKS && ok; i++) {
		r[i].comm = comm[i];
		ok = !d->retain(&r[i].context, devices[i]) && !d->use(r[i].context) &&
		     !d->stream_new(&r[i].stream, 1) && !d->alloc(&r[i].out, COUNT * 4) &&
		     !d->alloc(&r[i].in, COUNT * 4);
	}
	return ok;
}

static void close_ranks(struct rank *r)
{
	const struct driver *d = the_driver();

	for (int i = 0; i < RANKS; i++) {
		ccs_comm_free(r[i].comm);
		d->use(r[i].context);
		d->free(r[i].out);
		d->free(r[i].in);
		d->stream_free(r[i].stream);
		d->release(devices[i]);
	}
}

static int32_t value(int rank, int salt, int i)
{
	return 100000 * rank + 7 * salt + i;
}

/* In the stream of each: what it sends; and what it has got, which must be that rank's. */
static bool put(const struct rank *r, int salt)
{
	const struct driver *d = the_driver();
	int32_t x[COUNT];
	bool ok = true;

	for (int k = 0; k < RANKS; k++) {
		for (int i = 0; i < COUNT; i++)
			x[i] = value(k, salt, i);
		d->use(r[k].context);
		ok &= !d->upload(r[k].out, x, sizeof(x), r[k].stream) &&
		      !d->stream_sync(r[k].stream);
	}
	return ok;
}

static bool has(const struct rank *r, int k, int from, int salt)
{
	const struct driver *d = the_driver();
	int32_t x[COUNT] = { 0 };

	d->use(r[k].context);
	if (d->download(x, r[k].in, sizeof(x), r[k].stream) || d->stream_sync(r[k].stream))
		return false;
	for (int i = 0; i < COUNT; i++)
		if (x[i] != value(from, salt, i))
			return false;
	return true;
}

static ccs_status ring_of(struct rank *r, struct ccs_request **request)
{
	ccs_group_start();
	for (int k = 0; k < RANKS; k++) {
		void *in = (void *)(uintptr_t)r[k].in, *out = (void *)(uintptr_t)r[k].out;

		ccs_send(out, COUNT, CCS_INT32, (k + 1) % RANKS, r[k].comm, r[k].stream);
		ccs_recv(in, COUNT, CCS_INT32, (k + RANKS - 1) % RANKS, r[k].comm, r[k].stream);
	}
	return request ? ccs_group_submit(request) : ccs_group_end();
}

static bool all_have(const struct rank *r, int salt)
{
	bool ok = true;

	for (int k = 0; k < RANKS; k++)
		ok &= has(r, k, (k + RANKS - 1) % RANKS, salt);
	return ok;
}

static void test_right(struct rank *r)
{
	struct ccs_request *request = NULL;

	say(put(r, 1) && is(ring_of(r, NULL), CCS_OK, NULL, "a group") && all_have(r, 1),
	    "a ring of messages, on one GPU and between GPUs");
	say(put(r, 2) && is(ring_of(r, &request), CCS_OK, NULL, "a submitted group") &&
		    is(ccs_wait(request), CCS_OK, NULL, "its end") && all_have(r, 2),
	    "the same as a request");
	ccs_request_free(request);
}

static ccs_status pair(struct rank *r, void *out, size_t sent, void *in, size_t wanted)
{
	ccs_group_start();
	ccs_send(out, sent, CCS_INT32, 2, r[0].comm, r[0].stream);
	ccs_recv(in, wanted, CCS_INT32, 0, r[2].comm, r[2].stream);
	return ccs_group_end();
}

static void test_wrong(struct rank *r)
{
	void *in = (void *)(uintptr_t)r[2].in, *out = (void *)(uintptr_t)r[0].out;
	cuda_stream stream = r[2].stream;
	int32_t here[4] = { 0 };

	says(pair(r, out, 5, in, 4), CCS_EINVAL,
	     "rank 0 sends 5 of int32 to rank 2, which receives 4", "ends that differ");
	says(pair(r, here, 4, in, 4), CCS_EINVAL,
	     "a message from rank 0 to rank 2: ", "memory that is not the GPU's");
	r[2].stream = (cuda_stream)2;
	says(pair(r, out, 4, in, 4), CCS_EINVAL, "the stream of rank 2 is cudaStreamPerThread",
	     "a stream that each thread has another of");
	r[2].stream = stream;
	says(pair(r, out, 0, in, 0), CCS_OK, NULL, "a message of nothing");
	ccs_comm_set_timeout(r[0].comm, 300);
	says(ccs_recv(in, 4, CCS_INT32, 3, r[2].comm, NULL), CCS_ETIMEOUT,
	     "rank 2 waits for rank 3 to send 4 of int32 to it", "a peer that never comes");
}

int main(void)
{
	struct rank r[RANKS];

	memset(r, 0, sizeof(r));
	if (!say(open_ranks(r), "four ranks on three GPUs"))
		return 1;
	test_right(r);
	test_wrong(r);
	close_ranks(r);
	return 0;
}
