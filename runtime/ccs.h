/*
 * libccs: runs compiled schedules.
 *
 *     struct ccs_module *m;
 *     struct ccs_comm *comm[4];
 *     ccs_module_load(&m, "ar.so");
 *     ccs_comm_init_all(comm, 4);
 *     ccs_group_start();
 *     for (int r = 0; r < 4; r++)
 *             ccs_run(m, send[r], recv[r], count, CCS_FLOAT32, CCS_SUM, 0, comm[r], NULL);
 *     ccs_group_end();
 *
 * Every function returns CCS_OK (0) or a negative ccs_status; ccs_error() then
 * gives the text, which belongs to the calling thread and holds until its next
 * call that fails. All functions may be called from any thread; one communicator
 * handle by one thread at a time.
 *
 * fork(): modules are the child's, too, whatever other threads of the parent were doing.
 * A communicator stays its parent's, and goes on there. The child can free its copy (then
 * its memory is given back, nobody is waited for, and no GPU is touched) and ask for rank,
 * size and device; all else fails with CCS_EABORTED, also the end of a group that the parent has
 * open with calls in it. It can make communicators of its own; on GPUs only if its parent
 * had not used one yet, as with anything of CUDA's.
 */
#ifndef CCS_H
#define CCS_H

#if !defined(__LP64__)
#error "ccs needs a 64-bit system: modules and counts are 64 bits wide. Build it without -m32."
#elif __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "ccs needs a little-endian system: modules are read as they lie in the file."
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CCS_API __attribute__((visibility("default")))
#define CCS_PRINTF __attribute__((format(printf, 2, 3)))
#else
#define CCS_API
#define CCS_PRINTF
#endif

typedef enum ccs_status {
	CCS_OK = 0,
	CCS_EINVAL = -1,  /* an argument is wrong */
	CCS_EFILE = -2,	  /* the file cannot be read, or is no module of this version */
	CCS_ENOPLAN = -3, /* the module has no plan for that number of ranks or root */
	CCS_ENOMEM = -4,
	CCS_ETIMEOUT = -5,     /* no progress for the communicator's timeout */
	CCS_EABORTED = -6,     /* the communicator failed before, or is another process's;
				   make a new one */
	CCS_EUNSUPPORTED = -7, /* what this build or machine lacks; the text says what */
	CCS_ESYSTEM = -8       /* the system refused (threads); the text has errno's */
} ccs_status;

/* Element types, in NCCL's order; the last two it has not. */
typedef enum ccs_dtype {
	CCS_INT8,
	CCS_UINT8,
	CCS_INT32,
	CCS_UINT32,
	CCS_INT64,
	CCS_UINT64,
	CCS_FLOAT16,
	CCS_FLOAT32,
	CCS_FLOAT64,
	CCS_BFLOAT16,
	CCS_FLOAT8E4M3,
	CCS_FLOAT8E5M2,
	CCS_INT16,
	CCS_UINT16,
	CCS_NDTYPES
} ccs_dtype;

/* Operators. Narrow floats are combined in float32 and rounded once an operation.
 * Premul-sum has a function of its own, ccs_run_premul(). */
typedef enum ccs_redop {
	CCS_SUM,
	CCS_PROD,
	CCS_MAX, /* and MIN: of floats, a number rather than a NaN */
	CCS_MIN,
	CCS_AVG,  /* divided by the number of ranks (integers: truncated toward zero) */
	CCS_BAND, /* and, or, exclusive or: of the elements' bits, whatever the type */
	CCS_BOR,
	CCS_BXOR,
	CCS_NREDOPS
} ccs_redop;

struct ccs_module;
struct ccs_comm;

#define CCS_TEXT 2048 /* bytes of the longest text of a failure, with its NUL */

/** The text of this thread's last failure; never NULL. */
CCS_API const char *ccs_error(void);
/** Sets that text, cut to CCS_TEXT, and returns `s`: for programs that tell of failures of
 *  their own, or keep a text over calls that may fail. */
CCS_API ccs_status ccs_error_set(ccs_status s, const char *format, ...) CCS_PRINTF;
/** "CCS_ETIMEOUT" */
CCS_API const char *ccs_status_name(ccs_status s);
/** Version of this library, "MAJOR.MINOR.PATCH". */
CCS_API const char *ccs_version(void);

/** Bytes of one element; 0 for a number that is no type. */
CCS_API size_t ccs_dtype_size(ccs_dtype t);
/** "float32"; NULL for a number that is no type. */
CCS_API const char *ccs_dtype_name(ccs_dtype t);
/** "sum" */
CCS_API const char *ccs_redop_name(ccs_redop op);

/* What an element type is. A float has its sign in the highest bit, then exponent and
 * mantissa, as in IEEE 754; but CCS_FLOAT8E4M3 has no infinities, and a NaN only where all
 * bits of both are set. */
struct ccs_dtype_info {
	const char *name, *alias; /* alias: nccl-tests' name; NULL if it is the same */
	size_t size;		  /* bytes */
	int exponent, mantissa;	  /* bits of them; 0 of integers */
	int is_signed;
	int nccl; /* NCCL's number; -1: it has none */
};

/** CCS_EINVAL: no such type. */
CCS_API ccs_status ccs_dtype_describe(ccs_dtype t, struct ccs_dtype_info *info);

/* What an operator is. */
struct ccs_redop_info {
	const char *name;
	int chooses; /* its result is one of its operands, bit for bit */
	int nccl;    /* NCCL's number; -1: it has none */
	int bits;    /* it is of the elements' bits */
};

/** CCS_EINVAL: no such operator. */
CCS_API ccs_status ccs_redop_describe(ccs_redop op, struct ccs_redop_info *info);
/** Whether an operator that chooses takes *p rather than *q, of a wide type: CCS_INT64,
 *  CCS_UINT64 or CCS_FLOAT64. 0 for other types, and operators that compute. */
CCS_API int ccs_redop_takes(ccs_redop op, ccs_dtype wide, const void *p, const void *q);

/**
 * Reads a module from a shared object made by ccc. No code of the file is run
 * or mapped executable: its table is checked in every field before use.
 * CCS_EFILE if the file is none, is truncated, damaged, or of another version.
 *
 * What loading promises is form, not sense. Every number of a plan is inside its range,
 * so that a call on the CPU stays inside its buffers whatever the file's bytes are; on a
 * GPU the module's kernels are run as they are. That a plan computes its contract without
 * deadlock is what ccc has proved, and the checksum tells that these are still the bytes.
 * A module that was altered, with its checksum mended by hand, loads if its form is right,
 * and may compute something else, or deadlock, which ends in CCS_ETIMEOUT.
 * ccs_module_verify / `ccrun --verify` proves a module again.
 */
