/*
 * The driver's functions as driver.c and share.c call them.
 * Private to these: everybody else has driver.h.
 *
 * The names that are looked up are those with version suffixes, where a function has
 * them: they are the driver's ABI, and stay. What only some features need may be
 * missing; then its pointer is NULL, and those features say so (cuda_has).
 */
#ifndef CCS_RUNTIME_CUDA_API_H
#define CCS_RUNTIME_CUDA_API_H

#include "runtime/cuda/driver.h"

/* For several GPUs or processes; and what newer drivers have. */
struct cuda_wanted {
	int (*uuid)(struct cuda_uuid *, int);
	int (*can_access)(int *, int, int);
	int (*enable_access)(void *, unsigned);
	int (*address_range)(cuda_ptr *, size_t *, cuda_ptr);
	int (*ipc_get)(struct cuda_shared *, cuda_ptr);
	int (*ipc_open)(cuda_ptr *, struct cuda_shared, unsigned);
	int (*ipc_close)(cuda_ptr);
	int (*pin)(void *, size_t, unsigned);
	int (*unpin)(void *);
	int (*function_load)(cuda_function);
};

struct cuda_api {
	int (*init)(unsigned);
	int (*version)(int *);
	int (*error_name)(int, const char **);
	int (*error_string)(int, const char **);
	int (*device_count)(int *);
	int (*device_get)(int *, int);
	int (*device_name)(char *, int, int);
	int (*device_attribute)(int *, int, int);
	int (*retain)(void **, int);
	int (*release)(int);
	int (*push)(void *);
	int (*pop)(void **);
	int (*exchange_mode)(int *);
	int (*alloc)(cuda_ptr *, size_t);
	int (*free)(cuda_ptr);
	int (*host_alloc)(void **, size_t, unsigned);
	int (*host_free)(void *);
	int (*host_pointer)(cuda_ptr *, void *, unsigned);
	int (*upload)(cuda_ptr, const void *, size_t, cuda_stream);
	int (*download)(void *, cuda_ptr, size_t, cuda_stream);
	int (*copy)(cuda_ptr, cuda_ptr, size_t, cuda_stream);
	int (*set)(cuda_ptr, unsigned char, size_t, cuda_stream);
	int (*load)(cuda_module *, const void *);
	int (*unload)(cuda_module);
	int (*function)(cuda_function *, cuda_module, const char *);
	int (*occupancy)(int *, cuda_function, int, size_t);
	int (*launch)(cuda_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      unsigned, cuda_stream, void **);
	int (*stream_new)(cuda_stream *, unsigned);
	int (*stream_free)(cuda_stream);
	int (*stream_sync)(cuda_stream);
	int (*stream_capturing)(cuda_stream, int *);
	int (*stream_wait)(cuda_stream, cuda_event, unsigned);
	int (*event_new)(cuda_event *, unsigned);
	int (*event_free)(cuda_event);
	int (*event_record)(cuda_event, cuda_stream);
	int (*event_query)(cuda_event);
	int (*event_sync)(cuda_event);
	int (*pointer_attribute)(void *, int, cuda_ptr);
	struct cuda_wanted o;
};

enum { CUDA_STREAM_NON_BLOCKING = 1, CUDA_PORTABLE_MAPPED = 3 };

/** CCS_OK, or the status and text of a driver call's error. The format is of what the
 *  call was for. */
ccs_status cuda_check(const struct cuda *d, int e, const char *call, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/** CCS_OK if there is a function, else CCS_EUNSUPPORTED, naming it. */
ccs_status cuda_has(bool there, const char *call, const char *what);

#endif
