/*
 * A stand-in for libcuda.so.1. Memory of a "device" is the host's, and can be shared
 * between processes; kernels are run by an interpreter of the launch contract; and every
 * call is checked: that it is legal now, that its arguments name live things of the right
 * device, that nothing is left at the end. An illegal call ends the process with a line
 * "fake_cuda: ILLEGAL: ...".
 *
 *   core.c     the table of live things, injected failures, the log
 *   device.c   devices, contexts, peers
 *   memory.c   allocations, pinned memory, copies
 *   ipc.c      memory of other processes
 *   streams.c  streams, events, what runs now and what later
 *   graph.c    capture, graphs
 *   modules.c  modules, launches, their order
 *   occupancy.c  how many blocks of a kernel are resident
 *   check.c    a launch before it runs: tables, sizes, places
 *   run.c      the interpreter
 *   waits.c    ... and how its launches wait (machine.h)
 *
 * When things run. Work that need not wait is done inside the call, so a launch that waits for no
 * message of another launch is over when it returns. A launch that exchanges messages with launches of
 * other devices or processes runs in the stream's thread, and all later work of the stream does, too.
 * With FAKE_CUDA_ASYNC all work does, and is not over when its call returns. Memory is allocated and
 * freed when the device is idle: a program that does so between launches which wait for one another
 * hangs, as it may with a real driver. A launch begins when all its blocks fit next to the running
 * ones. A call that finds its stream full (FAKE_CUDA_QUEUE) waits. Vector clocks find work that a GPU
 * would run unordered: launches of one communicator on one device must be ordered by streams and
 * events, or take turns (call.turn).
 *
 * The environment steers it:
 *   FAKE_CUDA_GPUS=1            devices; CUDA_VISIBLE_DEVICES chooses among them
 *   FAKE_CUDA_PEERS=all         none: no device reaches another's memory
 *   FAKE_CUDA_SMS=132, FAKE_CUDA_CAPABILITY=90, FAKE_CUDA_VERSION=13000
 *   FAKE_CUDA_REGISTERS=128, FAKE_CUDA_SHARED=12288 (of a thread, of a block of a kernel of which
 *                               neither is known: occupancy.h)
 *   FAKE_CUDA_ASYNC=0           1: no work is done in the call that gives it
 *   FAKE_CUDA_QUEUE=1024        the most work of a stream
 *   FAKE_CUDA_SHARE=1           ... of which a launch gets 1/SHARE, as under MPS,
 *                               though the driver counts all of them; 8@1: of GPU 1 alone.
 *                               A captured launch is refused when its graph is made
 *   FAKE_CUDA_STUCK=RANK        blocks of that rank never move, in launches made while
 *                               it is set. All other ranks give up after the call's limit; a
 *                               launch without messages of other launches counts as over
 *   FAKE_CUDA_PATIENCE=20       seconds without progress after which a launch that has
 *                               no limit is illegal
 *   FAKE_CUDA_COUNTS=FILE       what threads of launches of PTX have done is appended there
 *   FAKE_CUDA_FORK=1            a forked process may go on with the driver, as no real one
 *                               lets it: for tests that are forks of one process
 *   FAKE_CUDA_FAIL=NAME:K:CODE  the K-th call of NAME fails with CODE
 *   FAKE_CUDA_LOG=FILE          a line a call
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include "runtime/cuda/device/args.h"
#include "tests/fake_cuda/occupancy.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))
#define DEVICES 16
#define STREAMS 128
#define OBJECTS 8192

typedef unsigned long long ptr;

/* The driver's errors that are given. */
enum {
	BAD_VALUE = 1,
	NO_MEMORY = 2,
	NOT_INITIALIZED = 3,
	NO_DEVICE = 100,
	BAD_DEVICE = 101,
	BAD_IMAGE = 200,
	BAD_CONTEXT = 201,
	MAPPING_FAILED = 205,
	NO_BINARY = 209,
	PEER_UNSUPPORTED = 217,
	BAD_HANDLE = 400,
	NOT_FOUND = 500,
	NOT_READY = 600,
	PEER_ALREADY = 704,
	PEER_NOT_ENABLED = 705,
	ALREADY_PINNED = 712,
	TOO_LARGE = 720,
	CAPTURE_UNSUPPORTED = 900,
	CAPTURE_INVALID = 901,
	CAPTURE_UNMATCHED = 903,
	CAPTURE_UNJOINED = 904,
	CAPTURE_ISOLATION = 905,
	CAPTURED_EVENT = 907
};

