/*
 * Kernels as NVRTC makes them: see kernel_code.h. O(bytes).
 */
#include "tests/support/kernel_code.h"

#include "runtime/cuda/device/args.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a CUBIN says of itself ------------------------------------------------ */

/* A part of the file, or NULL. */
static const void *part(const struct nvrtc_output *o, uint64_t at, uint64_t size)
{
	return at <= o->len && size <= o->len - at ? o->data + at : NULL;
}

static const Elf64_Shdr *section(const struct nvrtc_output *o, const Elf64_Ehdr *e,
				 const char *name)
{
	const Elf64_Shdr *s = part(o, e->e_shoff, (uint64_t)e->e_shnum * sizeof(*s));

	for (size_t i = 0; s && e->e_shstrndx < e->e_shnum && i < e->e_shnum; i++) {
		const char *text =
			part(o, s[e->e_shstrndx].sh_offset + s[i].sh_name, strlen(name) + 1);
		if (text && !memcmp(text, name, strlen(name) + 1))
			return s + i;
	}
	return NULL;
}

/* Compute capability, as in "sm_90": it moved to the second byte with CUDA 13. */
static int elf_arch(const Elf64_Ehdr *e)
{
	return (int)(e->e_ident[EI_ABIVERSION] >= 8 ? e->e_flags >> 8 & 0xff : e->e_flags & 0xff);
}

static bool has_entry(const struct nvrtc_output *o, const Elf64_Ehdr *e)
{
	const Elf64_Shdr *symbols = section(o, e, ".symtab"), *names = section(o, e, ".strtab");
	const Elf64_Sym *y = symbols ? part(o, symbols->sh_offset, symbols->sh_size) : NULL;

	for (size_t i = 0; y && names && i < symbols->sh_size / sizeof(*y); i++) {
		const char *name = part(o, names->sh_offset + y[i].st_name, sizeof(CCS_DEV_KERNEL));
		if (name && !strcmp(name, CCS_DEV_KERNEL) &&
		    ELF64_ST_TYPE(y[i].st_info) == STT_FUNC &&
		    ELF64_ST_BIND(y[i].st_info) == STB_GLOBAL)
			return true;
	}
	return false;
}

static void look_at_text(const struct nvrtc_output *o, int arch, char *why, size_t size)
{
	char target[32];

	snprintf(target, sizeof(target), ".target sm_%d\n", arch);
	if (!strstr(o->data, target))
		snprintf(why, size, "the PTX has no \"%.20s\"", target);
	else if (!strstr(o->data, ".entry " CCS_DEV_KERNEL "("))
		snprintf(why, size, "the PTX has no entry " CCS_DEV_KERNEL);
}

bool kernel_code_right(const struct nvrtc_output *o, int arch, bool ptx, char *why, size_t size)
{
	const Elf64_Ehdr *e = part(o, 0, sizeof(*e));

	*why = '\0';
	if (*o->log)
		snprintf(why, size, "NVRTC says: %.1400s", o->log);
	else if (ptx)
		look_at_text(o, arch, why, size);
	else if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG))
		snprintf(why, size, "the CUBIN is no ELF file");
	else if (e->e_machine != EM_CUDA || elf_arch(e) != arch)
		snprintf(why, size, "the CUBIN is for machine %d, sm_%d", e->e_machine,
			 elf_arch(e));
	else if (!has_entry(o, e))
		snprintf(why, size, "the CUBIN has no entry " CCS_DEV_KERNEL);
	return !*why;
}

/* ---- what the assembler says ------------------------------------------------------ */

long kernel_code_spills(char *log)
{
	long spills = -1;
	char *to = log, *line = log, *end;

	for (; *line; line = end) {
		const char *what;

		end = strchr(line, '\n');
		end = end ? end + 1 : line + strlen(line);
		if (strncmp(line, "ptxas", 5) || !memcmp(line, "ptxas warning", 13) ||
		    !memcmp(line, "ptxas error", 11)) {
			memmove(to, line, (size_t)(end - line));
			to += end - line;
			continue;
		}
		what = strstr(line, " bytes spill stores");
		if (!what || what >= end)
			continue;
		while (what > line && what[-1] >= '0' && what[-1] <= '9')
			what--;
		spills = (spills < 0 ? 0 : spills) + atol(what);
	}
	*to = '\0';
	return spills;
}

/* ---- sources ---------------------------------------------------------------------- */

static bool begins(const char *p, const char *text)
{
	return !strncmp(p, text, strlen(text));
}

/* The next line that the compiler sees for LL; NULL at the end. Left out are the schedule's name,
 * in the first line, and what stands between #if CCS_PROTO == CCS_DEV_SIMPLE and the next line that
 * begins with # and is no #line: its #endif, or what is compared again. */
static const char *next_line(const char *p)
{
	bool simple = begins(p, "#if CCS_PROTO == CCS_DEV_SIMPLE\n");

	do {
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	} while (p && simple && (*p != '#' || begins(p, "#line")));
	return p && *p ? p : NULL;
}

bool kernel_code_same_ll(const char *a, const char *b)
{
	a = next_line(a);
	b = next_line(b);
	while (a && b && strcspn(a, "\n") == strcspn(b, "\n") && !strncmp(a, b, strcspn(a, "\n"))) {
		a = next_line(a);
		b = next_line(b);
	}
	return !a && !b;
}
