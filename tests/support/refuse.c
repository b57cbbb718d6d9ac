/* See refuse.h. */
#include "tests/support/refuse.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

/* mmap's descriptor is its fifth argument: -1 where there is no file. */
#define FILE_AT (offsetof(struct seccomp_data, args) + 4 * sizeof(__u64))

bool refuse_call(int number, int error, int which)
{
	unsigned no_file = which == REFUSE_FILES ? 0xffffffffu : 0xfffffffeu;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FILE_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, no_file, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog all = { sizeof(code) / sizeof(*code), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}
