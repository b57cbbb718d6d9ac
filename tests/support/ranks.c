/*
 * Tests with a process a rank, and their lines. See ranks.h.
 */
#include "tests/support/ranks.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

bool say(bool ok, const char *format, ...)
{
	va_list ap;

	printf(ok ? "ok - " : "not ok - ");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	return ok;
}

bool is(ccs_status s, ccs_status want, const char *text, const char *what)
{
	bool ok = s == want && (!text || !s || strstr(ccs_error(), text));

	if (!ok)
		printf("# %s: %s, not %s%s%s: %s\n", what, ccs_status_name(s),
		       ccs_status_name(want), text ? " with " : "", text ? text : "",
		       s ? ccs_error() : "");
	fflush(stdout);
	return ok;
}

static int fake_live(void)
{
	void *library = dlopen("libnccl.so.2", RTLD_NOW), *p;
	int (*live)(void);

	p = library ? dlsym(library, "fake_nccl_live") : NULL;
	if (!p)
		return 0;
	memcpy(&live, &p, sizeof(p));
	return live();
}

static bool rank_open(struct rank *r)
{
	return is(nccl_open(&r->nccl), CCS_OK, NULL, "nccl_open") &&
	       is(nccl_share_gpu(&r->nccl, r->rank), CCS_OK, NULL, "nccl_share_gpu") &&
	       is(cuda_open(&r->cuda, 0), CCS_OK, NULL, "cuda_open");
}

static void rank_close(struct rank *r)
{
	cuda_close(&r->cuda);
	nccl_close(&r->nccl);
}

bool rank_join(struct rank *r)
{
	return is(group_join(&r->group, &r->nccl, &r->cuda, r->nranks, &r->id, r->rank), CCS_OK,
		  NULL, "group_join");
}

static unsigned char byte_of(int rank, size_t i, size_t each)
{
	return (unsigned char)((unsigned)rank * 67 + i * 13 + each);
}

bool rank_gathers(struct rank *r, size_t each)
{
	size_t n = (size_t)r->nranks * each;
	unsigned char *mine = calloc(each + 1, 1), *all = malloc(n + 1);
	bool ok;

	for (size_t i = 0; i < each; i++)
		mine[i] = byte_of(r->rank, i, each);
	memset(all, 0xee, n + 1);
	ok = is(group_gather(r->group, mine, all, each), CCS_OK, NULL, "group_gather");
	for (size_t i = 0; ok && i < n; i++)
		ok = all[i] == byte_of((int)(i / each), i % each, each);
	ok = ok && all[n] == 0xee;
	free(mine);
	free(all);
	return ok;
}

static bool run_rank(struct rank *r, rank_test *test)
{
	bool ok = rank_open(r) && test(r);

	rank_close(r);
	if (fake_live()) {
		printf("# rank %d leaves %d communicators\n", r->rank, fake_live());
		ok = false;
	}
	return ok;
}

static int free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) ||
	    getsockname(fd, (struct sockaddr *)&a, &n))
		exit(2);
	close(fd);
	return ntohs(a.sin_port);
}

bool run_ranks(int nranks, rank_test *test, int k)
{
	struct rank all = { .nranks = nranks, .k = k, .port = free_port() };
	bool ok = true;
	pid_t pid[MOST];

	if (!is(nccl_open(&all.nccl), CCS_OK, NULL, "nccl_open") ||
	    !is(nccl_unique_id(&all.nccl, &all.id), CCS_OK, NULL, "nccl_unique_id"))
		return false;
	nccl_close(&all.nccl);
	fflush(stdout);
	for (int i = 0; i < nranks; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		all.rank = i;
		ok = run_rank(&all, test);
		fflush(stdout);
		exit(ok ? 0 : 1);	/* with the leak checker, where there is one */
	}
	for (int i = 0; i < nranks; i++) {
		int status = 0;

		if (waitpid(pid[i], &status, 0) != pid[i] || !WIFEXITED(status) ||
		    WEXITSTATUS(status)) {
			printf("# rank %d of %d ended with status %x\n", i, nranks,
			       (unsigned)status);
			ok = false;
		}
	}
	return ok;
}