/* ---- core.c ------------------------------------------------------------------------- */

enum kind { FREE, DEVICE, HOST, PINNED, MANAGED, MAPPED, EVENT, MODULE, GRAPH, EXEC };

/* A live object. Memory is at [p, p + bytes); other objects are known by p. */
struct object {
	enum kind kind;
	char *p;
	size_t bytes;
	int device;	  /* its device; MAPPED: the device that may use it */
	int owner;	  /* MAPPED: its device, or -1: not visible here */
	bool portable;	  /* HOST, PINNED */
	int fd, refs;	  /* DEVICE, MAPPED */
	size_t mapped;	  /* bytes, with the page behind the memory */
	unsigned long id; /* DEVICE: for IPC handles; MAPPED: the same there */
	int pid;	  /* MAPPED */
};

struct clock {
	unsigned long at[STREAMS];
};

struct capture;
struct orders;
struct work;

struct stream {
	int number, device;
	bool used;
	struct clock clock, before; /* before: as it was when a capture began */
	struct capture *capture;
	struct work *first, *last; /* to be done */
	int pending;		   /* so much */
	bool busy;		   /* a thread does its work */
};

struct event {
	int device, refs;
	bool timed;
	unsigned long recorded; /* number of the last record */
	unsigned long
		*ahead; /* [nahead]: work before it that is not done; streams do it in any order */
	int nahead;
	long long ns; /* when the last one was done */
	struct clock clock;
	unsigned long capture; /* recorded in it; 0: in none */
};

struct device {
	int retained;
	bool reaches[DEVICES]; /* its context may use that one's memory */
};

struct fake {
	pthread_mutex_t lock;
	pthread_cond_t change; /* some work is done */
	int started;	       /* the process that called cuInit */
	struct device devices[DEVICES];
	struct object objects[OBJECTS];
	int nobjects;		  /* none is live from here on */
	unsigned long generation; /* of memory: grows when some is freed */
	unsigned long ids;
	struct stream streams[STREAMS]; /* the first DEVICES: default streams */
	struct clock host;		/* what the host has waited for */
	int captures;			/* that forbid other threads unsafe calls */
};
extern struct fake fake;

