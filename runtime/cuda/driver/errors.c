/*
 * Errors of the CUDA driver, in words. See api.h.
 *
 * In: the number that a call returned, and the purpose of the call. Out: our status, and a text
 * with the call, the driver's name and words for the error, and the cure, if the cause is outside
 * this program (the machine, its driver, another process, the environment). O(errors).
 */
#include "runtime/cuda/driver/api.h"

#include <stdarg.h>
#include <stdio.h>

/* Of cuda.h: the values that are used. */
enum {
	OUT_OF_MEMORY = 2,
	STUB_LIBRARY = 34,
	NEWER_DRIVER = 36,
	DEVICE_UNAVAILABLE = 46,
	INVALID_IMAGE = 200,
	NO_BINARY = 209,
	ECC_UNCORRECTABLE = 214,
	PEER_UNSUPPORTED = 217,
	INVALID_PTX = 218,
	NVLINK_UNCORRECTABLE = 220,
	NO_JIT = 221,
	NEW_PTX = 222,
	JIT_DISABLED = 223,
	OPERATING_SYSTEM = 304,
	TOO_LARGE = 720,
	SYSTEM_NOT_READY = 802,
	DRIVER_MISMATCH = 803,
	NOT_COMPATIBLE = 804,
	MPS_FIRST = 805,
	MPS_LAST = 809,
	CAPTURE_FIRST = 900,
	CAPTURE_LAST = 908,
	UNKNOWN = 999
};

#define JIT_CURE "or compile the schedule for this GPU with ccc --arch"
#define FAILED "the hardware has failed (see nvidia-smi -q): the GPU needs a reset"
#define MPS_CURE \
	"its daemon does not serve this process: start it (nvidia-cuda-mps-control -d), or unset " \
	"CUDA_MPS_PIPE_DIRECTORY"

/* Errors `first` to `last`, with a cause outside the call. */
static const struct cure {
	int first, last;
	const char *text;
} cures[] = {
	{ STUB_LIBRARY, STUB_LIBRARY,
	  "this libcuda.so.1 is a stub for linking: remove CUDA's directory `stubs` from "
	  "LD_LIBRARY_PATH" },
	{ NEWER_DRIVER, NEWER_DRIVER, "update NVIDIA's driver" },
	{ DEVICE_UNAVAILABLE, DEVICE_UNAVAILABLE,
	  "its compute mode allows no process, or only one, and there is one: end that, or allow "
	  "several (nvidia-smi -c DEFAULT)" },
	{ ECC_UNCORRECTABLE, ECC_UNCORRECTABLE, FAILED },
	{ NVLINK_UNCORRECTABLE, NVLINK_UNCORRECTABLE, FAILED },
	{ NO_JIT, NO_JIT,
	  "install libnvidia-ptxjitcompiler.so.1, which is part of the driver, " JIT_CURE },
	{ JIT_DISABLED, JIT_DISABLED,
	  "unset CUDA_DISABLE_PTX_JIT and CUDA_DISABLE_JIT, " JIT_CURE },
	{ OPERATING_SYSTEM, OPERATING_SYSTEM,
	  "this process may lack permission for /dev/nvidia*, or a container those files" },
	{ SYSTEM_NOT_READY, SYSTEM_NOT_READY,
	  "if NVSwitches connect the GPUs, the fabric manager must run and have the driver's "
	  "version (systemctl status nvidia-fabricmanager)" },
	{ DRIVER_MISMATCH, DRIVER_MISMATCH,
	  "libcuda.so.1 and the kernel's module have different versions: restart the machine after "
	  "an update, and remove CUDA's directory `compat` from LD_LIBRARY_PATH" },
	{ NOT_COMPATIBLE, NOT_COMPATIBLE,
	  "this GPU cannot be used by a libcuda.so.1 newer than its driver: remove CUDA's directory "
	  "`compat` from LD_LIBRARY_PATH" },
	{ MPS_FIRST, MPS_LAST, MPS_CURE },
	{ UNKNOWN, UNKNOWN,
	  "the kernel's log may say more (dmesg | grep -i nvrm); if it happens at the start, the "
	  "module nvidia_uvm may not be loaded (nvidia-modprobe -u)" },
};

static const char *cure_of(int e)
{
	for (size_t i = 0; i < sizeof(cures) / sizeof(*cures); i++)
		if (e >= cures[i].first && e <= cures[i].last)
			return cures[i].text;
	return NULL;
}

static ccs_status status_of(int e)
{
	switch (e) {
	case OUT_OF_MEMORY: return CCS_ENOMEM;
	case CUDA_NO_DEVICE:
	case STUB_LIBRARY:
	case NEWER_DRIVER:
	case PEER_UNSUPPORTED:
	case TOO_LARGE:
	/* the driver is too old, or lacks a part, for the loaded code */
	case INVALID_IMAGE:
	case NO_BINARY:
	case INVALID_PTX:
	case NO_JIT:
	case NEW_PTX:
	case JIT_DISABLED:
	/* the driver does not fit the machine */
	case SYSTEM_NOT_READY:
	case DRIVER_MISMATCH:
	case NOT_COMPATIBLE: return CCS_EUNSUPPORTED;
	default: return e >= CAPTURE_FIRST && e <= CAPTURE_LAST ? CCS_EINVAL : CCS_ESYSTEM;
	}
}

ccs_status cuda_check(const struct cuda *d, int e, const char *call, const char *format, ...)
{
	const char *name = NULL, *text = NULL, *cure = cure_of(e);
	char what[256];
	va_list ap;

	if (!e)
		return CCS_OK;
	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	d->api->error_name(e, &name);
	d->api->error_string(e, &text);
	return error_set(status_of(e), "%s: %s failed: %s%s%s%s%s%s", what, call,
			 name ? name : "an error without a name", text ? " (" : "",
			 text ? text : "", text ? ")" : "", cure ? ": " : "", cure ? cure : "");
}

ccs_status cuda_has(bool there, const char *call, const char *what)
{
	if (there)
		return CCS_OK;
	return error_set(CCS_EUNSUPPORTED, "%s: NVIDIA's driver is too old: libcuda.so.1 has no %s",
			 what, call);
}
