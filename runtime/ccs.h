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
 * Every function returns CCS_OK (0) or a negative ccs_status. After a failure ccs_error() returns
 * the text. The text belongs to the calling thread and is valid until the next failure there.
 * Any thread may call any function, but only one thread at a time may use a given communicator
 * handle.
 *
 * fork(): the child may use the parent's modules, even if other threads of the parent were using
 * them. A communicator stays with the parent and keeps working there. The child may free its copy
 * (this releases memory, waits for no rank and touches no GPU) and may read its rank, size and
 * device. Every other call on it fails with CCS_EABORTED; so does the end of a group that the
 * parent has opened and that holds calls. The child may create new communicators; on GPUs only if
 * the parent had not used a GPU before fork(), which is a rule of CUDA.
 */
#ifndef CCS_H
#define CCS_H

#if !defined(__LP64__)
#error "ccs needs a 64-bit system: modules and counts are 64 bits wide. Build it without -m32."
#elif __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "ccs needs a little-endian system: modules are used in the byte order of the file."
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
	CCS_EFILE = -2,	  /* the file cannot be read, or is not a module of this version */
	CCS_ENOPLAN = -3, /* the module has no plan for that number of ranks or root */
	CCS_ENOMEM = -4,
	CCS_ETIMEOUT = -5,     /* no progress within the communicator's timeout */
	CCS_EABORTED = -6,     /* the communicator failed earlier, or belongs to another process;
				   create a new one */
	CCS_EUNSUPPORTED = -7, /* this build or machine lacks something; the text names it */
	CCS_ESYSTEM = -8       /* the system, MPI, NCCL or a GPU's driver failed; the text has its
				  message */
} ccs_status;

/* Element types, in NCCL's order. NCCL lacks the last two. */
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

/* Operators. Floats narrower than 32 bits are combined in float32 and rounded after each
 * operation. Premul-sum has its own function, ccs_run_premul(). */
typedef enum ccs_redop {
	CCS_SUM,
	CCS_PROD,
	CCS_MAX, /* MAX and MIN of a number and a NaN give the number */
	CCS_MIN,
	CCS_AVG,  /* sum divided by the number of ranks (integers: truncated toward zero) */
	CCS_BAND, /* bitwise and, or, exclusive or of the elements, for every type */
	CCS_BOR,
	CCS_BXOR,
	CCS_NREDOPS
} ccs_redop;

struct ccs_module;
struct ccs_comm;

#define CCS_TEXT 2048 /* bytes of the longest error text, including its NUL */

/** The text of this thread's last failure; never NULL. */
CCS_API const char *ccs_error(void);
/** Sets that text, cut to CCS_TEXT bytes, and returns `s`. For programs that report their own
 *  failures this way, or that keep a text across calls that may fail. */
CCS_API ccs_status ccs_error_set(ccs_status s, const char *format, ...) CCS_PRINTF;
/** "CCS_ETIMEOUT" */
CCS_API const char *ccs_status_name(ccs_status s);
/** The version of this library, "MAJOR.MINOR.PATCH". */
CCS_API const char *ccs_version(void);

/** Bytes of one element; 0 if `t` is not a type. */
CCS_API size_t ccs_dtype_size(ccs_dtype t);
/** "float32"; NULL if `t` is not a type. */
CCS_API const char *ccs_dtype_name(ccs_dtype t);
/** "sum" */
CCS_API const char *ccs_redop_name(ccs_redop op);

/* An element type. A float is laid out as in IEEE 754: sign in the highest bit, then exponent,
 * then mantissa. CCS_FLOAT8E4M3 has no infinities, and its only NaN has all exponent and mantissa
 * bits set. */
struct ccs_dtype_info {
	const char *name, *alias; /* alias: the name in nccl-tests; NULL if it is the same */
	size_t size;		  /* bytes */
	int exponent, mantissa;	  /* number of bits; 0 for integers */
	int is_signed;
	int nccl; /* NCCL's number; -1 if NCCL lacks the type */
};

/** CCS_EINVAL: there is no such type. */
CCS_API ccs_status ccs_dtype_describe(ccs_dtype t, struct ccs_dtype_info *info);

/* An operator. */
struct ccs_redop_info {
	const char *name;
	int chooses; /* the result is one of the operands, bit for bit */
	int nccl;    /* NCCL's number; -1 if NCCL lacks the operator */
	int bits;    /* a bitwise operator */
};

/** CCS_EINVAL: there is no such operator. */
CCS_API ccs_status ccs_redop_describe(ccs_redop op, struct ccs_redop_info *info);
/** Whether an operator that chooses takes *p rather than *q. `wide` is CCS_INT64, CCS_UINT64 or
 *  CCS_FLOAT64. 0 for other types and for operators that compute. */
CCS_API int ccs_redop_takes(ccs_redop op, ccs_dtype wide, const void *p, const void *q);

/**
 * Reads a module from a shared object made by ccc. No code of the file is run or mapped
 * executable. Every field of the module's table is checked before use. CCS_EFILE: the file is not
 * a module, is truncated or damaged, or has another version.
 *
 * Loading checks form, not meaning. Every number of a plan is within its range, so a call on the
 * CPU stays inside its buffers whatever the file contains; on a GPU the module's kernels run as
 * they are. ccc has proved that a plan computes its contract without deadlock, and the checksum
 * shows that the bytes have not changed since. A module that was edited and given a new checksum
 * loads if its form is right. It may compute something else, or deadlock, which ends in
 * CCS_ETIMEOUT. ccs_module_verify and `ccrun --verify` prove a module again.
 */
CCS_API ccs_status ccs_module_load(struct ccs_module **out, const char *path);
/** The same from memory, e.g. &ccs_module_v1 of a linked schedule. At most `size` bytes are read.
 *  `bytes` must outlive the module and every communicator that has run it. */
CCS_API ccs_status ccs_module_open(struct ccs_module **out, const void *bytes, size_t size);
CCS_API void ccs_module_free(struct ccs_module *m);

CCS_API const char *ccs_module_schedule(const struct ccs_module *m);
CCS_API const char *ccs_module_contract(const struct ccs_module *m);
/** nccl-tests' factor from algorithm bandwidth to bus bandwidth, for a collective (a contract's name):
 *  2 (n-1)/n of allreduce. 1 of a name that nccl-tests does not have. */
CCS_API double ccs_bus_factor(const char *collective, int nranks);
/** Whether the module has a plan for that number of ranks. */
CCS_API int ccs_module_has(const struct ccs_module *m, int nranks);
/** Whether the caller chooses the root. If not, `root` of ccs_run is ignored. */
CCS_API int ccs_module_rooted(const struct ccs_module *m);
/** Elements that a rank's send buffer and receive buffer hold for `count`. For an inout buffer the
 *  two are equal. A module with several buffers of a kind stores them one after another, and this
 *  is their sum. 0 without buffers. CCS_EUNSUPPORTED: a buffer is `sized`, so each call gives the
 *  lengths of its chunks. */
