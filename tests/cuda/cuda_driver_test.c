/*
 * The driver's calls for several GPUs and processes, and for measuring, against a driver
 * of our own (tests/fake_cuda). See cuda_parts_test.c for what kernels do with it.
 *
 * usage: cuda_driver_test calls|failing|old, with FAKE_CUDA_GPUS=3 and the library in
 *        LD_LIBRARY_PATH (tests/cuda/cuda_driver_test.sh does that)
 */
#include "tests/support/parts.h"
#include "tests/support/processes.h"
#include "tests/support/say.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which GPUs there are -------------------------------------------------------------- */

static void test_count(void)
{
	int n = -1;

	says(cuda_count(&n), CCS_OK, NULL, "GPUs are counted");
	say(n == 3, "... all three");
	setenv("CUDA_VISIBLE_DEVICES", "2,0", 1);
	say(!cuda_count(&n) && n == 2, "... those that are visible");
	unsetenv("CUDA_VISIBLE_DEVICES");
	setenv("FAKE_CUDA_FAIL", "cuInit:1:100", 1);
	say(!cuda_count(&n) && n == 0, "... where there is a driver, but no GPU");
	unsetenv("FAKE_CUDA_FAIL");
}

/* An error that makes a GPU unusable is reported with its remedy. */
static void test_cures(void)
{
	static const struct {
		int error;
		ccs_status status;
		const char *cure;
	} rows[] = {
		{ 34, CCS_EUNSUPPORTED, "`stubs` from LD_LIBRARY_PATH" },
		{ 36, CCS_EUNSUPPORTED, "update NVIDIA's driver" },
		{ 46, CCS_ESYSTEM, "nvidia-smi -c DEFAULT" },
		{ 214, CCS_ESYSTEM, "needs a reset" },
		{ 220, CCS_ESYSTEM, "needs a reset" },
		{ 221, CCS_EUNSUPPORTED, "libnvidia-ptxjitcompiler.so.1" },
		{ 223, CCS_EUNSUPPORTED, "unset CUDA_DISABLE_PTX_JIT" },
		{ 304, CCS_ESYSTEM, "/dev/nvidia*" },
		{ 802, CCS_EUNSUPPORTED, "nvidia-fabricmanager" },
		{ 803, CCS_EUNSUPPORTED, "kernel's module have different versions" },
		{ 804, CCS_EUNSUPPORTED, "`compat` from LD_LIBRARY_PATH" },
		{ 805, CCS_ESYSTEM, "nvidia-cuda-mps-control -d" },
		{ 809, CCS_ESYSTEM, "CUDA_MPS_PIPE_DIRECTORY" },
		{ 999, CCS_ESYSTEM, "nvidia-modprobe -u" },
		{ 1, CCS_ESYSTEM, "as the test asked for)" },
	};
	char plan[40];
	struct cuda d;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(plan, sizeof(plan), "cuDevicePrimaryCtxRetain:1:%d", rows[i].error);
		setenv("FAKE_CUDA_FAIL", plan, 1);
		says(cuda_open(&d, 0), rows[i].status, rows[i].cure, plan);
	}
	unsetenv("FAKE_CUDA_FAIL");
	setenv("CUDA_VISIBLE_DEVICES", "", 1);
	says(cuda_open(&d, 0), CCS_EUNSUPPORTED, "because CUDA_VISIBLE_DEVICES is \"\": unset it",
	     "no GPU that is visible");
	unsetenv("CUDA_VISIBLE_DEVICES");
	setenv("FAKE_CUDA_GPUS", "0", 1);
	says(cuda_open(&d, 0), CCS_EUNSUPPORTED, "may be in MIG mode", "no GPU at all");
	setenv("FAKE_CUDA_GPUS", "3", 1);
}

