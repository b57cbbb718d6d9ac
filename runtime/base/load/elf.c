/*
 * Finds the symbol ccs_module_v1 of a shared object in .dynsym (elf(5)). See elf.h.
 *
 * It reads sections, not segments, and checks every offset against the size.
 */
#include "runtime/base/load/elf.h"

#include <elf.h>
#include <string.h>

#define SYMBOL "ccs_module_v1"
#define MOST_SYMBOLS 10000000u /* more: the file was made to keep its reader busy */

static bool inside(const struct elf_bytes *f, uint64_t at, uint64_t len)
{
	return at <= f->size && len <= f->size - at;
}

static bool get(const struct elf_bytes *f, uint64_t at, void *to, size_t n)
{
	return inside(f, at, n) && f->read(f->of, at, to, n);
}

static bool section(const struct elf_bytes *f, const Elf64_Ehdr *eh, uint32_t i, Elf64_Shdr *out)
{
	return i < eh->e_shnum && eh->e_shoff <= f->size &&
	       get(f, eh->e_shoff + (uint64_t)i * sizeof(*out), out, sizeof(*out));
}

static bool name_is(const struct elf_bytes *f, const Elf64_Shdr *strings, uint32_t at)
{
	char name[sizeof(SYMBOL)];

	return at <= strings->sh_size && sizeof(name) <= strings->sh_size - at &&
	       get(f, strings->sh_offset + at, name, sizeof(name)) &&
	       memcmp(name, SYMBOL, sizeof(name)) == 0;
}

/* The symbol's bytes in the file, [*at, *at + *len), from its section. */
static bool locate(const struct elf_bytes *f, const Elf64_Ehdr *eh, const Elf64_Sym *sym,
		   uint64_t *at, uint64_t *len)
{
	Elf64_Shdr in;
	uint64_t into;

	if (!section(f, eh, sym->st_shndx, &in) || in.sh_type != SHT_PROGBITS ||
	    !inside(f, in.sh_offset, in.sh_size) || sym->st_value < in.sh_addr)
		return false;
	into = sym->st_value - in.sh_addr;
	if (into > in.sh_size || sym->st_size > in.sh_size - into)
		return false;
	*at = in.sh_offset + into;
	*len = sym->st_size;
	return true;
}

/* Searches a symbol table. Returns NULL or an error. *found: whether the symbol is there. */
static const char *find_symbol(const struct elf_bytes *f, const Elf64_Ehdr *eh,
			       const Elf64_Shdr *table, bool *found, uint64_t *at, uint64_t *len)
{
	Elf64_Shdr strings;
	Elf64_Sym sym;

	*found = false;
	if (!inside(f, table->sh_offset, table->sh_size) ||
	    !section(f, eh, table->sh_link, &strings) ||
	    !inside(f, strings.sh_offset, strings.sh_size))
		return "is cut off inside its symbols";
	if (table->sh_size / sizeof(sym) > MOST_SYMBOLS)
		return "has more symbols than any file that ccc makes";
	for (uint64_t k = 0; k < table->sh_size / sizeof(sym) && !*found; k++) {
		if (!get(f, table->sh_offset + k * sizeof(sym), &sym, sizeof(sym)))
			return "is cut off inside its symbols";
		*found = sym.st_shndx != SHN_UNDEF && name_is(f, &strings, sym.st_name);
	}
	return !*found || locate(f, eh, &sym, at, len) ? NULL : "is cut off inside " SYMBOL;
}

const char *elf_module(const struct elf_bytes *f, uint64_t *at, uint64_t *len)
{
	Elf64_Ehdr eh;
	Elf64_Shdr table;

	if (!get(f, 0, &eh, sizeof(eh)))
		return "is cut off inside its ELF header";
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB)
		return "is not a 64-bit little-endian ELF file";
	if (eh.e_type != ET_DYN)
		return "is not a shared object (ccc SCHEDULE.ccs -o x.so makes one)";
	if (eh.e_shentsize != sizeof(Elf64_Shdr) || !section(f, &eh, 0, &table))
		return "has no section headers (cut off, or stripped of them)";
	for (uint32_t i = 0; i < eh.e_shnum; i++) {
		const char *wrong;
		bool found;

		if (!section(f, &eh, i, &table))
			return "is cut off inside its section headers";
		if (table.sh_type != SHT_DYNSYM)
			continue;
		wrong = find_symbol(f, &eh, &table, &found, at, len);
		if (wrong || found)
			return wrong;
	}
	return "has no symbol " SYMBOL ": it was not made by ccc (ccc SCHEDULE.ccs -o x.so)";
}