CCS_API ccs_status ccs_module_load(struct ccs_module **out, const char *path);
/** The same from memory, e.g. &ccs_module_v1 of a linked schedule; `bytes` must
 *  outlive the module, and the communicators that have run it, which keep it. `size` is the most
 *  that may be read. */
CCS_API ccs_status ccs_module_open(struct ccs_module **out, const void *bytes, size_t size);
CCS_API void ccs_module_free(struct ccs_module *m);

CCS_API const char *ccs_module_schedule(const struct ccs_module *m);
CCS_API const char *ccs_module_contract(const struct ccs_module *m);
/** Whether there is a plan for that number of ranks. */
CCS_API int ccs_module_has(const struct ccs_module *m, int nranks);
/** Whether the root is chosen at the call (else `root` of ccs_run is ignored). */
CCS_API int ccs_module_rooted(const struct ccs_module *m);
/** Elements that the send and the receive buffer of a rank hold for `count`
 *  (for an inout buffer both are the same). Modules with more than one buffer
 *  of a kind: the sum over them; they lie one after another. Without buffers: 0.
 *  CCS_EUNSUPPORTED: one is `sized`, and a call says how long its chunks are. */
CCS_API ccs_status ccs_module_elements(const struct ccs_module *m, int nranks, size_t count,
				       size_t *send, size_t *recv);

/*
 * What a module holds, for programs that take any module: to test, measure or draw it.
 * Plans are numbered from 0, by number of ranks, then by root; buffers as the contract names
 * them. Texts are the module's. CCS_EINVAL: no plan, buffer, rank ... has that number.
 */

struct ccs_module_info {
	int plans, buffers; /* how many */
	unsigned slots;	    /* of every FIFO: what the plans were proved with */
	int reduces;	    /* an operator matters */
	int averages;	    /* ... and all results are sums, so that CCS_AVG and premul-sum have
			       a meaning */
	int even_counts;    /* a count must be divided by every buffer's number of chunks */
	int by_column;	    /* has such buffers: a call has a number of rows */
	int sized;	    /* has such buffers: a call has the sizes of a rank's chunks */
};

CCS_API ccs_status ccs_module_describe(const struct ccs_module *m, struct ccs_module_info *info);

/** The plan for that number of ranks and root (ignored where the module has none); -1: there
 *  is none. */
CCS_API int ccs_module_find(const struct ccs_module *m, int nranks, int root);

/* Chunks are numbered from 0 over a rank's buffers: buffer by buffer, block by block. */
struct ccs_plan_info {
	int nranks, root;    /* root -1: it has none */
	uint32_t chunks;     /* of a rank */
	uint32_t orders;     /* for ccs_module_after */
	uint64_t operations; /* of all ranks */
};

CCS_API ccs_status ccs_module_plan(const struct ccs_module *m, int plan,
				   struct ccs_plan_info *info);

typedef enum ccs_direction { CCS_IN, CCS_OUT, CCS_INOUT } ccs_direction;

/* With q = count / chunks, rounded up, chunk c of a block is its elements from
 * min(c q, count) to min((c + 1) q, count). By column: with count / rows instead of count,
 * and in every row of the buffer, which has blocks * count / rows elements. Sized: its chunks
 * lie one after another, each as long as the call says. */
struct ccs_buffer_info {
	const char *name;
	ccs_direction direction;
	uint32_t blocks; /* of `count` elements */
	uint32_t chunks; /* of a block */
	uint32_t first;	 /* number of its first chunk */
	int by_column, sized;
};

CCS_API ccs_status ccs_module_buffer(const struct ccs_module *m, int plan, int buffer,
				     struct ccs_buffer_info *info);

/* What chunk `chunk` of ranks first to first + ranks - 1 holds before the call, each `times`
 * times. */
struct ccs_term {
	uint32_t chunk, first, ranks, times;
};

/** The number of a `sized` chunk's size on that rank, below the ranks' chunks in all: chunks of one
 *  number, on whatever ranks, must be equally long in a call, and others need not. CCS_EINVAL, too:
 *  the chunk is not `sized`. */
CCS_API ccs_status ccs_module_size_number(const struct ccs_module *m, int plan, int rank,
					  uint32_t chunk, uint32_t *number);

/**
 * What a chunk of a rank must hold after a call: the contract's word, whatever the plan's
 * operations do. Element k of it is element k of all its terms, combined by the operator.
 * Writes the first `room` terms; *n is how many there are: 0 if nothing is promised of the
 * chunk. O(terms).
 */
CCS_API ccs_status ccs_module_expects(const struct ccs_module *m, int plan, int rank,
				      uint32_t chunk, struct ccs_term *terms, size_t room,
				      size_t *n);

/* Rank `rank` ends a call after ranks first to first + ranks - 1 have begun it. */
struct ccs_order {
	uint32_t rank, first, ranks;
};

/** Order number `order` of those that the contract asks for, as a barrier does. */
CCS_API ccs_status ccs_module_after(const struct ccs_module *m, int plan, uint32_t order,
				    struct ccs_order *after);

/** Elements in all messages of a call, of all ranks together. CCS_EINVAL: they, or `count`,
 *  are too many to be run; CCS_EUNSUPPORTED, as with ccs_module_elements. Matrices `by column`
 *  are taken for ones of one row. O(operations). */
CCS_API ccs_status ccs_module_moved(const struct ccs_module *m, int plan, size_t count,
				    uint64_t *elements);

/* What was proved of a plan. */
struct ccs_proof {
	uint64_t promised;	   /* chunks that end with what the contract says */
	uint64_t messages, direct; /* how many there are; ... that need no FIFO */
};
/** Told of every plan: CCS_OK, or what is wrong with it (ccs_error() says more; `proof` is
 *  zero then). `of` is the caller's. */
typedef void ccs_proved(void *of, int plan, ccs_status s, const struct ccs_proof *proof);

