/*
 * Calls by a tuning: checks their arguments, and runs them. See ccs.h.
 *
 * In: a loaded tuning, and a call's arguments. Out: the call of the module that the tuning has
 * for its size. The contract determines a call's size, so it is the same for all modules of a
 * section. O(sections + rows), plus the call.
 */
#include "runtime/comm.h"
#include "runtime/plan/tuning/tuning.h"

static ccs_status size_of(const struct ccs_module *m, int nranks, size_t count, ccs_dtype type,
			  size_t *size)
{
	size_t send = 0, recv = 0, esize = ccs_dtype_size(type);
	ccs_status s = ccs_module_elements(m, nranks, count, &send, &recv);

	if (s)
		return s;
	if (!esize)
		return error_set(CCS_EINVAL, "ccs_run_tuned: %d is not an element type", (int)type);
	if (__builtin_mul_overflow(send > recv ? send : recv, esize, size))
		return error_set(CCS_EINVAL, "count %zu is too large", count);
	return CCS_OK;
}

ccs_status ccs_tuning_choose(const struct ccs_tuning *t, const char *collective,
			     const struct ccs_comm *comm, size_t count, ccs_dtype type,
			     struct ccs_tuning_row *out)
{
	int section, nranks = ccs_comm_size(comm);
	ccs_status s;
	size_t size = 0;

	if (!t || !collective || !comm)
		return error_set(CCS_EINVAL, "ccs_run_tuned: the tuning, the collective or the "
					     "communicator is NULL");
	section = ccs_tuning_find(t, collective, nranks, ccs_comm_engine(comm));
	if (section < 0)
		return CCS_EINVAL;
	s = ccs_tuning_row(t, section, 0, out);
	if (!s && !out->module)
		s = error_set(CCS_EINVAL, "ccs_run_tuned: the tuning was read without its modules: "
					  "use ccs_tuning_load");
	if (!s)
		s = size_of(out->module, nranks, count, type, &size);
	return s ? s : ccs_tuning_row(t, section, ccs_tuning_row_of(t, section, size), out);
}

ccs_status ccs_run_tuned(const struct ccs_tuning *t, const char *collective, const void *sendbuff,
			 void *recvbuff, size_t count, ccs_dtype type, ccs_redop op, int root,
			 struct ccs_comm *comm, void *stream)
{
	struct thread_state *state = error_thread();
	struct ccs_tuning_row row;
	ccs_status s = state->failed;

	if (s)
		return s;
	s = ccs_tuning_choose(t, collective, comm, count, type, &row);
	if (s) {
		state->failed = state->depth ? s : CCS_OK;
		return s;
	}
	return ccs_run_with(row.module, &row.options, sendbuff, recvbuff, count, type, op, root,
			    comm, stream);
}
