/*
 * Finds a data symbol in a shared object without loading it.
 *
 * In:  the bytes of a file, which may be anything, and a name. Out: where in the
 * file the symbol's bytes lie. Every offset is checked against the file's size.
 *
 * Sections are read, not segments: O(symbols).
 */
#include "compiler/elf.h"

#include <elf.h>
#include <string.h>

struct image {
	const unsigned char *data;
	size_t len;
};

/* `n` bytes at `at`, or NULL where the file has none. */
static const void *piece(const struct image *f, uint64_t at, uint64_t n)
{
	return at <= f->len && n <= f->len - at ? f->data + at : NULL;
}

/* Copies section header `i`: the file need not be aligned. */
static bool section(const struct image *f, const Elf64_Ehdr *h, uint64_t i, Elf64_Shdr *out)
{
	if (i >= h->e_shnum || h->e_shentsize != sizeof *out || h->e_shoff > f->len)
		return false;
	const void *p = piece(f, h->e_shoff + i * sizeof *out, sizeof *out);
	if (p)
		memcpy(out, p, sizeof *out);
	return p != NULL;
}

static bool name_is(const struct image *f, const Elf64_Shdr *strings, uint32_t at, const char *name)
{
	size_t n = strlen(name) + 1;

	if (at > strings->sh_size || n > strings->sh_size - at || strings->sh_offset > f->len)
		return false;
	const void *p = piece(f, strings->sh_offset + at, n);
	return p && !memcmp(p, name, n);
}

/* The file offset of a symbol's bytes, through the section that holds them. */
static bool locate(const struct image *f, const Elf64_Ehdr *h, const Elf64_Sym *s, size_t *at,
		   size_t *n)
{
	Elf64_Shdr in;

	if (!section(f, h, s->st_shndx, &in) || in.sh_type == SHT_NOBITS ||
	    s->st_value < in.sh_addr || s->st_value - in.sh_addr > in.sh_size ||
	    in.sh_offset > f->len)
		return false;
	uint64_t where = in.sh_offset + (s->st_value - in.sh_addr);
	if (!piece(f, where, s->st_size))
		return false;
	*at = (size_t)where;
	*n = (size_t)s->st_size;
	return true;
}

bool elf_find(const unsigned char *data, size_t len, const char *name, size_t *at, size_t *n)
{
	struct image f = { data, len };
	Elf64_Ehdr h;
	Elf64_Shdr dynsym, strings;
	uint64_t i = 0;

	if (len < sizeof h)
		return false;
	memcpy(&h, data, sizeof h);
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	do {
		if (!section(&f, &h, i++, &dynsym))
			return false;
	} while (dynsym.sh_type != SHT_DYNSYM);
	if (!section(&f, &h, dynsym.sh_link, &strings) || dynsym.sh_offset > len)
		return false;
	for (i = 0; i < dynsym.sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym s;
		const void *p = piece(&f, dynsym.sh_offset + i * sizeof s, sizeof s);
		if (!p)
			return false;
		memcpy(&s, p, sizeof s);
		if (s.st_shndx != SHN_UNDEF && name_is(&f, &strings, s.st_name, name))
			return locate(&f, &h, &s, at, n);
	}
	return false;
}