/**
 * Proves a module's plans again, from its bytes: that each ends, that nothing races,
 * that every cell ends with what the module promises, and that all lengths agree, for
 * every count that it can be run with, in place and out of place; and, where the contract
 * asks for an order, as a barrier does, that no rank ends too early. CCS_EFILE: one is not
 * right, and the text names the plan, the rank, the operation and its line; CCS_ENOMEM.
 * With `proved` all plans are looked at, and the first failure is returned; NULL: it ends
 * there.
 *
 * A module that was made by ccc was proved like this before it was written, so this is
 * for modules from elsewhere: see ccs_module_load. It takes about as long as ccc took to
 * check the schedule; `ccrun --verify` calls it, too.
 */
CCS_API ccs_status ccs_module_verify(const struct ccs_module *m, ccs_proved *proved, void *of);

/**
 * A communicator of `nranks` ranks, all in this process: one handle a rank in
 * comm[0..nranks-1]. The ranks' workers are fibers, run by one thread per core.
 */
CCS_API ccs_status ccs_comm_init_all(struct ccs_comm **comm, int nranks);
/**
 * The same on a GPU of this machine (0 is the first): all ranks live there, their
 * buffers are its memory, and one kernel does the work of all. ccs_run takes a
 * CUstream (or cudaStream_t; NULL is the default stream), returns when the work is
 * put there, and can be captured into a graph; every rank may have a stream of its
 * own. Calls, and replays of graphs, that could run side by side take turns (the first
 * capture waits for earlier calls); but two graphs instantiated from one capture must
 * not run side by side. CCS_EUNSUPPORTED: no driver, or no GPU that can do it.
 */
CCS_API ccs_status ccs_comm_init_cuda(struct ccs_comm **comm, int nranks, int device);
/**
 * The same on several GPUs: rank i on GPU devices[i]; NULL: on all GPUs of this machine, in
 * contiguous blocks as even as can be. GPUs that reach one another's
 * memory exchange messages there, others by way of the host's (all do, if
 * CCS_P2P_DISABLE=1). A rank's buffers and streams are those of its GPU. Calls and
 * replays that could run side by side must come in the same order on all GPUs: one that
 * is first here and last there waits for itself, and ends in CCS_ETIMEOUT.
 */
CCS_API ccs_status ccs_comm_init_devices(struct ccs_comm **comm, int nranks, const int *devices);

/* What the processes of a communicator find one another by: an ncclUniqueId. */
typedef struct ccs_unique_id {
	char internal[128];
} ccs_unique_id;

/** One process makes it and gives it to the others. CCS_EUNSUPPORTED: no NCCL. */
CCS_API ccs_status ccs_get_unique_id(ccs_unique_id *id);
/**
 * A communicator of `nranks` processes, of which this is rank `rank`, on GPU `device`.
 * Returns when all have called it. Ranks on one host exchange messages through their
 * GPUs' memory (CUDA IPC) or the host's; ranks on several hosts by NCCL, and then calls
 * cannot be captured. All ranks make
 * the same calls in the same order; the first one of a plan, type and operator waits for
 * all of them. When a rank fails or gets stuck, ccs_comm_check tells of it in all.
 */
CCS_API ccs_status ccs_comm_init_rank(struct ccs_comm **comm, int nranks, const ccs_unique_id *id,
				      int rank, int device);
/** The same, by what torchrun, mpirun or srun has put into the environment: rank, number
 *  of ranks, GPU, where rank 0 is ($CCS_RENDEZVOUS=HOST:PORT, if they don't say), and the
 *  job's name ($CCS_JOB_TOKEN): processes that do not know it are turned away. What fails
 *  in one process fails in all that come within $CCS_RENDEZVOUS_SECONDS (300).
 *  CCS_EINVAL: they did not start this process. */
CCS_API ccs_status ccs_comm_init_env(struct ccs_comm **comm);

/* How processes on one host find one another. */
struct ccs_procs {
	int rank, nranks;
	const char *job; /* a name that no other job on this host has, best a random one; or NULL */
	const char
		*address; /* HOST:PORT of rank 0; NULL: a socket of this host, by the job's name */
	unsigned seconds; /* that they may take to come, all of them; 0: 300 */
};

/**
 * A communicator of `procs->nranks` processes on this host's CPU, of which this is one, over
 * shared memory. NULL: as ccs_comm_init_env finds them. Returns when all have called it; what
 * fails in one before that fails in all that come. All ranks make the same calls in the same order.
 *
 * A message that is long enough is read where it lies: in place, if ccs_mem_alloc made the
 * buffer; else by the system, if it lets processes read one another's memory, and trials among the
 * calls show that this is quicker than what else is done: it is copied on its way, into
 * shared memory and out of it, as is what is sent to a process that has not tried to read yet.
 * ($CCS_CROSS_MEMORY_DISABLE=1: never read so; 0: wherever the system lets it. Unless it is 1, and
 * until the last such communicator is freed, processes of the same user may trace this one:
 * PR_SET_PTRACER of prctl(2), where Yama's ptrace_scope is 1.)
 *
 * What fails in one process fails in all, with the same text, also in calls that are still
 * under way, and the communicator has failed: calls that differ, memory that cannot be had, a
 * timeout, a process that ends or frees its communicator while others wait for it. The memory
 * has no name, and is gone with the processes, however they end.
 * CCS_EUNSUPPORTED: they are on several hosts, or of several users.
 */
CCS_API ccs_status ccs_comm_init_procs(struct ccs_comm **comm, const struct ccs_procs *procs);
/**
 * A communicator of all processes that MPI has started, on one host or several, on the CPU:
 * their messages go by MPI's, in a communicator of MPI's of its own. MPI is initialised, if
 * nobody has; then this communicator is freed after all others of MPI's, and by all processes,
 * as that ends MPI. Calls, of this and all of MPI's, come from one thread at a time
 * (MPI_THREAD_SERIALIZED). All ranks make the same calls in the same order.
 *
 * What fails in one process fails in all, and the communicator has failed: calls that differ
 * between ranks that exchange messages, memory that cannot be had, a timeout, what MPI fails
 * with. A process that ends without a word is its mpirun's to see, which ends the job. A call
 * that has failed returns when MPI has given its buffers back. As MPI cannot take back a message
 * that another process has begun, that may take longer than the timeout if that one stands still,
 * or is busy elsewhere: up to 10 s, and if MPI has them even then the text says so; then they must
 * stay as they are until the program ends. Where MPI was initialised here, ccs_comm_free of a
 * communicator that has failed waits for all processes to come there, no longer than the timeout
 * (0: 30 s). If one does not come, MPI_Finalize would wait for it for ever: then stderr gets a line,
 * MPI does not end, and mpirun ends the job when a process exits (srun: --kill-on-bad-exit).
 * CCS_EUNSUPPORTED: there is no plug-in for MPI (ccs_mpi_library).
 */