static void test_identity(void)
{
	struct cuda_uuid id[3], again, none = { { 1 } };
	bool reaches = true;
	struct cuda d;

	for (int i = 0; i < 3; i++) {
		int mode = gpu_enter(&d, i);

		says(cuda_identity(&d, id + i), CCS_OK, NULL, "a GPU's identity");
		gpu_leave(&d, mode);
	}
	say(memcmp(id, id + 1, sizeof(*id)) && memcmp(id + 1, id + 2, sizeof(*id)) &&
		    memcmp(id, id + 2, sizeof(*id)),
	    "identities differ");
	setenv("CUDA_VISIBLE_DEVICES", "2,1", 1);
	int mode = gpu_enter(&d, 0);
	say(!cuda_identity(&d, &again) && !memcmp(&again, id + 2, sizeof(*id)),
	    "an identity does not depend on numbers");
	say(!cuda_reaches(&d, id + 2, &reaches) && reaches, "a GPU reaches itself");
	say(!cuda_reaches(&d, id + 1, &reaches) && reaches, "... and its peer");
	say(!cuda_reaches(&d, id, &reaches) && !reaches, "... and none that is not visible");
	say(!cuda_reaches(&d, &none, &reaches) && !reaches, "... or that there is not");
	setenv("FAKE_CUDA_PEERS", "none", 1);
	say(!cuda_reaches(&d, id + 1, &reaches) && !reaches, "... and none that is no peer");
	say(!cuda_reaches(&d, id + 2, &reaches) && reaches, "... but itself still");
	unsetenv("FAKE_CUDA_PEERS");
	gpu_leave(&d, mode);
	unsetenv("CUDA_VISIBLE_DEVICES");
}

static void test_pointers(void)
{
	static const char *const name[] = { "cuMemAllocManaged" };
	int (*managed)(cuda_ptr *, size_t, unsigned), mode, mode1;
	void *library = stand_in("libcuda.so.1", name, 1, &managed);
	struct cuda d, e;
	cuda_ptr here, there, both;
	void *pinned;
	int local;

	mode = gpu_enter(&d, 0);
	mode1 = gpu_enter(&e, 1);
	cuda_alloc(&e, &there, 100, "a test");
	managed(&both, 100, 1);
	cuda_alloc_host(&e, &pinned, 100, "a test");
	cuda_leave(&e, mode1);
	cuda_alloc(&d, &here, 100, "a test");
	says(cuda_check_pointer(&d, (void *)(uintptr_t)here, "sendbuff"), CCS_OK, NULL,
	     "a GPU's own memory");
	says(cuda_check_pointer(&d, (void *)(uintptr_t)there, "sendbuff"), CCS_EINVAL,
	     "sendbuff is memory of GPU 1, but the communicator is on GPU 0",
	     "another GPU's is refused");
	says(cuda_check_pointer(&d, (void *)(uintptr_t)both, "sendbuff"), CCS_OK, NULL,
	     "... unless it is managed");
	says(cuda_check_pointer(&d, pinned, "sendbuff"), CCS_OK, NULL, "pinned memory");
	says(cuda_check_pointer(&d, &local, "sendbuff"), CCS_EINVAL, "cudaMalloc",
	     "other memory of the host is refused");
	cuda_free(&d, here);
	cuda_leave(&d, mode);
	cuda_enter(&e, &mode1);
	cuda_free(&e, there);
	cuda_free(&e, both);
	cuda_free_host(&e, pinned);
	gpu_leave(&e, mode1);
	cuda_close(&d);
	dlclose(library);
}

/* ---- sharing ----------------------------------------------------------------------------- */

static void test_shared(void)
{
	struct cuda_shared shared;
	cuda_ptr p, small, none = 1;
	struct cuda d;
	int mode = gpu_enter(&d, 0);

	cuda_alloc(&d, &small, 100, "a test");
	cuda_alloc_shared(&d, &p, 100, "a test");
	says(cuda_share(&d, small, &shared, "a test"), CCS_EINVAL, "cuda_alloc_shared",
	     "memory that may have neighbours is not shared");
	says(cuda_share(&d, p + 16, &shared, "a test"), CCS_EINVAL, "byte 16",
	     "... nor is part of an allocation");
	says(cuda_share(&d, p, &shared, "a test"), CCS_OK, NULL, "... but all of it");
	memset(&shared, 7, sizeof(shared));
	says(cuda_map(&d, &shared, &none, "a test"), CCS_ESYSTEM, "; with CCS_P2P_DISABLE=1",
	     "nonsense cannot be mapped");
	say(!none, "... and gives no address");
	cuda_free(&d, small);
	cuda_free(&d, p);
	gpu_leave(&d, mode);
}

/* ---- times and graphs ------------------------------------------------------------------------ */