CCS_API ccs_status ccs_module_elements(const struct ccs_module *m, int nranks, size_t count,
				       size_t *send, size_t *recv);

/*
 * The contents of a module, for programs that test, measure or draw any module. Plans are numbered
 * from 0, by number of ranks, then by root. Buffers are in the contract's order. The module owns
 * all texts. CCS_EINVAL: no plan, buffer, rank, ... has that number.
 */

struct ccs_module_info {
	int plans, buffers; /* their numbers */
	unsigned slots;	    /* of every FIFO: the plans were proved with this number */
	int reduces;	    /* the operator matters */
	int averages;	    /* it reduces, and all results are sums: CCS_AVG and premul-sum are
			       defined */
	int even_counts;    /* every buffer's number of chunks must divide the count */
	int by_column;	    /* some buffer is `by column`: a call has a number of rows */
	int sized;	    /* some buffer is `sized`: a call has the sizes of a rank's chunks */
};

CCS_API ccs_status ccs_module_describe(const struct ccs_module *m, struct ccs_module_info *info);

/** The plan for that number of ranks and root; -1 if there is none. `root` is ignored if the
 *  module has no root. */
CCS_API int ccs_module_find(const struct ccs_module *m, int nranks, int root);

/* Chunks are numbered from 0 over a rank's buffers: buffer by buffer, block by block. */
struct ccs_plan_info {
	int nranks, root;    /* root -1: no root */
	uint32_t chunks;     /* of a rank */
	uint32_t orders;     /* for ccs_module_after */
	uint32_t steps;	     /* messages that must follow one another */
	uint64_t operations; /* of all ranks */
};

CCS_API ccs_status ccs_module_plan(const struct ccs_module *m, int plan,
				   struct ccs_plan_info *info);

typedef enum ccs_direction { CCS_IN, CCS_OUT, CCS_INOUT } ccs_direction;

/* With q = count / chunks, rounded up, chunk c of a block is its elements from
 * min(c q, count) to min((c + 1) q, count). By column: the same with count / rows instead of
 * count, in every row of the buffer; a row has blocks * count / rows elements. Sized: the chunks
 * follow one another, and the call gives the length of each. */
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

/* The values that chunk `chunk` of ranks first to first + ranks - 1 has before the call, each
 * `times` times. */
struct ccs_term {
	uint32_t chunk, first, ranks, times;
};

/** The size number of a `sized` chunk on that rank, less than the number of chunks of all ranks.
 *  In a call, chunks with the same number have the same length, on all ranks. Chunks with
 *  different numbers may differ. CCS_EINVAL also if the chunk is not `sized`. */
CCS_API ccs_status ccs_module_size_number(const struct ccs_module *m, int plan, int rank,
					  uint32_t chunk, uint32_t *number);

/**
 * The value that the contract requires of a rank's chunk after a call, whatever the operations of
 * the plan: element k of the chunk is element k of all its terms, combined by the operator. Writes
 * the first `room` terms. *n is the number of terms; 0 if the contract requires nothing of the
 * chunk. O(terms).
 */
CCS_API ccs_status ccs_module_expects(const struct ccs_module *m, int plan, int rank,
				      uint32_t chunk, struct ccs_term *terms, size_t room,
				      size_t *n);

/* Rank `rank` ends a call after ranks first to first + ranks - 1 have begun it. */
struct ccs_order {
	uint32_t rank, first, ranks;
};

/** Order number `order` of the contract, for example a barrier's. */
CCS_API ccs_status ccs_module_after(const struct ccs_module *m, int plan, uint32_t order,
				    struct ccs_order *after);

/** Elements in all messages of a call, summed over all ranks. Matrices `by column` count as
 *  matrices of one row. CCS_EINVAL: the sum, or `count`, is too large to be run. CCS_EUNSUPPORTED:
 *  as with ccs_module_elements. O(chunks of all messages). */
CCS_API ccs_status ccs_module_moved(const struct ccs_module *m, int plan, size_t count,
				    uint64_t *elements);

/* The proof of a plan. */
struct ccs_proof {
	uint64_t promised;	   /* chunks that end as the contract requires */
	uint64_t messages, direct; /* all messages; messages that need no FIFO */
};
/** Called for every plan with CCS_OK, or with the failure of its proof: then ccs_error() has the
 *  text and `proof` is zero. `of` is the caller's pointer. */
typedef void ccs_proved(void *of, int plan, ccs_status s, const struct ccs_proof *proof);

/**
 * Proves a module's plans again, from its bytes: every plan ends, without a race; every cell ends
 * as the module promises; all lengths agree, for every count that the module accepts, in place and
 * out of place; and, if the contract requires an order (a barrier's does), no rank ends too early.
 * CCS_EFILE: a plan is wrong; the text names the plan, the rank, the operation and its line.
 * CCS_ENOMEM. With `proved`, all plans are proved and the first failure is returned. With NULL the
 * first failure ends the proof.
 *
 * ccc proves every module in the same way before it writes it, so this function is for modules of
 * other origin: see ccs_module_load. The proof takes about as long as ccc took to check the
 * schedule. `ccrun --verify` calls this function.
 */
CCS_API ccs_status ccs_module_verify(const struct ccs_module *m, ccs_proved *proved, void *of);

/**
 * A communicator of `nranks` ranks, all in this process, with one handle per rank in
 * comm[0..nranks-1]. The ranks' workers are fibers, run by one thread per core.
 */
CCS_API ccs_status ccs_comm_init_all(struct ccs_comm **comm, int nranks);
/**
 * The same on one GPU of this machine (0 is the first). All ranks run there, their buffers are in
 * its memory, and one kernel does the work of all ranks. ccs_run takes a CUstream (or
 * cudaStream_t; NULL is the default stream), returns when the work is in the stream, and can be
 * captured into a graph. Every rank may use its own stream. Calls and graph replays that could run
 * concurrently take turns (the first capture waits for earlier calls), but two graphs instantiated
 * from one capture must not run concurrently. CCS_EUNSUPPORTED: there is no driver, or no GPU that
 * can run it.
 */
CCS_API ccs_status ccs_comm_init_cuda(struct ccs_comm **comm, int nranks, int device);
/**
 * The same on several GPUs, with rank i on GPU devices[i]. NULL: all GPUs of this machine, with
 * contiguous blocks of ranks, as even as possible. GPUs with peer access exchange messages in each
 * other's memory, other GPUs through host memory (all GPUs, if CCS_P2P_DISABLE=1). A rank's
 * buffers and streams belong to its GPU. Calls and replays that could run concurrently must come
 * in the same order on all GPUs: if one GPU has A before B, and another B before A, both wait
 * until CCS_ETIMEOUT.
 */
