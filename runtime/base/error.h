/*
 * What a thread keeps between calls: the text of its last failure, and the
 * group that it has open. It is the library's only writable static storage.
 */
#ifndef CCS_RUNTIME_BASE_ERROR_H
#define CCS_RUNTIME_BASE_ERROR_H

#include "runtime/ccs.h"

#include <stddef.h>

struct call;
struct attendee;
struct transfer;

struct thread_state {
	char text[CCS_TEXT];
	int depth;				    /* of ccs_group_start */
	ccs_status failed;			    /* first failure inside the open group */
	struct call *first, *last;		    /* calls recorded by the open group, in order */
	struct attendee *attendees, *last_attendee; /* the same, of rendezvous.h */
	struct transfer *messages, *last_message;   /* and its sends and receives */
};

struct thread_state *error_thread(void);

/* In the library, too, there is no other way to fail. */
#define error_set ccs_error_set

/** A status from another process: itself, if it is one of ccs.h's failures; else CCS_ESYSTEM. */
ccs_status error_of_peer(long long status);

/* A text that is put together; what does not fit is cut. */
struct text {
	size_t len;
	char buf[CCS_TEXT];
};

void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
