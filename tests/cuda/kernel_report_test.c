/*
 * What the assembler says of kernels as users get them: of each module float32 sum on sm_90, in
 * each protocol, a line: registers of a thread, bytes of shared memory, of the stack and of spills,
 * the functions that it calls included. Nothing where there is no NVRTC.
 *
 * usage: kernel_report_test MODULE.so... (tests/cuda/ptx_test.sh does that)
 */
#include "runtime/plan/cells.h"
#include "runtime/plan/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sum of the numbers that stand before such words; -1: they stand nowhere. */
static long sum_before(const char *log, const char *words)
{
	long sum = -1;

	for (const char *at = log; (at = strstr(at, words)); at += strlen(words)) {
		const char *digit = at;

		while (digit > log && digit[-1] >= '0' && digit[-1] <= '9')
			digit--;
		sum = (sum < 0 ? 0 : sum) + atol(digit);
	}
	return sum;
}

static bool report(const struct nvrtc *n, const struct ccs_module *m, enum ccs_protocol protocol)
{
	struct kernel_key key = kernel_key_of(m->head->flags, CCS_FLOAT32, CCS_SUM, protocol);
	struct nvrtc_arch arch = { 90, 0 };
	struct nvrtc_output o;
	const char *name = protocol == CCS_LL ? "LL" : "Simple";
	bool ok = kernel_compile(n, m->cuda, &key, arch, KERNEL_REPORT, &o);
	if (ok)
		printf("%s, %s: registers %ld shared %ld stack %ld spills %ld\n",
		       ccs_module_schedule(m), name, sum_before(o.log, " registers"),
		       sum_before(o.log, " bytes smem"), sum_before(o.log, " bytes stack frame"),
		       sum_before(o.log, " bytes spill stores"));
	free(o.data);
	free(o.log);
	return ok;
}

int main(int argc, char **argv)
{
	struct nvrtc nvrtc;
	char why[800];
	int failed = 0;

	if (!nvrtc_open(&nvrtc, why, sizeof(why)))
		return 0;
	for (int i = 1; i < argc; i++) {
		struct ccs_module *m;

		if (ccs_module_load(&m, argv[i]) || !m->cuda) {
			fprintf(stderr, "%s: %s\n", argv[i], ccs_error());
			failed = 1;
			continue;
		}
		failed |= !report(&nvrtc, m, CCS_SIMPLE) || !report(&nvrtc, m, CCS_LL);
		ccs_module_free(m);
	}
	nvrtc_close(&nvrtc);
	return failed;
}