CCS_API ccs_status ccs_comm_init_devices(struct ccs_comm **comm, int nranks, const int *devices);

/* Identifies the communicator that a group of processes creates: an ncclUniqueId. */
typedef struct ccs_unique_id {
	char internal[128];
} ccs_unique_id;

/** One process calls this and passes the result to all processes. CCS_EUNSUPPORTED: no NCCL. */
CCS_API ccs_status ccs_get_unique_id(ccs_unique_id *id);
/**
 * A communicator of `nranks` processes. This process is rank `rank`, on GPU `device`. Returns when
 * all processes have called it. Ranks on one host exchange messages through GPU memory (CUDA IPC)
 * or host memory. Ranks on several hosts use NCCL, and their calls cannot be captured. All ranks
 * make the same calls in the same order. The first call of a plan, type and operator waits for all
 * ranks. If a rank fails or gets stuck, ccs_comm_check reports it in every process.
 */
CCS_API ccs_status ccs_comm_init_rank(struct ccs_comm **comm, int nranks, const ccs_unique_id *id,
				      int rank, int device);
/** The same, from the environment that torchrun, mpirun or srun sets: rank, number of ranks, GPU,
 *  address of rank 0 ($CCS_RENDEZVOUS=HOST:PORT, if the launcher gives none), and the job's name
 *  ($CCS_JOB_TOKEN): a process with another name is refused. A failure in one process fails in all
 *  processes that arrive within $CCS_RENDEZVOUS_SECONDS (300). CCS_EINVAL: no launcher started
 *  this process. */
CCS_API ccs_status ccs_comm_init_env(struct ccs_comm **comm);

/* How processes on one host find each other. */
struct ccs_procs {
	int rank, nranks;
	const char *job; /* a name that no other job on this host has, best a random one; or NULL */
	const char
		*address; /* HOST:PORT of rank 0; NULL: a socket of this host, by the job's name */
	unsigned seconds; /* how long to wait for all processes; 0: 300 */
};

/**
 * A communicator of `procs->nranks` processes on this host's CPU, over shared memory. This process
 * is one of them. NULL: as ccs_comm_init_env finds them. Returns when all processes have called
 * it. A failure in one process before that fails in all processes that arrive. All ranks make the
 * same calls in the same order.
 *
 * A short message is copied into shared memory and out of it. A long one can be read in place, in
 * one of two ways. If ccs_mem_alloc made the buffer, its memory is shared. Otherwise the receiver
 * reads the sender's memory by a system call, if the system permits it and trials among the
 * calls show that it is faster. A message to a process that has not yet tried such a read is
 * copied. $CCS_CROSS_MEMORY_DISABLE=1 turns these reads off; 0 uses them wherever the system
 * permits. Unless it is 1, processes of the same user may trace this process until the last such
 * communicator is freed (PR_SET_PTRACER of prctl(2), needed where Yama's ptrace_scope is 1).
 *
 * A failure in one process fails in all, with the same text, including calls that are under way;
 * the communicator has then failed. Causes: calls that differ, lack of memory, a timeout, a
 * process that ends or that frees its communicator while others wait for it. The shared memory has
 * no name and disappears with the processes, however they end. CCS_EUNSUPPORTED: the processes
 * are on several hosts, or belong to several users.
 */
CCS_API ccs_status ccs_comm_init_procs(struct ccs_comm **comm, const struct ccs_procs *procs);
/**
 * A communicator of all processes that MPI has started, on one host or several, on the CPU. It
 * sends messages through MPI, in a private MPI communicator. If MPI is not yet initialised, this
 * function initialises it; then all processes must free this communicator, after all other MPI
 * communicators, because that finalises MPI. Only one thread at a time may make calls, of all
 * communicators by MPI and of MPI (MPI_THREAD_SERIALIZED). All ranks make the same calls in the
 * same order.
 *
 * A failure in one process fails in all, and the communicator has failed. Causes: calls that
 * differ between ranks that exchange messages, lack of memory, a timeout, a failure of MPI, a
 * process that frees its communicator while others wait for it. If a process dies, its mpirun
 * notices and ends the job.
 *
 * A failed call returns when MPI has released its buffers. MPI cannot cancel a message that
 * another process has begun, so the call may return later than the timeout if that process stands
 * still or is busy elsewhere: up to 10 s. If MPI then still holds the buffers, the text says so,
 * and they must stay unchanged until the program ends.
 *
 * If this function initialised MPI, ccs_comm_free of a failed communicator waits for all processes
 * to call it, at most for the timeout (0: 30 s). If one does not, MPI_Finalize would wait for it
 * forever. Then MPI is not finalised, stderr gets a line, and mpirun ends the job when a process
 * exits (srun: with --kill-on-bad-exit).
 *
 * CCS_EUNSUPPORTED: there is no plug-in for MPI (ccs_mpi_library).
 */
CCS_API ccs_status ccs_comm_init_mpi(struct ccs_comm **comm);
/** The same, but several threads may make calls at the same time, each of another communicator
 *  (MPI_THREAD_MULTIPLE), also of communicators that are made from this one. CCS_EUNSUPPORTED also:
 *  MPI cannot do that, or was initialised without it. */
CCS_API ccs_status ccs_comm_init_mpi_threads(struct ccs_comm **comm);

/**
 * Memory for send and receive buffers, in whole pages. Calls accept any memory; this memory the
 * communicator's ranks reach without a copy: if the ranks are processes, it is shared (the first
 * 64 buffers in use at a time; further ones are ordinary memory). ccs_comm_free frees it, if
 * ccs_mem_free has not. CCS_ENOMEM. CCS_EUNSUPPORTED: the ranks are on GPUs.
 */
CCS_API ccs_status ccs_mem_alloc(struct ccs_comm *c, size_t bytes, void **out);
/** NULL is fine. CCS_EINVAL: the memory is not this communicator's. */
CCS_API ccs_status ccs_mem_free(struct ccs_comm *c, void *at);

/* The settings that a launcher has put into the environment of this process. */
struct ccs_env {
	const char *launcher; /* "torchrun" (or any that sets RANK), "mpirun", "srun"; NULL: no
				 launcher, and this process is rank 0 of 1 */
	int rank, size;
	int local_rank, local_size; /* on this host; local_size 0: unknown */
};

/** Reads them, without communication. CCS_EINVAL: the environment contradicts itself; the text
 *  names the variable, and *env has the values that could be read. */
CCS_API ccs_status ccs_env_read(struct ccs_env *env);

/** Whether a call failed on the GPU after it had returned. A communicator that failed stays
 *  failed. */
