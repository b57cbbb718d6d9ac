/*
 * State of a thread between calls: the text of its last failure, and its open group. This is the
 * library's only writable static storage. A text that does not fit is cut.
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
	struct call *first, *last;		    /* recorded calls of the open group, in order */
	struct attendee *attendees, *last_attendee; /* likewise, see rendezvous.h */
	struct transfer *messages, *last_message;   /* likewise, its sends and receives */
};

struct thread_state *error_thread(void);

/* Inside the library errors are set only through this name. */
#define error_set ccs_error_set

/** A status that another process sent: unchanged if it is one of ccs.h's failures, else
 *  CCS_ESYSTEM. */
ccs_status error_of_peer(long long status);

/* A text built from parts. What does not fit is cut. */
struct text {
	size_t len;
	char buf[CCS_TEXT];
};

void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