void illegal(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
int number(const char *variable, int otherwise);
/** Logs a call; the error that it is to fail with, or 0. */
int fails(const char *name);

#define ENTER(name) \
	do { \
		int failure_ = fails(name); \
		if (failure_) \
			return failure_; \
	} while (0)

void lock(void);
void unlock(void);

/* Under the lock. */
struct object *add(enum kind kind, void *p, size_t bytes, int device);
/** Ends the process if there is none. */
struct object *find(enum kind kind, const void *p, const char *name);
void drop(struct object *o);
/** The live memory that holds [p, p + n), or NULL. */
struct object *memory_at(const void *p, size_t n);
/** Says what a device's context leaves behind. */
void report_leaks(int device);

/* ---- device.c ------------------------------------------------------------------------ */

/** The current context's device; ends the process if there is none. */
int need_context(const char *name);
int visible(void);	   /* how many devices */
int physical(int device);  /* which one of the machine's that is */
int visible_as(int which); /* and back; or -1 */
bool peers(int a, int b);
/** For calls that a capture may forbid: 0 or the error. The capture is spoilt then. */
int unsafe(const char *name);

/* ---- memory.c ------------------------------------------------------------------------- */

/* Where memory is, seen from a device. */
enum place { NEAR, FAR };

/** That the device may use [p, p + n), and that it is in one live allocation. */
enum place check_memory(int device, const void *p, size_t n, const char *what);
/** That it is the device's own. */
void check_own(int device, const void *p, size_t n, const char *what);
/** Maps a file of `bytes`, and a page that counts who else has mapped it. */
void *map_file(int fd, size_t bytes, size_t *mapped);

/* ---- ipc.c ----------------------------------------------------------------------------- */

/** Ends the process if another one has the memory mapped still. */
void check_unmapped(const struct object *o);

/* ---- streams.c ------------------------------------------------------------------------- */

enum what { COPY, SET, CALL, LAUNCH, RECORD, WAIT, REPLAY };

struct work {
	enum what what;
	char *to;
	const char *from;
	size_t n;
	unsigned char value;
	void *aside; /* freed with it */
	void (*call)(void *);
	void *data;
	struct launch *launch;
	struct event *event;
	unsigned long seq;
	struct exec *exec;
	struct work *next;
};

/** Does it now, or puts it into the stream; or into the graph. Takes `w` over. With the
 *  lock held; other calls may come in between. */
int submit(struct stream *s, struct work w);
void perform(const struct work *w);
/** The stream of a handle; NULL: the default one of the current context's device. */
struct stream *stream_of(const void *handle, const char *name);
/** The same, of whatever device. */
struct stream *any_stream(const void *handle, const char *name);
void tick(struct stream *s);
void merge(struct clock *to, const struct clock *from);
/** Until nothing is left to be done in the stream; in all of a device. */
void drain(const struct stream *s);
void drain_device(int device);
long long now(void);
/** ns of a device's clock before that: each has another. */
uint64_t clock_ahead(int device);

/* ---- graph.c ---------------------------------------------------------------------------- */

/** What a capture answers to an unsafe call by a thread in that mode. Under the lock. */
int capture_forbids(int mode);
/** The call's work becomes part of the graph. */
void capture_add(struct stream *s, const struct work *w);
unsigned long capture_id(const struct capture *c);
struct orders **capture_orders(struct capture *c);
/** The stream joins the capture that the event was recorded in. */
int capture_join(struct stream *s, const struct event *e);
/** All launches of the graph may run, as far as the order goes. */
void exec_order(const struct stream *s, struct exec *x);
bool exec_alone(const struct exec *x);
void exec_run(struct exec *x);
void exec_release(struct exec *x);

/* ---- modules.c --------------------------------------------------------------------------- */

/* What a loaded kernel computes. */
struct fake_kernel {
	unsigned type, op, protocol;
	bool layouts; /* cells are found by the call's table */
	bool traced;  /* it notes times */
	struct kernel_needs needs;
};

struct launch {
	struct fake_kernel kernel;
	const struct ptx *code; /* to be executed; NULL: it does as the contract says */
	struct ccs_dev_call call;
	unsigned blocks, threads;
	int device;
	int stuck;	       /* a rank with blocks that don't move; -1: none */
	int patience;	       /* seconds */
	bool alone;	       /* waits for no message of others */
	long long room, whole; /* of the multiprocessors that it takes, and that there are */
};

/** The launch must come after all of its communicator on its device, or take turns.
 *  `orders`: of a capture; NULL: of what is launched. */
void order_launch(struct orders **orders, const struct stream *s, const struct launch *l);
void orders_free(struct orders *o);
/** Memory that is gone names no communicator any more. */
void orders_forget(const void *p, size_t n);
bool may_start(const struct launch *l);
/** Whether it is more than the process has of the device. */
bool too_large(const struct launch *l);
/** Waits until its blocks fit on the device; and gives their room back. */
void room_take(const struct launch *l);
void room_give(const struct launch *l);

/* ---- check.c ------------------------------------------------------------------------------ */

/** Checks a launch, and finds out whether it waits for others. */
void check_launch(struct launch *l);

/* ---- execute.c --------------------------------------------------------------------------- */

/** Reads what NVRTC made; ends the process if it is not understood. */
struct ptx *read_code(const char *text);
/** Executes a launch's code, and logs what its threads have done. */
void execute(const struct launch *l);

/* ---- run.c --------------------------------------------------------------------------------- */

/** Runs a launch to its end. */
void fake_run(const struct launch *l);
/** Whether launches stop when they have begun (fake_hold). */
bool fake_held(void);

#endif