CCS_API ccs_status ccs_comm_check(struct ccs_comm *c);
/**
 * Ends all present and future calls of the communicator with CCS_EABORTED and the text `why`, for
 * a process that cannot go on. It does not block, and another thread may be inside a call. If the
 * ranks are processes on CPUs, the calls of all ranks end; elsewhere only the calls of
 * this process end, and other processes notice when this process ends. The handle must still be
 * freed, after its calls have returned. A communicator that failed earlier keeps its first text.
 * CCS_EUNSUPPORTED: the ranks use MPI, and it was not initialised by ccs_comm_init_mpi_threads.
 */
CCS_API ccs_status ccs_comm_abort(struct ccs_comm *c, const char *why);
/** Frees one rank's handle. The last one ends the threads. Where ranks are processes, it waits
 *  until every process calls it, as they may still use each other's memory: at most for the
 *  timeout (0: 30 s). In a forked process: see fork() above. */
CCS_API void ccs_comm_free(struct ccs_comm *c);
CCS_API int ccs_comm_rank(const struct ccs_comm *c);
CCS_API int ccs_comm_size(const struct ccs_comm *c);
/** The rank's GPU, as this process numbers GPUs; -1: the CPU. */
CCS_API int ccs_comm_device(const struct ccs_comm *c);
/** The engine, as tunings name it: "tasks" (CPU, one process), "procs" (CPU, processes of a host),
 *  "mpi", "cuda" (GPUs of a host), "hosts" (GPUs of several hosts). */
CCS_API const char *ccs_comm_engine(const struct ccs_comm *c);
/** Where the ranks run, as text: "8 ranks on one GPU, NVIDIA H200 (...)". For processes of a host,
 *  also the way of long messages that was fastest in the latest trial, if there was one. */
CCS_API ccs_status ccs_comm_describe(struct ccs_comm *c, char *text, size_t size);

/* Data that the processes of a communicator exchange between calls: a few bytes, times, failures.
 * All processes make these calls, in the same order, and each call waits for all of them. */

/** Every process gives `bytes` bytes at `mine`, and gets the bytes of all ranks, rank r's at
 *  all[r * bytes]. If one process has all ranks, `mine` is repeated for each rank. */
CCS_API ccs_status ccs_comm_gather(struct ccs_comm *c, const void *mine, void *all, size_t bytes);
/** The outcome of a step in all processes. Returns `here`, with its text (ccs_error_set), if the
 *  step failed in this process; otherwise the failure of the first rank where it failed;
 *  otherwise CCS_OK. */
CCS_API ccs_status ccs_comm_agree(struct ccs_comm *c, ccs_status here);
/** The ncclComm_t of the processes, for direct calls of NCCL. It belongs to the communicator and
 *  to the library that ccs_nccl_library returns. NULL: there is only one process, or the NCCL
 *  communicator can no longer be used. */
CCS_API void *ccs_comm_nccl(const struct ccs_comm *c);

/*
 * Communicators of some of a communicator's ranks, and device meshes.
 *
 *     ccs_comm_split(comm, rank / 4, rank, &four);            communicators of four ranks each
 *     ccs_comm_group(comm, (int[]){ 5, 2 }, 2, &pair);        rank 5 becomes rank 0
 *
 * All ranks of `comm` make the call (but for ccs_comm_create_group). In a group (ccs_group_start)
 * the call takes place at the end, and *out is written then. *out is a communicator like any other,
 * on the same engine, with the present timeout, threads and idle function of `comm`. It shares
 * nothing with `comm`: either may be freed first, and either may be split again. A rank that is in
 * no new communicator gets NULL and takes no further part. Error texts of these calls number ranks
 * as in `comm`; error texts of the new communicator's calls use the new numbers.
 *
 * A mistake in one rank fails in all: wrong arguments, lists that differ, different calls, lack of
 * memory. `comm` remains usable. If a rank does not come, or makes a call of another kind, all
 * fail after the timeout, as in ccs_run, and `comm` has failed. (With GPUs of several processes,
 * `comm` has also failed after a failure of NCCL.)
 */

#define CCS_NO_COLOR (-1)

/** One communicator per colour (0 or more, or CCS_NO_COLOR), of the ranks with that colour, sorted
 *  by key, then by rank: MPI_Comm_split, ncclCommSplit. */
CCS_API ccs_status ccs_comm_split(struct ccs_comm *comm, int color, int key, struct ccs_comm **out);
/** A communicator of the `n` ranks of the list, in its order. All ranks give the same list:
 *  torch.distributed's new_group. */
CCS_API ccs_status ccs_comm_group(struct ccs_comm *comm, const int *ranks, int n,
				  struct ccs_comm **out);
/** The same, by MPI: the ranks of the list alone call it, all of them, not in a group:
 *  MPI_Comm_create_group. `tag`, 0 to 32767, separates calls of several threads. It waits for
 *  these ranks without a limit, and a wrong list in one of them is not seen by the rest.
 *  CCS_EUNSUPPORTED: the communicator is not by MPI. */
CCS_API ccs_status ccs_comm_create_group(struct ccs_comm *comm, const int *ranks, int n, int tag,
					 struct ccs_comm **out);

/* The ranks of a communicator as points of a grid, in row-major order, as in torch's DeviceMesh:
 * in a mesh of 2 x 3, rank 3 i + k has the coordinates (i, k). */
struct ccs_mesh;

/** A mesh with `ndims` dimensions of the lengths dims[]. Their product is the number of ranks. The
 *  call is local. `comm` must outlive the mesh. */
CCS_API ccs_status ccs_mesh_create(struct ccs_mesh **mesh, struct ccs_comm *comm, const int *dims,
				   int ndims);
/** The coordinates of a rank, one per dimension. */
CCS_API ccs_status ccs_mesh_coordinates(const struct ccs_mesh *mesh, int rank, int *coordinates);
/**
 * The communicator of the ranks that differ from this one only in the dimensions along[0..n-1]:
 * along {1} of a mesh of 2 x 3 this is the rank's row, 3 ranks. Several dimensions become one,
 * row-major in the order of along[]. All ranks of the mesh make the call, as with ccs_comm_split,
 * and each frees its result.
 */
CCS_API ccs_status ccs_mesh_slice(const struct ccs_mesh *mesh, const int *along, int n,
				  struct ccs_comm **out);
/** Does not free slices. NULL is fine. */
CCS_API void ccs_mesh_free(struct ccs_mesh *mesh);

/**
 * No rank's call returns before all ranks have called. On GPUs this orders streams: work put into
 * a rank's stream after the barrier starts when all work put into every rank's stream before the
 * barrier has ended. There the call returns when the barrier is in the streams: it needs the calls
 * of all ranks of this process, but waits for no GPU and no other process. `stream` is NULL on the
 * CPU. In a group the barrier begins together with the group's other calls and does not order
 * them. A request cannot contain a barrier: run the library's dissemination_barrier.ccs instead.
 */