static bool holds(struct cuda *d, cuda_ptr p, int value)
{
	int v = 0;

	return !cuda_download(d, &v, p, sizeof(v), "a test") && v == value;
}

static void test_graph(struct cuda *d, cuda_stream s)
{
	cuda_graph g = NULL;
	cuda_ptr from, to;
	bool capturing = true, all = true;
	int v = 1;

	cuda_alloc(d, &from, sizeof(int), "a test");
	cuda_alloc(d, &to, sizeof(int), "a test");
	cuda_upload(d, to, &v, sizeof(v), "a test");
	says(driver_capture_begin(the_driver(), s), CCS_OK, NULL, "a capture");
	cuda_copy_async(d, to, from, sizeof(int), s, "a test");
	says(driver_capture_end(the_driver(), s, &g), CCS_OK, NULL, "... becomes a graph");
	say(holds(d, to, 1), "nothing of it has run");
	for (v = 2; v < 5; v++)
		all &= !cuda_upload(d, from, &v, sizeof(v), "a test") &&
		       !driver_graph_launch(the_driver(), g, s) && !cuda_sync(d, s) &&
		       holds(d, to, v);
	say(all, "each launch does it");
	driver_graph_free(the_driver(), g);
	setenv("FAKE_CUDA_FAIL", "cuStreamEndCapture:1:901", 1);
	driver_capture_begin(the_driver(), s);
	says(driver_capture_end(the_driver(), s, &g), CCS_EINVAL, "cuStreamEndCapture",
	     "a capture that fails");
	unsetenv("FAKE_CUDA_FAIL");
	say(!g && !cuda_capturing(d, s, &capturing) && !capturing, "... is over all the same");
	cuda_free(d, from);
	cuda_free(d, to);
}

static void test_times(void)
{
	cuda_event from, to, timeless;
	double us = -1;
	cuda_stream s;
	struct cuda d;
	int mode = gpu_enter(&d, 0);

	says(driver_stream_new(the_driver(), &s), CCS_OK, NULL, "a stream");
	says(driver_timer_new(the_driver(), &from), CCS_OK, NULL, "a timer");
	driver_timer_new(the_driver(), &to);
	cuda_event_new(&d, &timeless);
	cuda_record(&d, from, s);
	cuda_record(&d, to, s);
	cuda_record(&d, timeless, s);
	cuda_finish(&d, to);
	says(driver_elapsed(the_driver(), from, to, &us), CCS_OK, NULL,
	     "the time between two events");
	say(us > 0, "... is some");
	says(driver_elapsed(the_driver(), from, timeless, &us), CCS_ESYSTEM, "cuEventElapsedTime",
	     "an event without a time has none");
	test_graph(&d, s);
	cuda_event_free(&d, from);
	cuda_event_free(&d, to);
	cuda_event_free(&d, timeless);
	driver_stream_free(the_driver(), s);
	gpu_leave(&d, mode);
}

/* ---- failing and missing calls ----------------------------------------------------------- */

/* Everything once, to the first failure. */
static ccs_status all_of_it(struct cuda *d, struct cuda *e, void *host)
{
	struct cuda_shared shared;
	struct cuda_uuid id;
	cuda_stream stream = NULL;
	cuda_event from = NULL, to = NULL;
	cuda_graph g = NULL;
	cuda_ptr p = 0, seen;
	bool yes;
	double us;
	ccs_status s = cuda_identity(e, &id);

	s = s ? s : cuda_reaches(d, &id, &yes);
	s = s ? s : cuda_reach(d, e);
	s = s ? s : cuda_alloc_shared(d, &p, 100, "a test");
	s = s ? s : cuda_share(d, p, &shared, "a test");
	s = s ? s : cuda_pin(d, host, 4096, "a test");
	if (!s) {
		s = cuda_pinned(d, host, &seen, "a test");
		cuda_unpin(d, host);
	}
	s = s ? s : driver_stream_new(the_driver(), &stream);
	s = s ? s : driver_timer_new(the_driver(), &from);
	s = s ? s : driver_timer_new(the_driver(), &to);
	s = s ? s : cuda_record(d, from, stream);
	s = s ? s : cuda_record(d, to, stream);
	s = s ? s : driver_elapsed(the_driver(), from, to, &us);
	s = s ? s : driver_capture_begin(the_driver(), stream);
	s = s ? s : driver_capture_end(the_driver(), stream, &g);
	s = s ? s : driver_graph_launch(the_driver(), g, stream);
	driver_graph_free(the_driver(), g);
	cuda_event_free(d, from);
	cuda_event_free(d, to);
	driver_stream_free(the_driver(), stream);
	cuda_free(d, p);
	return s;
}

