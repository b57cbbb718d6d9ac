/*
 * A stand-in for libnccl.so.2: data really moves, between processes and within one,
 * through shared memory that is named after the unique id. "Device" memory is the
 * host's (tests/fake_cuda). Calls are done when they return, or at the end of their
 * group; what was in their stream before is waited for.
 *
 * What is illegal, or would hang on a GPU, ends the process or the call with a line
 * "fake_nccl: ...": two ranks that do not call the same, a message of another size than
 * the receive it meets, memory that is none of a GPU, a wait of more than 20 s.
 *
 * The environment steers it:
 *   FAKE_NCCL_FAIL=NAME:K:CODE  the K-th call of NAME fails with CODE; for
 *                               ncclCommGetAsyncError CODE is what it tells
 *   FAKE_NCCL_WRONG=1, =NAME    collectives, or that one, get their first element wrong
 *   FAKE_NCCL_VERSION           22803
 *   FAKE_NCCL_SECONDS           20
 *   NCCL_HOSTID, NCCL_MULTI_RANK_GPU_ENABLE, NCCL_NVLS_ENABLE, NCCL_COMM_ID  as NCCL
 *                               has them: from version 2.30 on ranks of one host may share
 *                               a GPU, if the second is 1 and the third is not
 */
#ifndef FAKE_NCCL_H
#define FAKE_NCCL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST 64	    /* ranks */
#define RING 16384u /* bytes under way between two ranks */
#define PREMULS 16  /* operators of a communicator */

enum {
	SUCCESS,
	CUDA_ERROR,
	SYSTEM_ERROR,
	INTERNAL_ERROR,
	INVALID_ARGUMENT,
	INVALID_USAGE,
	REMOTE_ERROR,
	IN_PROGRESS
};

/* From one rank to another. The sender writes `head`, the receiver `tail`: bytes so far. */
struct ring {
	_Alignas(64) _Atomic uint64_t head;
	_Alignas(64) _Atomic uint64_t tail;
	char data[RING];
};

struct member {
	_Atomic int here; /* 0: not yet; 1; 2: it has left */
	int pid;
	uint64_t host, gpu;
};

/* What the ranks share; rings[from * nranks + to] follow. */
struct world {
	_Atomic int nranks, joined, ready;
	struct member members[MOST];
	struct ring rings[];
};

struct comm {
	struct world *world;
	int rank, nranks;
	int pid; /* of the process that joined, and alone may use it */
	size_t mapped;
	int error;		  /* sticky */
	char name[64];		  /* of the shared memory */
	uint64_t scalar[PREMULS]; /* of premul-sum operators */
	int scalar_type[PREMULS]; /* -1: free */
	bool busy_in[MOST], busy_out[MOST];
};

/* Both sides of a message must say the same. */
struct frame {
	uint64_t bytes;
	uint32_t what; /* hash of the call and its arguments */
	uint32_t magic;
};

struct transfer {
	struct comm *comm;
	int peer;
	bool out;
	const char *name; /* of the call */
	char *data;
	uint64_t done, end; /* bytes with the frame; where it ends in the ring */
	struct frame frame, seen;
	bool over;
};

struct transfers {
	struct transfer *at;
	size_t n, room;
};

void illegal(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/** Notes the text of ncclGetLastError, and returns `code`. */
int failure(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Makes or opens the world of that name. */
int world_open(struct comm *c);
/** Says that this rank is there, on that GPU. */
int world_join(struct comm *c, uint64_t host, uint64_t gpu);
/** Waits for the others; refuses two on one GPU. */
int world_meet(struct comm *c, bool share);
void world_leave(struct comm *c);
/** Takes the name back, of a world in which not all will meet. */
void world_forget(const struct comm *c);

void transfer_add(struct transfers *all, struct comm *c, int peer, bool out, void *data,
		  size_t bytes, const char *name, uint32_t what);
/** Moves all of them, in order between any two ranks; returns when all that is sent has
 *  been received. */
int transfer_all(struct transfers *all);

/* A call that was made, until its group ends. */
struct job {
	const char *name;
	enum { JOIN, SEND, RECV, ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE } kind;
	struct comm *comm;
	struct comm **out; /* JOIN */
	const void *send;
	void *recv;
	size_t count, esize;
	int type, op, peer;   /* peer: or root */
	char *input, *inputs; /* copies: this rank's, and of all */
	struct job *next;
};

/** Copies a job's input, and lists what it moves, itself included: that keeps all ranks
 *  alike. */
void job_prepare(struct job *j, struct transfers *all);
/** All has come: computes and writes the output. */
void job_finish(const struct job *j);
void job_free(struct job *j);

#endif