CCS_API ccs_status ccs_barrier(struct ccs_comm *comm, void *stream);

/** How a run on GPUs was cut. */
struct ccs_run_shape {
	unsigned protocol; /* CCS_RUN_... */
	unsigned channels; /* copies of the plan; each moves its part of every chunk */
	unsigned blocks;   /* of all this process's kernels: at most one per worker and channel */
	unsigned threads;  /* per block */
	uint64_t tile;	   /* elements of a chunk that a channel moves at a time */
	uint64_t tiles;	   /* number of such moves */
	uint64_t slots;	   /* bytes of message slots, on the GPU with most: up to about 30 MB they
			      stay in its L2 cache */
};
/** The shape of the latest run that has begun; all 0 before the first one. CCS_EUNSUPPORTED: the
 *  ranks are not on GPUs. */
CCS_API ccs_status ccs_comm_last_run(struct ccs_comm *c, struct ccs_run_shape *shape);

/*
 * Traces: which operations of a schedule were done, when, and by which worker. `ccrun --trace`
 * writes one.
 *
 *     ccs_trace_create(&trace, comm, 100000);
 *     ccs_trace_start(trace, 1);
 *     ...                                            calls: the first warms up
 *     ccs_trace_stop(trace);
 *     if (rank == 0)
 *         ccs_trace_save(trace, "trace.json");       for Perfetto, or chrome://tracing
 *
 * If all tasks have called, their operations are done tile by tile; threads that do tiles of one
 * worker at the same time have a track each. A thread may do many operations of a tile in one pass
 * over the data. Then the pass is timed, and the file gives each of its operations an equal share
 * of the time, and the number of these operations. Processes do each operation of a traced call
 * by itself, with its own times. An untraced call takes no longer than without traces.
 */
struct ccs_trace;

/** Makes room for that number of operations of this process's ranks. An operation needs room for
 *  each tile; a call as much as two operations, and each of its ranks as one. Operations without
 *  room are counted, and not noted. All ranks that are processes make the call. The trace must be
 *  freed before the communicator.
 *  CCS_EUNSUPPORTED: ranks are on GPUs of several hosts. */
CCS_API ccs_status ccs_trace_create(struct ccs_trace **trace, struct ccs_comm *c,
				    size_t operations);
/** Traces the calls of this process's ranks from now on. On GPUs all processes trace the same
 *  calls, which cannot be captured; each waits for the one before. Each of the first `warmup` calls
 *  is forgotten when the next one begins: it lays out the memory of later calls, and a first call
 *  that never ends is noted all the same. CCS_EINVAL: a call is under way. */
CCS_API ccs_status ccs_trace_start(struct ccs_trace *trace, unsigned warmup);
/** Later calls are not traced. A trace may be started again, and then has the new calls, too. On
 *  GPUs it waits for the last call. If ranks are on several hosts, all make the call, also after a
 *  failure of the communicator, and rank 0 gets the notes of all. */
CCS_API ccs_status ccs_trace_stop(struct ccs_trace *trace);
/** Writes the operations that the ranks of all processes have done so far, also of a communicator
 *  that has failed. The calls of other ranks should be over. Operations of other hosts since the
 *  last ccs_trace_stop are missing. The whole file is replaced, or nothing; "-" is stdout.
 *  CCS_EFILE: it cannot be written. CCS_EINVAL: this is not rank 0's process. */
CCS_API ccs_status ccs_trace_save(const struct ccs_trace *trace, const char *path);
/* Calls that are noted; operations that had no room. */
struct ccs_trace_counts {
	uint64_t calls, left_out;
};
/** Counts those of all ranks in rank 0's process; of this process's ranks elsewhere. */
CCS_API ccs_status ccs_trace_count(const struct ccs_trace *trace, struct ccs_trace_counts *counts);
/** NULL is fine. No call may be under way. */
CCS_API void ccs_trace_free(struct ccs_trace *trace);

/** Sets the timeout: a call fails with CCS_ETIMEOUT after that many milliseconds without progress
 *  (default 30,000; 0: never). The text has which rank waits for which. By MPI the ranks ask one
 *  another, which takes up to a quarter of the timeout more, 2 s at most. Holds for all ranks.
 *  Kernels wait without limit until a timeout is
 *  set here, because a rank may be minutes late for good reasons. */
CCS_API ccs_status ccs_comm_set_timeout(struct ccs_comm *c, unsigned milliseconds);
/** Replaces the failure by a report: from now on, when a thread has waited for the timeout, it
 *  calls `late` with a text of who waits for whom, once until something moves, and keeps waiting.
 *  `late` must not call ccs. Holds for all ranks of this process. NULL: calls fail again.
 *  CCS_EUNSUPPORTED: the ranks are on GPUs (use ccs_comm_waits). */
CCS_API ccs_status ccs_comm_set_late(struct ccs_comm *c, void (*late)(void *of, const char *report),
				     void *of);
/** Lists the ranks of this process that have waited in a kernel for longer than the timeout since
 *  the last such call: where, and for which rank. "": none has, or the ranks run on the CPU. */
CCS_API ccs_status ccs_comm_waits(struct ccs_comm *c, char *text, size_t size);
/** Sets a function that the calling thread runs repeatedly while its call waits for other
 *  processes. It returns how many milliseconds the thread may sleep if nothing happens; 0: the
 *  thread polls, then calls it again. It must not call ccs. NULL: none. CCS_EUNSUPPORTED: the ranks
 *  are not processes on the CPU. */
CCS_API ccs_status ccs_comm_set_idle(struct ccs_comm *c, unsigned (*idle)(void *of), void *of);
/** Threads that run the fibers; 0 (default): one per core that this process may use. Only before
 *  the first call. */
CCS_API ccs_status ccs_comm_set_threads(struct ccs_comm *c, unsigned threads);

/**
 * Runs a schedule as rank `comm`. `count` is the length of the contract's block, in elements: the
 * count that NCCL takes for the same collective. If sendbuff == recvbuff, the call is in place. An
 * `in` buffer may overlap an `out` buffer (the input is then copied first). A buffer without
 * elements, or one that this rank does not use, may be NULL. `root` is ignored if the module has
 * none. `stream` is for GPUs; NULL on the CPU.
 *
 * A module without buffers, such as a barrier, moves no data: pass NULL, NULL and a count of 0.
 * `type` and `op` have no effect then, but must be valid.
 *
 * CCS_EINVAL also if the number of chunks does not divide `count`, for a contract of the user's
 * that moves values to other places of a block.
 *
 * A buffer `by column` is a row-major matrix. A chunk, or a block, is a group of its columns: see
 * `rows` of ccs_run_options. In a `sized` buffer each chunk has its own length: see `sizes` there.
 *
 * Returns when this rank's part is done. Between ccs_group_start and ccs_group_end it only records
 * the call. Without a group, each rank must make its call from a separate thread.
 */