CCS_API ccs_status ccs_comm_init_mpi(struct ccs_comm **comm);

/**
 * Memory for send and receive buffers, page by page: calls take any, but this is what the ranks
 * of the communicator reach without a copy: where they are processes, it is shared (the first 64
 * buffers that there are at a time; more are as any other memory). It belongs to the communicator, which frees it at last. CCS_ENOMEM; CCS_EUNSUPPORTED: they are on
 * GPUs.
 */
CCS_API ccs_status ccs_mem_alloc(struct ccs_comm *c, size_t bytes, void **out);
/** NULL is fine. CCS_EINVAL: it is not the communicator's. */
CCS_API ccs_status ccs_mem_free(struct ccs_comm *c, void *at);

/* What a launcher has put into the environment of this process. */
struct ccs_env {
	const char *launcher; /* "torchrun" (or any that sets RANK), "mpirun", "srun"; NULL: none
				 has started it, and it is rank 0 of 1 */
	int rank, size;
	int local_rank, local_size; /* on this host; local_size 0: nobody told */
};

/** Reads it, and asks nobody else. CCS_EINVAL: it contradicts itself, and the text names the
 *  variable; *env has what could be read. */
CCS_API ccs_status ccs_env_read(struct ccs_env *env);

/** Whether a call that has returned has failed since, on the GPU. A communicator that
 *  failed stays so. */
CCS_API ccs_status ccs_comm_check(struct ccs_comm *c);
/**
 * Ends all calls of the communicator that are under way, and those to come, with CCS_EABORTED and
 * the text `why`: for a process that cannot go on. It waits for nobody, and another thread may be
 * inside a call. On ranks that are processes on one host's CPU all ranks' calls end so; elsewhere
 * those of this process, and the others learn of its end. The handle is still to be freed, after
 * the calls have returned. One that has failed before stays as it is. CCS_EUNSUPPORTED: ranks reach
 * one another by MPI, which one thread at a time calls.
 */
CCS_API ccs_status ccs_comm_abort(struct ccs_comm *c, const char *why);
/** Frees one rank's handle; the last one ends the threads. A process waits there for the
 *  others' ends, as they may use its memory: no longer than the timeout (0: 30 s). In a forked
 *  process: see fork() above. */
CCS_API void ccs_comm_free(struct ccs_comm *c);
CCS_API int ccs_comm_rank(const struct ccs_comm *c);
CCS_API int ccs_comm_size(const struct ccs_comm *c);
/** The GPU where this rank lives, as this process numbers GPUs; -1: on the CPU. */
CCS_API int ccs_comm_device(const struct ccs_comm *c);
/** The same in a word, by which tunings are found: "tasks" (the CPU of one process), "procs"
 *  (processes of a host), "mpi", "cuda" (GPUs of a host), "hosts" (GPUs of several). */
CCS_API const char *ccs_comm_engine(const struct ccs_comm *c);
/** Where the ranks live, for people: "8 ranks on one GPU, NVIDIA H200 (...)". Processes of a host
 *  tell also which way of long messages was quickest when it was last tried, if it was. */
CCS_API ccs_status ccs_comm_describe(struct ccs_comm *c, char *text, size_t size);

/* What the processes of a communicator tell one another, between calls: a few bytes, times,
 * failures. All call it, in the same order, and it waits for them. */

/** Every rank's process gives `bytes` bytes, and gets those of all in the order of ranks, at
 *  all[rank * bytes]. Where one process has all ranks they are `mine`, for each. */
CCS_API ccs_status ccs_comm_gather(struct ccs_comm *c, const void *mine, void *all, size_t bytes);
/** How a step went on all processes: `here`, with its text (ccs_error_set), if it failed in
 *  this one; else what the first other failed with; CCS_OK if none did. */
CCS_API ccs_status ccs_comm_agree(struct ccs_comm *c, ccs_status here);
/** The processes' ncclComm_t, for NCCL's calls beside ccs's: it belongs to the communicator,
 *  and NCCL is ccs_nccl_library's. NULL: there is one process, or it can no longer be used. */
CCS_API void *ccs_comm_nccl(const struct ccs_comm *c);

/*
 * Communicators of some ranks of another one, and device meshes.
 *
 *     ccs_comm_split(comm, rank / 4, rank, &four);            two or more of four ranks each
 *     ccs_comm_group(comm, (int[]){ 5, 2 }, 2, &pair);        rank 5 is its rank 0
 *
 * All ranks of `comm` make the call. In a group (ccs_group_start) it is made at the end, and
 * *out is written then. *out is a communicator like any other, of the same engine, with the
 * timeout, threads and idle function that `comm` has now; it shares nothing with it, so that either
 * may be freed first, and can be split itself. A rank that is in none gets NULL, and takes no
 * part in what the others do with theirs. Ranks in texts of failures of these calls are those of
 * `comm`; of the new communicator's calls they are the new ones.
 *
 * What is wrong in one rank fails in all: arguments, lists that differ, another of these calls,
 * memory that cannot be had; `comm` can be used after that. A rank that does not come, or makes a
 * call of another sort, is waited for as in a call of ccs_run: after the timeout all fail, and
 * `comm` has failed. (Of GPUs of several processes after a failure of NCCL's, too.)
 */

#define CCS_NO_COLOR (-1)

/** A communicator for each colour (0 or more, or CCS_NO_COLOR), of the ranks that have it, in the
 *  order of their keys and then of their ranks: MPI_Comm_split, ncclCommSplit. */
CCS_API ccs_status ccs_comm_split(struct ccs_comm *comm, int color, int key, struct ccs_comm **out);
/** A communicator of those `n` ranks, in the order of the list, which all ranks give alike:
 *  torch.distributed's new_group. */
CCS_API ccs_status ccs_comm_group(struct ccs_comm *comm, const int *ranks, int n,
				  struct ccs_comm **out);

/* The ranks of a communicator as points of a box, in row-major order, as torch's DeviceMesh
 * has them: of 2 x 3, rank 3 i + k is at (i, k). */
struct ccs_mesh;

