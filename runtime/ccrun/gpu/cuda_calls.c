/*
 * Calls of the CUDA driver. See cuda_calls.h.
 */
#include "runtime/ccrun/gpu/cuda_calls.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Of cuda.h: the values that are used. */
enum { OUT_OF_MEMORY = 2, CAPTURE_FIRST = 900, CAPTURE_LAST = 908 };
enum { STREAM_NON_BLOCKING = 1 };
/* So that what other code of the thread does meanwhile spoils no capture. */
enum { CAPTURE_RELAXED = 2 };

#define SYMBOL(name, parameters, symbol) symbol,
static const char *const symbols[] = { DRIVER(SYMBOL) DRIVER_NEWER(SYMBOL) };
#define NSYMBOLS (sizeof(symbols) / sizeof(*symbols))
#define NEWER (offsetof(struct driver, uuid) / sizeof(void *))

/* ---- opening, and errors ----------------------------------------------------------------- */

static ccs_status too_old(const char *call)
{
	return ccs_error_set(CCS_EUNSUPPORTED, "NVIDIA's driver is too old: libcuda.so.1 has no %s",
			     call);
}

ccs_status driver_open(struct driver *d)
{
	void *functions[NSYMBOLS], *library;
	ccs_status s = ccs_cuda_library(&library);
	char name[64];

	_Static_assert(sizeof(functions) == sizeof(*d), "a symbol for each function");
	for (size_t i = 0; i < NSYMBOLS && !s; i++) {
		snprintf(name, sizeof(name), "%s_v2", symbols[i]);
		functions[i] = i < NEWER ? NULL : dlsym(library, name);
		if (!functions[i])
			functions[i] = dlsym(library, symbols[i]);
		if (!functions[i] && i < NEWER)
			s = too_old(symbols[i]);
	}
	if (!s) /* a function's address from a void *, as POSIX has it */
		memcpy(d, functions, sizeof(functions));
	return s;
}

ccs_status driver_check(const struct driver *d, int e, const char *call, const char *format, ...)
{
	const char *name = NULL, *text = NULL;
	ccs_status s = CCS_ESYSTEM;
	char what[256];
	va_list ap;

	if (!e)
		return CCS_OK;
	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	d->error_name(e, &name);
	d->error_string(e, &text);
	if (e == OUT_OF_MEMORY)
		s = CCS_ENOMEM;
	else if (e >= CAPTURE_FIRST && e <= CAPTURE_LAST)
		s = CCS_EINVAL;
	return ccs_error_set(s, "%s: %s failed: %s%s%s%s", what, call,
			     name ? name : "an error without a name", text ? " (" : "",
			     text ? text : "", text ? ")" : "");
}

ccs_status driver_identity(const struct driver *d, int device, unsigned char id[16])
{
	return d->uuid ? driver_check(d, d->uuid(id, device), "cuDeviceGetUuid", "GPU %d", device)
		       : too_old("cuDeviceGetUuid");
}

/* ---- streams, times, graphs ----------------------------------------------------------------- */

ccs_status driver_stream_new(const struct driver *d, cuda_stream *s)
{
	ccs_status rc = driver_check(d, d->stream_new(s, STREAM_NON_BLOCKING), "cuStreamCreate",
				     "a stream");

	if (rc)
		*s = NULL;
	return rc;
}

void driver_stream_free(const struct driver *d, cuda_stream s)
{
	if (s)
		d->stream_free(s);
}

ccs_status driver_timer_new(const struct driver *d, cuda_event *e)
{
	ccs_status s = driver_check(d, d->event_new(e, 0), "cuEventCreate", "an event");

	if (s)
		*e = NULL;
	return s;
}

void driver_timer_free(const struct driver *d, cuda_event e)
{
	if (e)
		d->event_free(e);
}

ccs_status driver_elapsed(const struct driver *d, cuda_event from, cuda_event to, double *us)
{
	float ms = 0;
	ccs_status s = d->elapsed ? driver_check(d, d->elapsed(&ms, from, to), "cuEventElapsedTime",
						 "measuring")
				  : too_old("cuEventElapsedTime");

	*us = (double)ms * 1000;
	return s;
}

ccs_status driver_capture_begin(const struct driver *d, cuda_stream s)
{
	if (!d->capture_begin || !d->capture_end || !d->instantiate || !d->template_free ||
	    !d->graph_launch || !d->graph_free)
		return too_old("cuGraphInstantiateWithFlags");
	return driver_check(d, d->capture_begin(s, CAPTURE_RELAXED), "cuStreamBeginCapture",
			    "capturing a stream");
}

ccs_status driver_capture_end(const struct driver *d, cuda_stream s, cuda_graph *g)
{
	cuda_template made = NULL;
	ccs_status rc = driver_check(d, d->capture_end(s, &made), "cuStreamEndCapture",
				     "capturing a stream");

	*g = NULL;
	if (rc)
		return rc;
	rc = driver_check(d, d->instantiate(g, made, 0), "cuGraphInstantiateWithFlags",
			  "a captured graph");
	if (rc)
		*g = NULL;
	d->template_free(made);
	return rc;
}

ccs_status driver_graph_launch(const struct driver *d, cuda_graph g, cuda_stream s)
{
	return driver_check(d, d->graph_launch(g, s), "cuGraphLaunch", "a captured graph");
}

void driver_graph_free(const struct driver *d, cuda_graph g)
{
	if (g)
		d->graph_free(g);
}