CCS_API ccs_status ccs_run(const struct ccs_module *m, const void *sendbuff, void *recvbuff,
			   size_t count, ccs_dtype type, ccs_redop op, int root,
			   struct ccs_comm *comm, void *stream);

/** The same with the operator premul-sum: every contribution is multiplied by *scalar (one element
 *  of `type`), then summed. The scalar is in host memory, also on GPUs, and is read before the
 *  function returns, even in a group. Ranks may give different scalars. */
CCS_API ccs_status ccs_run_premul(const struct ccs_module *m, const void *sendbuff, void *recvbuff,
				  size_t count, ccs_dtype type, const void *scalar, int root,
				  struct ccs_comm *comm, void *stream);

/** The same with a factor for each element: element i of the rank's sendbuff is multiplied by
 *  factors[i], of type `type`, and the products are summed. Each rank gives as many factors as its
 *  sendbuff has elements; ranks may differ in them. In a group they must stay until its end. On
 *  GPUs they are in the rank's GPU memory, like sendbuff, and are read in stream order. */
CCS_API ccs_status ccs_run_premul_vector(const struct ccs_module *m, const void *sendbuff,
					 void *recvbuff, size_t count, ccs_dtype type,
					 const void *factors, int root, struct ccs_comm *comm,
					 void *stream);

/*
 * User-defined operators, for ranks on the CPU: tasks, processes, or MPI.
 *
 * The function computes result[i] = first[i] op second[i] for n elements. `result` overlaps
 * neither operand. The operands must not change. `type` is the call's. The operator must be
 * associative. The function must not call ccs. Several threads call it at the same time, on
 * different elements and with the same `context`, so it must lock its changes to that.
 */
typedef void ccs_combine(void *result, const void *first, const void *second, size_t n,
			 ccs_dtype type, void *context);
struct ccs_user_op;

/**
 * `bytes` is the size of an element, up to 4096; 0: the size of the call's type. Elements of other
 * sizes are aligned to 8 bytes, or to the largest power of two that divides their size, if that is
 * less. With `commutes` 0, operands are combined in rank order, rank 0 first. Only a plan that
 * combines in that order can then run (in the library: chain_reduce to rank 0, and
 * fixed_order_allreduce; no ring does).
 */
CCS_API ccs_status ccs_user_op_create(struct ccs_user_op **out, ccs_combine *combine, void *context,
				      size_t bytes, int commutes);
/** NULL is fine. CCS_EINVAL: a call with the operator is under way or recorded in a group; the
 *  operator is then kept. Calls of any communicators may use one operator at the same time. */
CCS_API ccs_status ccs_user_op_free(struct ccs_user_op *op);
/** ccs_run() with a user-defined operator. `count` counts the operator's elements. The operators of
 *  all ranks agree in the size of elements and in `commutes`. CCS_EUNSUPPORTED: the ranks are on
 *  GPUs; or the operator does not commute and the plan does not combine in rank order: the text
 *  names the line where. */
CCS_API ccs_status ccs_run_user_op(const struct ccs_module *m, const void *sendbuff, void *recvbuff,
				   size_t count, ccs_dtype type, const struct ccs_user_op *op,
				   int root, struct ccs_comm *comm, void *stream);

/* How a call runs. A field of 0 leaves the choice to the engine. */
struct ccs_run_options {
	const void *scalar; /* premul-sum with that factor, in place of `op`; NULL: `op` */
	size_t tile;	    /* on the CPU: most bytes of a chunk in one message, at least 512. Fewer
			       if memory is short */
	unsigned protocol;  /* on GPUs of one host: CCS_RUN_... */
	unsigned channels;  /* on GPUs of one host: most channels; 0: as many as help */
	const void *factors; /* premul-sum with these: see ccs_run_premul_vector; or NULL */
	const struct ccs_user_op *user_op; /* in place of `op`; or NULL */
	/* For a module with a buffer `by column`: the number of rows. A block has `count` elements
	 * in all its rows together, so `rows` must divide `count`. The buffer has the same rows,
	 * with its blocks next to each other. On the same ranks, a buffer that is not by column has
	 * rows x columns elements in one piece. 0 for other modules, and if `count` is 0. */
	size_t rows;
	/* For a module with a `sized` buffer: the number of elements of each chunk of these buffers
	 * on this rank, buffer by buffer. Chunks follow one another. So all_to_all takes N numbers
	 * for the blocks that it sends, then N for the blocks that it receives, as in
	 * MPI_Alltoallv. They are read before the call returns, and may differ between ranks.
	 * Before anything moves they are compared: a rank must send as much as its receiver
	 * expects; else all ranks fail with CCS_EINVAL, and the text names both numbers. `count` is
	 * for the other buffers; 0 if there are none. Processes exchange their sizes in each such
	 * call, so calls of several communicators in one group must come in the same order on all
	 * ranks. (Also processes on GPUs: the call then waits for the calls of all ranks, but not
	 * for their streams. Replays of a captured call use its sizes.) NULL for other modules. */
	const size_t *sizes;
};
enum { CCS_RUN_SIMPLE = 1, CCS_RUN_LL = 2 };

#define CCS_OPTIONS_TEXT 32 /* bytes of their longest text, including its NUL */

/** The options as tunings write them: "auto", a tile such as "64K", or "ll", "simple/8". */
CCS_API void ccs_run_options_text(const struct ccs_run_options *options, char *text, size_t size);

/** ccs_run() with options; NULL: none. All ranks give the same options, except for scalar, factors,
 *  sizes and the function of user_op. */
CCS_API ccs_status ccs_run_with(const struct ccs_module *m, const struct ccs_run_options *options,
				const void *sendbuff, void *recvbuff, size_t count, ccs_dtype type,
				ccs_redop op, int root, struct ccs_comm *comm, void *stream);

/*
 * Prepared calls: a call that is made many times is checked once.
 *
 *     ccs_prepare(&call, m, NULL, send, recv, count, CCS_FLOAT32, CCS_SUM, 0, comm, NULL);
 *     for (...)
 *             ccs_start(call);
 *     ccs_call_free(call);
 *
 * These are MPI's persistent collectives, and FFTW's plans. For a tuning's choice, pass the module
 * and the options of ccs_tuning_choose.
 */
struct ccs_call;

/**
 * Checks a call like ccs_run_with, and keeps it. The communicator must outlive its starts; the
 * module may be freed. A scalar is copied; factors, and the buffers, must stay. Local, also in a
 * group, but where ranks are processes and the module has a `sized` buffer: then the processes
 * compare their sizes now, not at each start, and all of them prepare the call together. On failure
 * *out is NULL.
 */