/** A mesh of one rank's handle, with `ndims` dimensions of these lengths, whose product is the
 *  number of ranks. No rank waits for another. `comm` must outlive it. */
CCS_API ccs_status ccs_mesh_create(struct ccs_mesh **mesh, struct ccs_comm *comm, const int *dims,
				   int ndims);
/** Where a rank lies: one number for each dimension. */
CCS_API ccs_status ccs_mesh_coordinates(const struct ccs_mesh *mesh, int rank, int *coordinates);
/**
 * The communicator of the ranks that differ from this one in the dimensions along[0..n-1] alone:
 * along {1} of a mesh of 2 x 3 this rank's row, of 3 ranks. Of several dimensions it is flat,
 * row-major in the order in which they are given. All ranks of the mesh make the call, as
 * ccs_comm_split, and each has to free what it gets.
 */
CCS_API ccs_status ccs_mesh_slice(const struct ccs_mesh *mesh, const int *along, int n,
				  struct ccs_comm **out);
/** Not its slices. NULL is fine. */
CCS_API void ccs_mesh_free(struct ccs_mesh *mesh);

/**
 * No rank's call returns before all have called. On GPUs nothing that is put into a rank's
 * stream behind it begins before all that was put into every rank's stream before it has
 * ended; the call returns when that is put there, which needs all ranks of this process, but
 * waits for no GPU and no other process. `stream` is NULL on the CPU. In a group it begins with
 * the group's other calls; of these it only waits for those whose calls return. A request has none:
 * there, ccs_run() dissemination_barrier.ccs of the library.
 */
CCS_API ccs_status ccs_barrier(struct ccs_comm *comm, void *stream);

/** How a run on GPUs was cut. */
struct ccs_run_shape {
	unsigned protocol; /* CCS_RUN_... */
	unsigned channels; /* copies of the plan, each with a part of every chunk */
	unsigned blocks;   /* of this process's kernels, together: at most one for each worker and
			      channel */
	unsigned threads;  /* of a block */
	uint64_t tile;	   /* elements of a chunk that a channel moves at a time */
	uint64_t tiles;	   /* and how often */
	uint64_t slots;	   /* bytes of the slots that hold messages, on the GPU with most: up to
			      some 30 MB they stay in its L2 cache */
};
/** How the newest run of a communicator was cut, which was begun; before any, all is 0.
 *  CCS_EUNSUPPORTED: its ranks are not on GPUs. */
CCS_API ccs_status ccs_comm_last_run(struct ccs_comm *c, struct ccs_run_shape *shape);

/*
 * Traces: which operations of a schedule were done, when, and by which worker. `ccrun --trace` writes
 * one.
 *
 *     ccs_trace_create(&trace, comm, 100000);
 *     ccs_trace_start(trace, 1);
 *     ...                                            calls: the first warms up
 *     ccs_trace_stop(trace);
 *     if (rank == 0)
 *         ccs_trace_save(trace, "trace.json");       for Perfetto, or chrome://tracing
 *
 * Traced calls are done operation by operation, also where other calls with the same arguments are
 * done in larger pieces: of tasks, and of short chunks. Their results are the same. An untraced call
 * takes no longer than without traces.
 */
struct ccs_trace;

/** Room for that number of operations of this process's ranks, each once for each tile; a call takes as much
 *  as two operations more, and each of its ranks as one. Operations that have no room are counted, and not
 *  noted. All ranks that are processes make the call. It must be freed before the communicator.
 *  CCS_EUNSUPPORTED: ranks are on GPUs, or on several hosts, which have several clocks. */
CCS_API ccs_status ccs_trace_create(struct ccs_trace **trace, struct ccs_comm *c,
				    size_t operations);
/** Calls of the communicator's ranks are traced from now on, of this process's ranks, and no longer.
 *  Of the first `warmup` of them, each is forgotten when the next one begins: they lay out
 *  the memory of later calls, and a first call that never ends is noted all the same. CCS_EINVAL: a call is under way. */
CCS_API ccs_status ccs_trace_start(struct ccs_trace *trace, unsigned warmup);
/** Later calls are not traced. A trace may be started again, and has those calls, too. */
CCS_API ccs_status ccs_trace_stop(struct ccs_trace *trace);
/** Writes what the ranks of all processes have done so far, also of a communicator that has failed: in
 *  rank 0's process; else CCS_EINVAL. The calls of other ranks should be over. The file is
 *  there whole, or as it was. CCS_EFILE: it cannot be written. */
CCS_API ccs_status ccs_trace_save(const struct ccs_trace *trace, const char *path);
/* Calls that are noted; operations that had no room. */
struct ccs_trace_counts {
	uint64_t calls, left_out;
};
/** In rank 0's process of all ranks; else of this process's. */
CCS_API ccs_status ccs_trace_count(const struct ccs_trace *trace, struct ccs_trace_counts *counts);
/** NULL is fine. No call may be under way. */
CCS_API void ccs_trace_free(struct ccs_trace *trace);

/** Milliseconds without any progress after which a call fails with
 *  CCS_ETIMEOUT (default 30,000; 0: never). Holds for all ranks. Kernels wait for
 *  ever, until a timeout is set here: a rank may come minutes later, for good reasons. */
CCS_API ccs_status ccs_comm_set_timeout(struct ccs_comm *c, unsigned milliseconds);
/** From now on no call fails by the timeout: `late` is called with the report, of who waits for whom,
 *  by each thread that has waited so long, once until something moves, and the wait goes on. It must
 *  not call ccs. Holds for all ranks of this process. NULL: calls fail again.
 *  CCS_EUNSUPPORTED: they are on GPUs (ccs_comm_waits). */
CCS_API ccs_status ccs_comm_set_late(struct ccs_comm *c, void (*late)(void *of, const char *report),
				     void *of);
/** Which ranks of this process have waited in kernels for longer than the timeout since it was last
 *  asked, where, and for whom; for people. "": none has, or they live on the CPU. */
CCS_API ccs_status ccs_comm_waits(struct ccs_comm *c, char *text, size_t size);
/** What this rank's process does while a call of its waits for others: it is called by the thread
 *  that called, again and again, and returns for how many milliseconds at most the thread may
 *  sleep then, if nothing happens; 0: it polls, and asks again. It must not call ccs. NULL:
 *  nothing. CCS_EUNSUPPORTED: the ranks are not processes on the CPU. */
