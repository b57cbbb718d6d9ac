/*
 * Opening modules: a shared object's ccs_module_v1, a file of its bare bytes,
 * or bytes in memory.
 *
 * In comes any file; out comes a module that module_verify has accepted, or a
 * text that says what is wrong. Nothing of the file is mapped or run: it is
 * read into memory, and the symbol is looked up in .dynsym by code that checks
 * every offset against the file's size. O(bytes).
 */
#include "runtime/load.h"

#include "runtime/error.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYMBOL "ccs_module_v1"

struct blob {
	unsigned char *data;
	size_t len;
};

static ccs_status read_all(int fd, const char *path, struct blob *b)
{
	struct stat st;

	if (fstat(fd, &st))
		return error_set(CCS_EFILE, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(CCS_EFILE, "%s: not a regular file", path);
	b->data = malloc((size_t)st.st_size + 1);
	if (!b->data)
		return error_set(CCS_ENOMEM, "%s: no memory for its %lld bytes", path,
				 (long long)st.st_size);
	while (b->len < (size_t)st.st_size) {
		ssize_t n = read(fd, b->data + b->len, (size_t)st.st_size - b->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(CCS_EFILE, "%s: %s", path, strerror(errno));
		if (n == 0)
			break;
		b->len += (size_t)n;
	}
	return CCS_OK;
}

static ccs_status read_file(const char *path, struct blob *b)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ccs_status s;

	*b = (struct blob){ 0 };
	if (fd < 0)
		return error_set(CCS_EFILE, "%s: %s", path, strerror(errno));
	s = read_all(fd, path, b);
	close(fd);
	if (s) {
		free(b->data);
		b->data = NULL;
	}
	return s;
}

static bool inside(const struct blob *b, uint64_t at, uint64_t len)
{
	return at <= b->len && len <= b->len - at;
}

static bool section(const struct blob *b, const Elf64_Ehdr *eh, uint32_t i, Elf64_Shdr *out)
{
	uint64_t at;

	if (i >= eh->e_shnum || eh->e_shoff > b->len)
		return false;
	at = eh->e_shoff + (uint64_t)i * sizeof(*out);
	if (!inside(b, at, sizeof(*out)))
		return false;
	memcpy(out, b->data + at, sizeof(*out));
	return true;
}

static bool name_is(const struct blob *b, const Elf64_Shdr *strings, uint32_t at)
{
	size_t len = sizeof(SYMBOL);

	return at <= strings->sh_size && len <= strings->sh_size - at &&
	       memcmp(b->data + strings->sh_offset + at, SYMBOL, len) == 0;
}

/* The symbol's bytes in the file, by its section: [*at, *at + *len). */
static bool locate(const struct blob *b, const Elf64_Ehdr *eh, const Elf64_Sym *sym,
		   uint64_t *at, uint64_t *len)
{
	Elf64_Shdr in;
	uint64_t into;

	if (!section(b, eh, sym->st_shndx, &in) || in.sh_type != SHT_PROGBITS ||
	    !inside(b, in.sh_offset, in.sh_size) || sym->st_value < in.sh_addr)
		return false;
	into = sym->st_value - in.sh_addr;
	if (into > in.sh_size || sym->st_size > in.sh_size - into)
		return false;
	*at = in.sh_offset + into;
	*len = sym->st_size;
	return true;
}

/* Finds the module in a shared object. Returns NULL, or what is wrong. */
static const char *find_module(const struct blob *b, uint64_t *at, uint64_t *len)
{
	Elf64_Ehdr eh;
	Elf64_Shdr table, strings;
	Elf64_Sym sym;

	if (b->len < sizeof(eh))
		return "is cut off inside its ELF header";
	memcpy(&eh, b->data, sizeof(eh));
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB)
		return "is no 64-bit little-endian ELF file";
	if (eh.e_type != ET_DYN)
		return "is no shared object";
	if (eh.e_shentsize != sizeof(Elf64_Shdr) || !section(b, &eh, 0, &table))
		return "has no section headers (cut off, or stripped of them)";
	for (uint32_t i = 0; i < eh.e_shnum; i++) {
		if (!section(b, &eh, i, &table))
			return "is cut off inside its section headers";
		if (table.sh_type != SHT_DYNSYM)
			continue;
		if (!inside(b, table.sh_offset, table.sh_size) ||
		    !section(b, &eh, table.sh_link, &strings) ||
		    !inside(b, strings.sh_offset, strings.sh_size))
			return "is cut off inside its symbols";
		for (uint64_t k = 0; k < table.sh_size / sizeof(sym); k++) {
			memcpy(&sym, b->data + table.sh_offset + k * sizeof(sym), sizeof(sym));
			if (!name_is(b, &strings, sym.st_name) || sym.st_shndx == SHN_UNDEF)
				continue;
			if (!locate(b, &eh, &sym, at, len))
				return "is cut off inside " SYMBOL;
			return NULL;
		}
	}
	return "has no symbol " SYMBOL ": it was not made by ccc";
}

static ccs_status open_bytes(struct ccs_module **out, unsigned char *owned, const void *bytes,
			     size_t size, const char *what)
{
	struct ccs_module *m = calloc(1, sizeof(*m));
	ccs_status s;

	if (!m) {
		free(owned);
		return error_set(CCS_ENOMEM, "%s: out of memory", what);
	}
	m->owned = owned;
	atomic_init(&m->refs, 1);
	pthread_mutex_init(&m->lock, NULL);
	s = module_verify(m, bytes, size, what);
	if (s) {
		ccs_module_free(m);
		return s;
	}
	*out = m;
	return CCS_OK;
}

ccs_status ccs_module_load(struct ccs_module **out, const char *path)
{
	struct blob b;
	uint64_t at = 0, len;
	const char *wrong;
	ccs_status s;

	if (!out || !path)
		return error_set(CCS_EINVAL, "ccs_module_load: out and path must not be NULL");
	*out = NULL;
	s = read_file(path, &b);
	if (s)
		return s;
	len = b.len;
	if (b.len >= SELFMAG && memcmp(b.data, ELFMAG, SELFMAG) == 0) {
		wrong = find_module(&b, &at, &len);
		if (wrong) {
			free(b.data);
			return error_set(CCS_EFILE, "%s: the file %s", path, wrong);
		}
		memmove(b.data, b.data + at, (size_t)len);	/* aligned, as malloc is */
	}
	return open_bytes(out, b.data, b.data, (size_t)len, path);
}

ccs_status ccs_module_open(struct ccs_module **out, const void *bytes, size_t size)
{
	unsigned char *copy;

	if (!out || !bytes)
		return error_set(CCS_EINVAL, "ccs_module_open: out and bytes must not be NULL");
	*out = NULL;
	if ((uintptr_t)bytes % 8 == 0)
		return open_bytes(out, NULL, bytes, size, "module");
	if (size >= sizeof(uint64_t)) {		/* copy no more than the module itself */
		uint64_t own;

		memcpy(&own, bytes, sizeof(own));
		size = own < size ? (size_t)own : size;
	}
	copy = malloc(size + 1);
	if (!copy)
		return error_set(CCS_ENOMEM, "out of memory for a module of %zu bytes", size);
	memcpy(copy, bytes, size);
	return open_bytes(out, copy, copy, size, "module");
}
