/*
 * Help for calls of other libraries: NCCL, MPI, torch and MSCCLang.
 *
 * In: an unknown name. Out: the equivalent of such a call in this language.
 */
#include "lang/keywords.h"

#include <string.h>

static const struct foreign {
	const char *words;
	const char *help;
	const char *verb,
		*word; /* "send", "to": a message with its first argument, to its fourth; or
				    NULL */
} foreign[] = {
	{ "ncclSend MPI_Send MPI_Isend MPI_Ssend MPI_Bsend MPI_Rsend ccs_send isend Send Isend",
	  "to send a message: send X to P, as in: send data[0] to next", "send", "to" },
	{ "ncclRecv MPI_Recv MPI_Irecv ccs_recv irecv Recv Irecv",
	  "to receive a message: recv X from P, or to add it to X: reduce X from P", "recv",
	  "from" },
	{ "MPI_Sendrecv MPI_Sendrecv_replace sendrecv Sendrecv",
	  "to do both at once: step { send X to P recv Y from Q }", NULL, NULL },
	{ "ncclGroupStart ncclGroupEnd ncclGroupSimulateEnd batch_isend_irecv P2POp",
	  "a step replaces ncclGroupStart and ncclGroupEnd: step { send X to P recv Y from Q }",
	  NULL, NULL },
	{ "ncclAllReduce ncclBroadcast ncclReduce ncclAllGather ncclReduceScatter ncclAlltoAll "
	  "MPI_Allreduce MPI_Iallreduce MPI_Bcast MPI_Ibcast MPI_Reduce MPI_Allgather MPI_Gather "
	  "MPI_Scatter MPI_Reduce_scatter MPI_Reduce_scatter_block MPI_Alltoall all_reduce "
	  "all_gather all_gather_into_tensor reduce_scatter_tensor all_to_all_single",
	  "a schedule lists the messages of a collective; to call another file's schedule: import "
	  "\"ring_allreduce.ccs\", then ring_allreduce(data)",
	  NULL, NULL },
	{ "MPI_Reduce_local add accumulate",
	  "to add to a chunk: reduce X into Y, or, from a message: reduce X from P", NULL, NULL },
	{ "MPI_Barrier MPI_Wait MPI_Waitall MPI_Waitany MPI_Test barrier sync synchronize wait "
	  "wait_all cudaStreamSynchronize cudaDeviceSynchronize cudaEventSynchronize "
	  "__syncthreads __threadfence",
	  "operations wait for their own messages; nothing else has to be waited for", NULL, NULL },
	{ "MPI_Init MPI_Finalize ncclCommInitRank ncclCommDestroy ncclCommInitAll ncclGetUniqueId "
	  "init_process_group destroy_process_group",
	  "there is nothing to initialise: rank and N are names for numbers", NULL, NULL },
	{ "MPI_Comm_rank get_rank Get_rank", "write `rank`, which is the number of this rank", NULL,
	  NULL },
	{ "MPI_Comm_size get_world_size Get_size", "write `N`, the number of ranks", NULL, NULL },
	{ "MPI_Comm_split MPI_Comm_create ncclCommSplit new_group Split",
	  "to use some of the ranks: within group(first, count, stride) { ... }, or within group([0, "
	  "2]) { ... }",
	  NULL, NULL },
	{ "memcpy cudaMemcpy cudaMemcpyAsync copy_ clone", "to copy locally: copy X into Y", NULL,
	  NULL },
	{ "chunk rank_chunk create_chunk send_chunk",
	  "no handle is needed: the sender names its own chunk, as in: if rank == 0 { send data[0] "
	  "to 1 }, and the receiver its own: if rank == 1 { recv data[0] from 0 }",
	  NULL, NULL },
	{ "MSCCLProgram SCCLProgram MSCCLPPProgram CollectiveProgram",
	  "remove this line: the head of the schedule, with its contract and its topology, replaces "
	  "the program object",
	  NULL, NULL },
	{ "Check XML Json",
	  "remove this line: ccc checks every schedule, and --emit=msccl-xml writes MSCCL XML",
	  NULL, NULL },
	{ "copy",
	  "to copy to another rank, send a message: send X to P there, recv Y from Q here; on one "
	  "rank: copy X into Y",
	  NULL, NULL },
	{ "reduce",
	  "to add another rank's chunk, send a message: send X to P there, reduce Y from Q here; on "
	  "one rank: reduce X into Y",
	  NULL, NULL },
	{ "send recv", "to send a message: send X to P; to receive it: recv X from P", NULL, NULL },
};

static const struct foreign *find(const char *name)
{
	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		if (word_is_one_of(name, foreign[i].words))
			return &foreign[i];
	return NULL;
}

const char *foreign_help(const char *name)
{
	const struct foreign *f = find(name);
	return f ? f->help : NULL;
}

bool foreign_message(const char *name, const char **verb, const char **word)
{
	const struct foreign *f = find(name);
	if (!f || !f->verb)
		return false;
	*verb = f->verb;
	*word = f->word;
	return true;
}