CCS_API ccs_status ccs_comm_set_idle(struct ccs_comm *c, unsigned (*idle)(void *of), void *of);
/** Threads that run the fibers; 0 (default): one per core this process may use.
 *  Before the first call only. */
CCS_API ccs_status ccs_comm_set_threads(struct ccs_comm *c, unsigned threads);

/**
 * Runs a schedule as rank `comm`. `count` is the block of the contract, in
 * elements: NCCL's count of the same collective. `sendbuff == recvbuff`: in
 * place. Overlap of an `in` and an `out` buffer is allowed (the input is then
 * copied aside). A buffer that has no elements, or that this rank does not use, may be
 * NULL. `root` is ignored where the module has none. `stream` is for GPUs; NULL on the CPU.
 *
 * A module without buffers, such as a barrier, moves no data: pass NULL, NULL and a count
 * of 0. `type` and `op` mean nothing then, but must be some that there are.
 *
 * CCS_EINVAL also for a count that the number of chunks does not divide, where a contract
 * of the user's own moves values to other places in a block.
 *
 * Where a buffer is `by column` it is a row-major matrix, and a chunk, or block, a group of its
 * columns: see `rows` of ccs_run_options. Where one is `sized` its chunks have sizes of their
 * own: see `sizes` there.
 *
 * Returns when this rank's part is done. Inside ccs_group_start/end it only
 * records the call; without a group, every rank must be called from a thread
 * of its own.
 */
CCS_API ccs_status ccs_run(const struct ccs_module *m, const void *sendbuff, void *recvbuff,
			   size_t count, ccs_dtype type, ccs_redop op, int root,
			   struct ccs_comm *comm, void *stream);

/** The same for op = premul-sum: every contribution is multiplied by *scalar (one element of
 *  `type`) and summed. It is read before the call returns, or is recorded in a group, and lies in
 *  the host's memory, also on GPUs. Each rank gives a scalar of its own. */
CCS_API ccs_status ccs_run_premul(const struct ccs_module *m, const void *sendbuff, void *recvbuff,
				  size_t count, ccs_dtype type, const void *scalar, int root,
				  struct ccs_comm *comm, void *stream);

/** The same with a factor for each element: element i of the rank's sendbuff is multiplied by
 *  factors[i], of `type`, and the products are summed. Each rank gives factors of its own, as
 *  many as its sendbuff has elements; in a group they must stay until its end. On GPUs they are
 *  the rank's GPU's memory, as sendbuff, and are read when the call's turn comes in the stream. */
CCS_API ccs_status ccs_run_premul_vector(const struct ccs_module *m, const void *sendbuff,
					 void *recvbuff, size_t count, ccs_dtype type,
					 const void *factors, int root, struct ccs_comm *comm,
					 void *stream);

/*
 * An operator of the user's own, for ranks on the CPU: as tasks, processes, or by MPI.
 *
 * result[i] = first[i] op second[i], for n elements. `result` overlaps neither operand, and the
 * operands must stay as they are. `type` is the call's. The operator must be associative, and
 * its function must not call ccs. Several threads call it at a time, each for other elements, all
 * with the same `context`: it must guard what it changes there.
 */
typedef void ccs_combine(void *result, const void *first, const void *second, size_t n,
			 ccs_dtype type, void *context);
struct ccs_user_op;

/**
 * `bytes` is the size of an element, up to 4096; 0: that of the call's type. Elements of other
 * sizes lie at multiples of 8 bytes, or of the highest power of two that divides their size, if it
 * is less. `commutes` 0: operands come in the order of ranks, of which the contract's sums are:
 * rank 0's is the first of all. Only plans that combine in that order can be run so (of the
 * library chain_reduce towards rank 0 and fixed_order_allreduce, but no ring).
 */
CCS_API ccs_status ccs_user_op_create(struct ccs_user_op **out, ccs_combine *combine, void *context,
				      size_t bytes, int commutes);
/** NULL is fine. CCS_EINVAL: a call is still under way with it, also one that a group has
 *  recorded; it stays. Calls hold it from any communicator, and any number at a time. */
CCS_API ccs_status ccs_user_op_free(struct ccs_user_op *op);
/** ccs_run() with an operator of the user's own: `count` counts its elements, and every rank gives
 *  one that has as large elements, and commutes, too, or not. CCS_EUNSUPPORTED: the ranks are on
 *  GPUs; it does not commute, and the plan does not combine in the order of ranks: the text names
 *  the line where. */
CCS_API ccs_status ccs_run_user_op(const struct ccs_module *m, const void *sendbuff, void *recvbuff,
				   size_t count, ccs_dtype type, const struct ccs_user_op *op,
				   int root, struct ccs_comm *comm, void *stream);

/* How a call is run, as far as the engine need not choose: 0 everywhere leaves all to it. */
struct ccs_run_options {
	const void *scalar; /* premul-sum with that factor, in the place of `op`; NULL: `op` */
	size_t tile;	   /* on the CPU: bytes of a chunk that go in one message, at most, from 512
			       on. Memory may ask for less */
	unsigned protocol; /* on GPUs of one host: CCS_RUN_... */
	unsigned channels; /* ... and on so many channels at most; 0: as many as pay */
	const void *factors; /* premul-sum with these: see ccs_run_premul_vector; or NULL */
	const struct ccs_user_op *user_op; /* in the place of `op`; or NULL */
	/* Of a module with a buffer `by column`: rows of a block, which has `count` elements in
	 * all of them, so rows must divide count; the buffer has as many, of its blocks side by side. Others on the same ranks are rows x columns elements in one piece.
	 * 0 for other modules, and where count is 0. */
	size_t rows;
	/* Of a module with a `sized` buffer: elements of each chunk of these buffers on this rank,
	 * buffer by buffer; chunks lie one after another. So all_to_all has N numbers of what it
	 * sends, then N of what it gets, as MPI_Alltoallv. Each rank gives its own, which are read
	 * before the call returns. Before anything moves they are compared: what a rank
	 * sends must be as long as what its receiver expects, else all fail with CCS_EINVAL, and the
	 * text names both. `count` is that of the other buffers; 0 if there are none. Ranks that are
	 * processes tell one another their sizes in each such call: so calls of several
	 * communicators in one group come in the same order on all. (Processes on GPUs, too: the
	 * call waits for all ranks' calls then, though not for what is in their streams. A captured
	 * call's replays have its sizes.) NULL for other modules. */
	const size_t *sizes;
};
enum { CCS_RUN_SIMPLE = 1, CCS_RUN_LL = 2 };

