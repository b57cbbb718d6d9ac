/*
 * What the libraries that stand in for NVIDIA's share: calls that fail as a test has
 * asked for, and the end of a process that made an illegal one.
 */
#ifndef FAKE_INJECT_H
#define FAKE_INJECT_H

#include <pthread.h>
#include <stdarg.h>

/* NAME:K:CODE, from the variable: the K-th call of NAME fails with CODE. Calls are counted
 * while the plan is set, from when it was first set. */
struct injection {
	const char *variable;
	pthread_mutex_t lock;
	char plan[128];
	int calls;
};

/** The code that this call is to fail with, or 0. */
int inject(struct injection *i, const char *name);

/** "WHO: ILLEGAL: ...", on stderr; then the process aborts. */
void abort_illegal(const char *who, const char *format, va_list ap)
	__attribute__((format(printf, 2, 0), noreturn));

#endif
