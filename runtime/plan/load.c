/*
 * Opening modules: from a shared object with the symbol ccs_module_v1, from a file of the
 * module's bare bytes, or from bytes in memory.
 *
 * In: any file. Out: a module that module_verify accepted, or an error text. No part of the file
 * is mapped or run. The symbol is looked up by code that checks every offset against the file's
 * size (elf.h), and only the module is read into memory. So a large file without a module costs
 * little, and a file that is not regular is not opened. O(symbols + bytes of the module).
 */
#include "runtime/plan/load.h"

#include "runtime/base/load/elf.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool get(const void *fd, uint64_t at, void *to, size_t n)
{
	return file_read(*(const int *)fd, at, to, n);
}

/* ---- in any file ---------------------------------------------------------------------- */

/* Whether the name is that of a source file. If so, `how` has the command that compiles it. */
static bool is_source(const char *path, char *how, size_t size)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(name);

	if (n < 5 || strcmp(name + n - 4, ".ccs"))
		return false;
	snprintf(how, size, "ccc %s -o %.*s.so", path, (int)(n - 4), name);
	return true;
}

static ccs_status find(const struct elf_bytes *f, const char *path, uint64_t *at, uint64_t *len)
{
	struct ccs_module_head head;
	const char *wrong;
	char how[600];

	memset(&head, 0, sizeof(head));
	if (!f->read(f->of, 0, &head, f->size < sizeof(head) ? (size_t)f->size : sizeof(head)))
		return error_set(CCS_EFILE, "%s cannot be read: %s", path,
				 errno ? strerror(errno) : "it has just become shorter");
	if (memcmp(&head, ELFMAG, SELFMAG) == 0) {
		wrong = elf_module(f, at, len);
		return !wrong ? CCS_OK : error_set(CCS_EFILE, "%s: the file %s", path, wrong);
	}
	*at = 0;
	*len = f->size;
	if (!memcmp(head.magic, CCS_PLAN_MAGIC, sizeof(head.magic)))
		return CCS_OK;
	if (is_source(path, how, sizeof(how)))
		return error_set(CCS_EFILE,
				 "%s is a schedule's source, not a module: compile it "
				 "first, with %s",
				 path, how);
	return error_set(CCS_EFILE,
			 "%s: the file is not a module (ccc SCHEDULE.ccs -o x.so makes one)%s",
			 path, f->size ? "" : ": it is empty");
}

/* Reads only the module's bytes, and only as many as the file has now. */
static ccs_status read_module(const char *path, unsigned char **data, uint64_t *len)
{
	struct elf_bytes f = { .read = get };
	char why[700];
	uint64_t at = 0;
	ccs_status s;
	int fd = file_open(AT_FDCWD, path, 0, &f.size, why, sizeof(why));

	f.of = &fd;
	if (fd < 0)
		return error_set(
			CCS_EFILE, "%s %s%s", path, why,
			strncmp(why, "is ", 3) ? "" : ": ccc SCHEDULE.ccs -o x.so makes a module");
	s = find(&f, path, &at, len);
	*data = s ? NULL : malloc((size_t)*len + 1);
	if (!s && !*data)
		s = error_set(CCS_ENOMEM, "%s: no memory for its %llu bytes", path,
			      (unsigned long long)*len);
	if (!s && !file_read(fd, at, *data, (size_t)*len)) {
		s = error_set(CCS_EFILE, "%s cannot be read: %s", path,
			      errno ? strerror(errno) : "it has just become shorter");
		free(*data);
	}
	close(fd);
	return s;
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
	unsigned char *data;
	uint64_t len;
	ccs_status s;

	if (!out || !path)
		return error_set(CCS_EINVAL, "ccs_module_load: out and path must not be NULL");
	*out = NULL;
	s = read_module(path, &data, &len);
	return s ? s : open_bytes(out, data, data, (size_t)len, path);
}

ccs_status ccs_module_open(struct ccs_module **out, const void *bytes, size_t size)
{
	unsigned char *copy;

	if (!out || !bytes)
		return error_set(CCS_EINVAL, "ccs_module_open: out and bytes must not be NULL");
	*out = NULL;
	if ((uintptr_t)bytes % 8 == 0)
		return open_bytes(out, NULL, bytes, size, "module");
	if (size >= sizeof(uint64_t)) { /* copy only the module */
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