#define CCS_OPTIONS_TEXT 32 /* bytes of their longest text, with its NUL */

/** How, as tunings have it: "auto", a tile, such as "64K", or "ll", "simple/8". */
CCS_API void ccs_run_options_text(const struct ccs_run_options *options, char *text, size_t size);

/** ccs_run() with options; NULL: without. All ranks give the same, but for scalar, factors, the
 *  function of user_op, and sizes. */
CCS_API ccs_status ccs_run_with(const struct ccs_module *m, const struct ccs_run_options *options,
				const void *sendbuff, void *recvbuff, size_t count, ccs_dtype type,
				ccs_redop op, int root, struct ccs_comm *comm, void *stream);

/*
 * Tunings: which module runs a collective, and how, by the size of the call.
 *
 *     struct ccs_tuning *t;
 *     ccs_tuning_load(&t, "host.tuning");
 *     ccs_run_tuned(t, "allreduce", send, recv, count, CCS_FLOAT32, CCS_SUM, 0, comm, NULL);
 *
 * `ccrun --tune` measures one and writes it, as a text that people can read and edit:
 * ccs-tuning(5). A size is the larger of a rank's send and receive buffers, in bytes. A tuning
 * has sections, one for a collective (a contract's name), a number of ranks and an engine
 * (ccs_comm_engine), numbered from 0; and these have rows, by ascending sizes.
 *
 * Nothing else is ever run: where there is no section, the call fails. A tuning that was loaded
 * does not change, and any threads may use it at a time.
 */
struct ccs_tuning;

struct ccs_tuning_section {
	const char *collective, *engine;
	int nranks;
	const char *measured; /* how, in words; "": nothing is said */
	int rows;
	int first, last; /* of all numbers of ranks that the same lines are for, nranks among them;
			  * not looked at by ccs_tuning_put */
};

struct ccs_tuning_row {
	uint64_t most;	  /* the largest size that it is for; UINT64_MAX: all that are larger */
	const char *file; /* of the module; not absolute: below the tuning's folder */
	struct ccs_run_options options;
	double us; /* measured, of one call; negative: it was not */
	/* The next best that was measured; NULL: there was none. */
	const char *next_file;
	struct ccs_run_options next_options;
	double next_us;
	const struct ccs_module *module; /* the tuning's own; NULL, where it was only read */
};

/** The name of the tuning that comes with ccs, with its modules: for processes and tasks, from 2 to
 *  16 ranks, as measured on another machine. A file of that name is "./default". */
#define CCS_TUNING_DEFAULT "default"
/** Reads a tuning, and loads all its modules: each must implement its section's collective, and
 *  have plans for its ranks. CCS_EFILE, CCS_ENOPLAN: the text names the line. */
CCS_API ccs_status ccs_tuning_load(struct ccs_tuning **out, const char *path);
/** The same without any module, to be looked at or changed. NULL: an empty one. */
CCS_API ccs_status ccs_tuning_read(struct ccs_tuning **out, const char *path);
CCS_API void ccs_tuning_free(struct ccs_tuning *t);
/** Equal, where text and modules are. */
CCS_API uint64_t ccs_tuning_digest(const struct ccs_tuning *t);

/** CCS_EINVAL: it has no section, or row, of that number. */
CCS_API ccs_status ccs_tuning_section(const struct ccs_tuning *t, int section,
				      struct ccs_tuning_section *out);
CCS_API ccs_status ccs_tuning_row(const struct ccs_tuning *t, int section, int row,
				  struct ccs_tuning_row *out);
/** The section's number; -1: there is none, and ccs_error() says which there are. */
CCS_API int ccs_tuning_find(const struct ccs_tuning *t, const char *collective, int nranks,
			    const char *engine);
/** The row that a call of that size takes: the first whose `most` is not below it. */
CCS_API int ccs_tuning_row_of(const struct ccs_tuning *t, int section, uint64_t size);
/** Says what a call of that size takes, and why, in a line or two: the schedule and how it is
 *  run, its time and the next best's, and by which rule a size that was not measured goes. */
CCS_API ccs_status ccs_tuning_explain(const struct ccs_tuning *t, int section, uint64_t size,
				      char *text, size_t text_size);

/** What a communicator's call takes. CCS_EINVAL: there is no section for it; count or type are
 *  wrong; the tuning was only read. O(sections + rows). */
CCS_API ccs_status ccs_tuning_choose(const struct ccs_tuning *t, const char *collective,
				     const struct ccs_comm *comm, size_t count, ccs_dtype type,
				     struct ccs_tuning_row *out);
/** ccs_run() with the module and the options that the tuning has for the call. All ranks must
 *  choose alike: where their tunings differ in it, calls differ, and all fail with that. */
CCS_API ccs_status ccs_run_tuned(const struct ccs_tuning *t, const char *collective,
				 const void *sendbuff, void *recvbuff, size_t count, ccs_dtype type,
				 ccs_redop op, int root, struct ccs_comm *comm, void *stream);

/** Puts a section with its rows in the place of the one for the same collective, ranks and
 *  engine, or behind all others; every other line of the text stays as it is. Of the last row
 *  `most` is UINT64_MAX. Modules are not looked at. CCS_EINVAL: it would be no tuning. */
CCS_API ccs_status ccs_tuning_put(struct ccs_tuning *t, const struct ccs_tuning_section *section,
				  const struct ccs_tuning_row *rows);
/** Writes its text: the whole file, or nothing. CCS_ESYSTEM. */
CCS_API ccs_status ccs_tuning_save(const struct ccs_tuning *t, const char *path);

/** Calls between start and end, of this thread, begin together at end, which
 *  returns when all are done, with the first error. Groups nest. */
CCS_API ccs_status ccs_group_start(void);
CCS_API ccs_status ccs_group_end(void);

/*
 * Point to point, and calls that go on while the caller works.
 *
 *     ccs_group_start();
 *     ccs_send(mine, count, CCS_FLOAT32, (rank + 1) % n, comm, NULL);
 *     ccs_recv(theirs, count, CCS_FLOAT32, (rank + n - 1) % n, comm, NULL);
 *     ccs_group_submit(&request);
 *     work();
 *     ccs_wait(request);
 *     ccs_request_free(request);
 */

