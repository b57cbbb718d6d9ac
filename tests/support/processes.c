/* See processes.h. */
#include "tests/support/processes.h"

#include "runtime/base/load/library.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t begin(int (*act)(void *of, int index), void *of, int index, FILE *log)
{
	pid_t pid = fork();
	int status;

	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (pid)
		return pid;
	if (log)
		dup2(fileno(log), 2);
	status = act(of, index);
	fflush(NULL);
	_exit(status);
}

bool processes_run(int n, int (*act)(void *of, int index), void *of)
{
	pid_t *pid = calloc((size_t)n, sizeof(*pid));
	bool all = true;

	fflush(NULL);
	for (int i = 0; i < n; i++)
		pid[i] = begin(act, of, i, NULL);
	for (int i = 0; i < n; i++) {
		int status = 0;

		if (waitpid(pid[i], &status, 0) == pid[i] && !status)
			continue;
		printf("# process %d of %d ended with status 0x%x\n", i, n, (unsigned)status);
		all = false;
	}
	free(pid);
	return all;
}

void process_on_host(int host)
{
	char name[32];

	snprintf(name, sizeof(name), "host %d", host);
	setenv("CCS_HOSTID", name, 1);
	setenv("NCCL_HOSTID", name, 1);
}

int process_run(int (*act)(void *of, int index), void *of, FILE *log)
{
	int status = -1;

	fflush(NULL);
	waitpid(begin(act, of, 0, log), &status, 0);
	rewind(log);
	return status;
}

void *processes_share(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p != MAP_FAILED)
		return p;
	perror("mmap");
	exit(2);
}

static bool can_listen(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool can = fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof(a));

	close(fd);
	return can;
}

int free_port(void)
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");
	int low = 32768, high = 60999, port;
	uint32_t random;

	if (f) {
		if (fscanf(f, "%d %d", &low, &high) != 2)
			exit(2);
		fclose(f);
	}
	for (int tries = 0; tries < 2000; tries++) {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			exit(2);
		port = 5000 + (int)(random % 60000);
		if ((port < low || port > high || tries > 1000) && can_listen(port) &&
		    can_listen(port + 1))
			return port;
	}
	exit(2);
}

void *stand_in(const char *library, const char *const *names, size_t n, void *to)
{
	void *handle = dlopen(library, RTLD_NOW);
	char why[200] = "it is not there";

	if (handle && library_functions(handle, library, names, n, 0, to, why, sizeof(why)))
		return handle;
	fprintf(stderr, "%s: %s\n", library, why);
	if (handle)
		dlclose(handle);
	return NULL;
}

const struct driver *the_driver(void)
{
	static struct driver found;

	if (!found.use && driver_open(&found)) {
		fprintf(stderr, "%s\n", ccs_error());
		exit(1);
	}
	return &found;
}