CCS_API ccs_status ccs_prepare(struct ccs_call **out, const struct ccs_module *m,
			       const struct ccs_run_options *options, const void *sendbuff,
			       void *recvbuff, size_t count, ccs_dtype type, ccs_redop op, int root,
			       struct ccs_comm *comm, void *stream);
/** Makes the call, as ccs_run does: in a group it is recorded, and may become part of a request.
 *  Other ranks may make the same call by ccs_run, but not if processes compared sizes when they
 *  prepared it. One thread at a time uses a call, and requests that have it. CCS_EINVAL: its last
 *  start is not over: its group has not ended, or no ccs_wait or ccs_test has reported the end of
 *  its request. O(1), plus the call. */
CCS_API ccs_status ccs_start(struct ccs_call *call);
/** The same with other buffers, this time: of the same lengths, and as well aligned. */
CCS_API ccs_status ccs_start_at(struct ccs_call *call, const void *sendbuff, void *recvbuff);
/** Frees it when its last start is over. NULL is fine. */
CCS_API void ccs_call_free(struct ccs_call *call);

/*
 * Tunings: which module runs a collective, and how, by the size of the call.
 *
 *     struct ccs_tuning *t;
 *     ccs_tuning_load(&t, "host.tuning");
 *     ccs_run_tuned(t, "allreduce", send, recv, count, CCS_FLOAT32, CCS_SUM, 0, comm, NULL);
 *
 * `ccrun --tune` measures a tuning and writes it as a text that can be read and edited:
 * ccs-tuning(5). A size is the larger of a rank's send and receive buffers, in bytes. A tuning has
 * sections, numbered from 0. A section is for one collective (a contract's name), one number of
 * ranks and one engine (ccs_comm_engine), and has rows by ascending size.
 *
 * A call without a section fails: there is no default. A loaded tuning does not change, and any
 * number of threads may use it.
 */
struct ccs_tuning;

struct ccs_tuning_section {
	const char *collective, *engine;
	int nranks;
	const char *measured; /* how it was measured, as text; "": not stated */
	int rows;
	int first, last; /* range of all numbers of ranks with the same lines, including nranks;
			  * ccs_tuning_put ignores it */
};

struct ccs_tuning_row {
	uint64_t most;	  /* largest size that the row is for; UINT64_MAX: no limit */
	const char *file; /* of the module; a relative path starts at the tuning's folder */
	struct ccs_run_options options;
	double us; /* measured time of one call; negative: not measured */
	/* The next best that was measured; NULL: none. */
	const char *next_file;
	struct ccs_run_options next_options;
	double next_us;
	const struct ccs_module *module; /* owned by the tuning; NULL if the tuning was only read */
};

/** The name of the tuning that comes with ccs, with its modules: for processes and tasks, 2 to 16
 *  ranks, measured on another machine. A file with this name is "./default". */
#define CCS_TUNING_DEFAULT "default"
/** Reads a tuning and loads all its modules. Each module must implement its section's collective
 *  and have plans for its ranks. CCS_EFILE, CCS_ENOPLAN: the text names the line. */
CCS_API ccs_status ccs_tuning_load(struct ccs_tuning **out, const char *path);
/** Reads a tuning without its modules, to inspect or change it. NULL: an empty tuning. */
CCS_API ccs_status ccs_tuning_read(struct ccs_tuning **out, const char *path);
CCS_API void ccs_tuning_free(struct ccs_tuning *t);
/** Equal for tunings with equal text and modules. */
CCS_API uint64_t ccs_tuning_digest(const struct ccs_tuning *t);

/** CCS_EINVAL: no section, or row, has that number. */
CCS_API ccs_status ccs_tuning_section(const struct ccs_tuning *t, int section,
				      struct ccs_tuning_section *out);
CCS_API ccs_status ccs_tuning_row(const struct ccs_tuning *t, int section, int row,
				  struct ccs_tuning_row *out);
/** The number of the section; -1: there is none, and ccs_error() lists the sections. */
CCS_API int ccs_tuning_find(const struct ccs_tuning *t, const char *collective, int nranks,
			    const char *engine);
/** The row for a call of that size: the first with `most` not below it. */
CCS_API int ccs_tuning_row_of(const struct ccs_tuning *t, int section, uint64_t size);
/** Explains the choice for that size in a line or two: the schedule and its options, its time and
 *  the next best's, and the rule for a size that was not measured. */
CCS_API ccs_status ccs_tuning_explain(const struct ccs_tuning *t, int section, uint64_t size,
				      char *text, size_t text_size);

/** The row that a communicator's call uses. CCS_EINVAL: no section fits; count or type are wrong;
 *  the tuning was only read. O(sections + rows). */
CCS_API ccs_status ccs_tuning_choose(const struct ccs_tuning *t, const char *collective,
				     const struct ccs_comm *comm, size_t count, ccs_dtype type,
				     struct ccs_tuning_row *out);
/** ccs_run() with the module and options that the tuning has for the call. All ranks must choose
 *  alike: if their tunings differ here, all fail because their calls differ. */
CCS_API ccs_status ccs_run_tuned(const struct ccs_tuning *t, const char *collective,
				 const void *sendbuff, void *recvbuff, size_t count, ccs_dtype type,
				 ccs_redop op, int root, struct ccs_comm *comm, void *stream);

/** Replaces the section for that collective, number of ranks and engine, with its rows, or appends
 *  one. All other lines of the text stay. The last row has most = UINT64_MAX. Modules are not read.
 *  CCS_EINVAL: the result would not be a tuning. */
CCS_API ccs_status ccs_tuning_put(struct ccs_tuning *t, const struct ccs_tuning_section *section,
				  const struct ccs_tuning_row *rows);
/** Writes the tuning: the whole file, or nothing. CCS_ESYSTEM. */
CCS_API ccs_status ccs_tuning_save(const struct ccs_tuning *t, const char *path);

/* A part of a tuning in its short form, as CCS_MPI and CCS_SCHEDULES have it: COLLECTIVE:FILE,
 * COLLECTIVE:FILE@FROM-TO, or @TUNING. */
struct ccs_tuning_part {
	const char *text;	/* as it was written */
	const char *collective; /* NULL: `file` is a tuning */
	const char *file;
	uint64_t least, most; /* sizes, both included; 0 and UINT64_MAX: without a limit */
};
/** Reads a list of parts, with commas between them, from a variable of that name. Reads no file;
 *  the first part that contains a call is to run it. Free them with ccs_tuning_parts_free.
 *  CCS_EINVAL: the text has the wrong part. O(text). */
CCS_API ccs_status ccs_tuning_parts(struct ccs_tuning_part **parts, int *n, const char *name,
				    const char *list);
CCS_API void ccs_tuning_parts_free(struct ccs_tuning_part *parts);