/**
 * Sends `count` elements to a rank, which calls ccs_recv with as many of the same type; and the
 * other way round. As with NCCL, messages of two ranks and a communicator match in the order of
 * their calls, each direction for itself; calls of one group go on together, in any order, so that
 * an exchange in a group cannot deadlock; outside a group a call returns when the message is
 * through, and waits for the peer until then: two ranks that both send first wait for each other,
 * until the timeout.
 *
 * CCS_EINVAL, on both ranks: counts or types of the two sides differ; nothing is written then, and
 * the communicator goes on. CCS_EINVAL, here: the peer is no rank, or, outside a group, this one.
 * CCS_ETIMEOUT: nothing of the communicator's messages has moved for the timeout; the text names
 * rank and peer, and the communicator has failed, as it has when the peer's process ends
 * (CCS_EABORTED).
 *
 * `stream` is NULL on the CPU. On GPUs it is as ccs_run's: a call returns when its peer has called,
 * too, and the message is in both streams; the buffers are of the ranks' GPUs.
 *
 * GPUs of several processes: NCCL's own send and receive carry the messages, those of a group,
 * on any communicators, as one group of NCCL's. A call returns when its message is in the rank's
 * stream, whether the peer has called or not, but for a pair's first, which may wait for it. NCCL
 * does not compare: counts and types that differ, or a peer that never calls, leave the
 * stream waiting, or worse, without a word, and no timeout of ccs's counts there. What NCCL refuses
 * fails all of the group's calls with its text, and the communicators have failed. A message of no
 * elements is not sent.
 *
 * Processes on the CPU read a message where it lies, as far as
 * ccs_comm_init_procs says; else it is copied in pieces, on its way.
 */
CCS_API ccs_status ccs_send(const void *sendbuff, size_t count, ccs_dtype type, int peer,
			    struct ccs_comm *comm, void *stream);
CCS_API ccs_status ccs_recv(void *recvbuff, size_t count, ccs_dtype type, int peer,
			    struct ccs_comm *comm, void *stream);

#define CCS_ANY_SOURCE (-1)

/**
 * The same with a tag (0 or more; ccs_send and ccs_recv have 0), and from any rank, for ranks that
 * are tasks, or processes of a host, on the CPU. A receive takes a message that has its tag, from its
 * peer, or, with CCS_ANY_SOURCE, from whichever rank's comes first. Messages of two ranks with one tag
 * match in the order of their calls; of several receives that fit the first called has it.
 * `source`, if it is not NULL, tells who sent, when the receive is over, and must stay until then.
 *
 * A message that a peer has sent before the one that a receive waits for is kept, in memory of the
 * communicator's: its sender's call returns then, and if it differs from what is received later the
 * receiver alone is told. A rank keeps 256 MiB at most; what is more waits with its sender, and a
 * time-out says so.
 *
 * CCS_EUNSUPPORTED: the tag is not 0, or the peer CCS_ANY_SOURCE, and the ranks are on GPUs, or
 * processes of MPI's. All else is as with ccs_send.
 */
CCS_API ccs_status ccs_send_tagged(const void *sendbuff, size_t count, ccs_dtype type, int peer,
				   int tag, struct ccs_comm *comm, void *stream);
CCS_API ccs_status ccs_recv_tagged(void *recvbuff, size_t count, ccs_dtype type, int peer, int tag,
				   int *source, struct ccs_comm *comm, void *stream);

/* The end of a group that nobody waits for yet. One thread at a time uses it. */
struct ccs_request;

/**
 * Ends the group, as ccs_group_end does, but returns when its calls have begun: runs of modules,
 * sends and receives, on any communicators. Their buffers are in use until the request has
 * finished. Of a call with `sizes` it waits until all ranks' processes have told theirs.
 * CCS_EINVAL: it is inside another group, which then fails; or the group has a call in which all
 * ranks meet (ccs_barrier, ccs_comm_split and its like), as these have no request: a split makes a
 * communicator that must be there when the call returns, and a barrier that nobody waits for is a
 * schedule's. *request is NULL on a failure, and nothing has begun.
 *
 * The calls go on while the caller works, by up to two threads of each communicator, which the
 * first request makes, or the first group with both runs and messages; the timeout counts for
 * them, too. Where processes reach one another by MPI there are no threads, as MPI is called by
 * one at a time: its requests move in ccs_test and ccs_wait, and in other calls of the
 * communicator. On GPUs a request has finished when its calls would have returned.
 */
CCS_API ccs_status ccs_group_submit(struct ccs_request **request);
/** *done: whether all its calls are over; then it has finished, and the status is theirs, as that
 *  of ccs_group_end. Does not wait. CCS_EINVAL: it had finished before, as was told by ccs_test or
 *  ccs_wait. */
CCS_API ccs_status ccs_test(struct ccs_request *request, int *done);
/** Waits until it has finished. CCS_EINVAL, as above. */
CCS_API ccs_status ccs_wait(struct ccs_request *request);
/** Waits for `n` requests, also if one fails; the status is the first failure, in their order.
 *  CCS_EINVAL: one of them had finished, or is NULL; then for none. */
CCS_API ccs_status ccs_wait_all(struct ccs_request *const *requests, int n);
/** Waits until it has finished, if it has not. NULL is fine. So does ccs_comm_free, for the
 *  requests of the handle, which then are as finished as any. */
CCS_API void ccs_request_free(struct ccs_request *request);

/** NVIDIA's driver, and NCCL, as this library has found them, for programs that link neither:
 *  handles for dlsym(), which stay open. CCS_EUNSUPPORTED: there is none, and the text says
 *  what to install. */
CCS_API ccs_status ccs_cuda_library(void **library);
CCS_API ccs_status ccs_nccl_library(void **library);
/** The plug-in for MPI, libccs_mpi.so, which is built where there is an MPI: beside libccs.so, or
 *  $CCS_MPI_PLUGIN. Its table of functions is `ccs_mpi_calls` (runtime/mpi/calls.h).
 *  CCS_EUNSUPPORTED: there is none, or it was built with another version of ccs. */
CCS_API ccs_status ccs_mpi_library(void **library);

/* Called by the typed functions that ccc generates; `module` is ccs_module_v1.
 * The module is opened once a process and module. */
CCS_API ccs_status ccs_call(const void *module, const void *sendbuff, void *recvbuff, size_t count,
			    ccs_dtype type, ccs_redop op, int root, struct ccs_comm *comm,
			    void *stream);

#ifdef __cplusplus
}
#endif

#endif
