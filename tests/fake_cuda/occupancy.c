/*
 * What a kernel needs, and how many blocks of it a multiprocessor has room for: see occupancy.h.
 *
 * A CUBIN is an ELF file. Its attributes name the registers of each function's symbol, and those of
 * the kernel the most threads that it may have. The section of its static shared memory is as large
 * as that, with the KiB that the system takes of each block.
 */
#include "tests/fake_cuda/occupancy.h"

#include "runtime/cuda/device/args.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- what a kernel needs --------------------------------------------------------------- */

struct image {
	const unsigned char *at;
	size_t bytes;
	const Elf64_Shdr *sections;
	unsigned n;
	const char *names;
};

static const void *part(const struct image *f, uint64_t at, uint64_t size)
{
	return at <= f->bytes && size <= f->bytes - at ? f->at + at : NULL;
}

static const Elf64_Shdr *section(const struct image *f, const char *name)
{
	for (unsigned i = 0; i < f->n; i++)
		if (!strcmp(f->names + f->sections[i].sh_name, name))
			return f->sections + i;
	return NULL;
}

static bool open_image(struct image *f, const void *image, size_t bytes)
{
	const Elf64_Ehdr *e = image;

	*f = (struct image){ .at = image, .bytes = bytes };
	if (bytes < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG) ||
	    e->e_shstrndx >= e->e_shnum)
		return false;
	f->n = e->e_shnum;
	f->sections = part(f, e->e_shoff, (uint64_t)f->n * sizeof(*f->sections));
	if (f->sections)
		f->names = part(f, f->sections[e->e_shstrndx].sh_offset,
				f->sections[e->e_shstrndx].sh_size);
	return f->names != NULL;
}

/* The attributes of a section: each has a format and a number, and then a value, before which is its
 * length where the format is 4; else it has two bytes. Word `word` of the first of that number that
 * begins with `key`, where one is asked for; 0: there is none. */
static uint32_t attribute(const struct image *f, const Elf64_Shdr *s, unsigned number,
			  const uint32_t *key, unsigned word)
{
	const unsigned char *at = s ? part(f, s->sh_offset, s->sh_size) : NULL;
	const unsigned char *end = at ? at + s->sh_size : NULL;

	while (at && end - at >= 4) {
		size_t n = at[0] == 4 ? (size_t)(at[2] | at[3] << 8) : 0;
		uint32_t words[2] = { 0 };

		if ((size_t)(end - at) - 4 < n)
			break;
		memcpy(words, at + 4, n < sizeof(words) ? n : sizeof(words));
		if (at[1] == number && (!key || words[0] == *key))
			return words[word];
		at += 4 + n;
	}
	return 0;
}

bool needs_of_cubin(const void *image, size_t bytes, struct kernel_needs *to)
{
	enum { MAX_THREADS = 0x05, REGISTERS = 0x2f }; /* of a kernel; of a symbol of the file's */
	const Elf64_Shdr *code, *shared;
	struct image f;
	uint32_t symbol;

	if (!open_image(&f, image, bytes))
		return false;
	code = section(&f, ".text." CCS_DEV_KERNEL);
	shared = section(&f, ".nv.shared." CCS_DEV_KERNEL);
	if (!code)
		return false;
	symbol = code->sh_info & 0xffffff;
	*to = (struct kernel_needs){
		attribute(&f, section(&f, ".nv.info"), REGISTERS, &symbol, 1),
		shared ? (unsigned)shared->sh_size : 0,
		attribute(&f, section(&f, ".nv.info." CCS_DEV_KERNEL), MAX_THREADS, NULL, 0),
	};
	return to->registers && to->threads;
}

bool needs_of_text(const char *text, struct kernel_needs *to)
{
	const char *line = strstr(text, "// " CCS_DEV_KERNEL " needs:");

	return line && sscanf(line, OCCUPANCY_LINE, &to->registers, &to->shared, &to->threads) == 3;
}

/* ---- how many there is room for -------------------------------------------------------------- */

static unsigned round_to(unsigned n, unsigned unit)
{
	return (n + unit - 1) / unit * unit;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Each of four parts has 16 Ki registers, given to a warp by 256, and 16 warps; a multiprocessor
 * 32 blocks, and 228 KiB of shared memory, given by 128 bytes. */
int blocks_per_sm(const struct kernel_needs *k, unsigned threads)
{
	unsigned warps = (threads + 31) / 32;
	unsigned of_warp = round_to(k->registers * 32, 256);
	unsigned resident = 4 * least(16, of_warp ? (16u << 10) / of_warp : 16);
	unsigned by_shared = (228u << 10) / round_to(k->shared ? k->shared : 1, 128);

	if (!threads || threads > k->threads)
		return 0;
	return (int)least(least(resident / warps, by_shared), 32);
}