/** This thread's calls between start and end begin together at the end. ccs_group_end returns when
 *  all are done, with the first failure. Groups nest. */
CCS_API ccs_status ccs_group_start(void);
CCS_API ccs_status ccs_group_end(void);

/*
 * Point-to-point messages, and calls that continue while the caller works.
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
 * ccs_send sends `count` elements to rank `peer`, which calls ccs_recv with the same count and
 * type. As with NCCL, the messages from one rank to another match in the order of their calls,
 * per communicator. The calls of a group progress together, in any order, so an exchange in a
 * group cannot deadlock. Outside a group a call waits for its peer and returns when the message
 * has been transferred: two ranks that both send first wait for each other, until the timeout.
 *
 * CCS_EINVAL on both ranks: count or type differ between the two sides; nothing is written, and
 * the communicator stays usable. CCS_EINVAL on this rank: `peer` is not a rank or, outside a group,
 * is this rank. CCS_ETIMEOUT: no message of the communicator has progressed for the timeout; the
 * text names rank and peer, and the communicator has failed. It has also failed when the peer's
 * process ends (CCS_EABORTED).
 *
 * `stream` is NULL on the CPU. On GPUs it is as in ccs_run: a call returns when the peer has also
 * called and the message is in both streams. The buffers are in the memory of the ranks' GPUs.
 *
 * GPUs of several processes: NCCL's send and receive carry the messages. The messages of one
 * group, on any communicators, become one group of NCCL's. A call returns when the message is in
 * the rank's stream, whether or not the peer has called; only the first message of a pair may wait
 * for the peer. NCCL does not compare: if counts or types differ, or the peer never calls, the
 * stream waits without a message or worse, and ccs's timeout does not apply. If NCCL refuses a
 * call, all calls of the group fail with NCCL's text, and the communicators have failed. A message
 * without elements is not sent.
 *
 * Between processes on the CPU the receiver reads a message in place, where ccs_comm_init_procs
 * permits; otherwise the message is copied in pieces.
 */
CCS_API ccs_status ccs_send(const void *sendbuff, size_t count, ccs_dtype type, int peer,
			    struct ccs_comm *comm, void *stream);
CCS_API ccs_status ccs_recv(void *recvbuff, size_t count, ccs_dtype type, int peer,
			    struct ccs_comm *comm, void *stream);

#define CCS_ANY_SOURCE (-1)

/**
 * The same with a tag (0 or more; ccs_send and ccs_recv use 0), and from any rank. For ranks that
 * are tasks, or processes of a host, on the CPU. A receive takes a message with its tag from its
 * peer or, with CCS_ANY_SOURCE, from the rank that sends one first. Messages of two ranks with the
 * same tag match in the order of their calls. If several receives fit a message, the receive that
 * was called first gets it. When the receive is over, *source is the sender's rank; `source` may be
 * NULL, and must stay valid until then.
 *
 * A message that arrives before its receive is called, while the receiver waits for a later one,
 * is kept in memory of the communicator. The sender's call returns then. If the receive differs
 * later in count or type, only the receiver fails. A rank keeps at most 256 MiB; further messages
 * wait at their senders, and a timeout's text says so.
 *
 * CCS_EUNSUPPORTED: the tag is not 0, or the peer is CCS_ANY_SOURCE, and the ranks are on GPUs or
 * use MPI. Everything else is as in ccs_send.
 */
CCS_API ccs_status ccs_send_tagged(const void *sendbuff, size_t count, ccs_dtype type, int peer,
				   int tag, struct ccs_comm *comm, void *stream);
CCS_API ccs_status ccs_recv_tagged(void *recvbuff, size_t count, ccs_dtype type, int peer, int tag,
				   int *source, struct ccs_comm *comm, void *stream);

/* A group that is under way. One thread at a time uses a request. */
struct ccs_request;

/**
 * Ends the group like ccs_group_end, but returns as soon as its calls have begun: runs of modules,
 * sends and receives, on any communicators. Their buffers are in use until the request has
 * finished. A call with `sizes` first waits until all processes have given theirs. CCS_EINVAL: this
 * group is inside another one, which then fails; or the group contains a call in which all ranks
 * meet (ccs_barrier, ccs_comm_split and similar). A split must return a communicator, so it cannot
 * continue afterwards; for a barrier, run a schedule. On failure *request is NULL and nothing has
 * begun.
 *
 * The calls progress while the caller works, on up to two threads per communicator. The first
 * request creates them, or the first group with both runs and messages. The timeout applies. If
 * processes use MPI there are no threads, because one thread at a time may call MPI: requests
 * progress in ccs_test and ccs_wait, and in other calls of the communicator. On GPUs a request has
 * finished when its calls would have returned.
 */
CCS_API ccs_status ccs_group_submit(struct ccs_request **request);
/** Does not block. *done: whether all calls are over. The request has then finished, and the
 *  status is that of the calls, as in ccs_group_end. CCS_EINVAL: ccs_test or ccs_wait has already
 *  reported the end. */
CCS_API ccs_status ccs_test(struct ccs_request *request, int *done);
/** Waits until the request has finished. CCS_EINVAL: as in ccs_test. */
CCS_API ccs_status ccs_wait(struct ccs_request *request);
/** Waits for all `n` requests, even if one fails, and returns the first failure in their order.
 *  CCS_EINVAL: a request had finished, or is NULL; then it waits for none. */
CCS_API ccs_status ccs_wait_all(struct ccs_request *const *requests, int n);
/** Frees a request; waits first, if it has not finished. NULL is fine. ccs_comm_free also waits
 *  for the requests of its handle, and they then count as finished. */
CCS_API void ccs_request_free(struct ccs_request *request);

/** NVIDIA's driver, and NCCL, as this library has found them, for programs that link neither. The
 *  handles are for dlsym() and stay open. CCS_EUNSUPPORTED: not found; the text says what to
 *  install. */
CCS_API ccs_status ccs_cuda_library(void **library);
CCS_API ccs_status ccs_nccl_library(void **library);
/** The plug-in for MPI, libccs_mpi.so: in the folder of libccs.so, or $CCS_MPI_PLUGIN. It is built
 *  only where MPI is installed. Its table of functions is `ccs_mpi_calls` (runtime/mpi/calls.h).
 *  CCS_EUNSUPPORTED: not found, or built for another version of ccs. */
CCS_API ccs_status ccs_mpi_library(void **library);

/* Called by the typed functions that ccc generates; `module` is ccs_module_v1. The module is
 * opened once per process. */
CCS_API ccs_status ccs_call(const void *module, const void *sendbuff, void *recvbuff, size_t count,
			    ccs_dtype type, ccs_redop op, int root, struct ccs_comm *comm,
			    void *stream);

#ifdef __cplusplus
}
#endif

#endif