static void test_failing(void)
{
	static const char *const names[] = {
		"cuDeviceGetUuid_v2",
		"cuDeviceCanAccessPeer",
		"cuCtxEnablePeerAccess",
		"cuMemAlloc_v2",
		"cuMemGetAddressRange_v2",
		"cuIpcGetMemHandle",
		"cuMemHostRegister_v2",
		"cuMemHostGetDevicePointer_v2",
		"cuStreamCreate",
		"cuEventCreate",
		"cuEventRecord",
		"cuEventElapsedTime",
		"cuStreamBeginCapture_v2",
		"cuStreamEndCapture",
		"cuGraphInstantiateWithFlags",
		"cuGraphLaunch",
	};
	void *host = aligned_alloc(4096, 4096);
	struct cuda d, e;
	char plan[100], name[100];
	int mode, mode1;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		mode = gpu_enter(&d, 0);
		mode1 = gpu_enter(&e, 1);
		cuda_leave(&e, mode1);
		snprintf(plan, sizeof(plan), "%s:1:999", names[i]);
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(names[i], "_"), names[i]);
		setenv("FAKE_CUDA_FAIL", plan, 1);
		says(all_of_it(&d, &e, host), CCS_ESYSTEM, name, names[i]);
		unsetenv("FAKE_CUDA_FAIL");
		says(all_of_it(&d, &e, host), CCS_OK, NULL, "... and nothing is left of that");
		gpu_leave(&d, mode);
		cuda_close(&e);
	}
	free(host);
}

/* A driver that lacks what only some features need. */
static void test_old(void)
{
	void *host = aligned_alloc(4096, 4096);
	struct cuda_shared shared = { { 0 } };
	struct cuda_uuid id = { { 0 } };
	cuda_stream s;
	cuda_event e = NULL;
	struct cuda d;
	cuda_ptr p;
	double us;
	bool yes;
	int mode = gpu_enter(&d, 0), n;

	say(!cuda_count(&n) && n == 3, "an old driver counts GPUs");
	says(cuda_alloc_shared(&d, &p, 10, "a test"), CCS_OK, NULL, "... allocates");
	say(!driver_stream_new(the_driver(), &s) && !driver_timer_new(the_driver(), &e),
	    "... makes streams and events");
	says(cuda_identity(&d, &id), CCS_EUNSUPPORTED, "cuDeviceGetUuid", "... has no identities");
	says(cuda_reaches(&d, &id, &yes), CCS_EUNSUPPORTED, "cuDeviceGetUuid", "... no peers");
	says(cuda_share(&d, p, &shared, "a part"), CCS_EUNSUPPORTED, "cuIpcGetMemHandle",
	     "... shares nothing");
	says(cuda_map(&d, &shared, &p, "a part"), CCS_EUNSUPPORTED, "cuIpcOpenMemHandle",
	     "... maps nothing");
	says(cuda_pin(&d, host, 4096, "a part"), CCS_EUNSUPPORTED, "cuMemHostRegister",
	     "... pins nothing");
	says(driver_elapsed(the_driver(), e, e, &us), CCS_EUNSUPPORTED, "cuEventElapsedTime",
	     "... has no times");
	says(driver_capture_begin(the_driver(), s), CCS_EUNSUPPORTED, "cuGraph",
	     "... and no graphs");
	cuda_event_free(&d, e);
	driver_stream_free(the_driver(), s);
	cuda_leave(&d, mode);
	free(host);
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (!strcmp(what, "calls")) {
		test_count();
		test_cures();
		test_identity();
		test_pointers();
		test_shared();
		test_times();
	} else if (!strcmp(what, "failing")) {
		test_failing();
	} else if (!strcmp(what, "old")) {
		test_old();
	} else {
		fprintf(stderr, "usage: cuda_driver_test calls|failing|old\n");
		return 2;
	}
	return 0;
}
