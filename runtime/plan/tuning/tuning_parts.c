/*
 * The short form of a tuning: see tuning.h, and ccs-tuning(5), Short form.
 *
 *     list  = { part "," } part
 *     part  = collective ":" file [ "@" range ] | "@" tuning
 *     range = [ size ] "-" [ size ]
 *
 * In: any text. Out: its parts, in order, in one block of memory with copies of their texts; or the
 * part that is wrong, and why. O(text).
 */
#include "runtime/plan/tuning/tuning.h"

#include "runtime/base/error.h"
#include "runtime/base/size.h"

#include <stdlib.h>
#include <string.h>

/* NULL, or what is wrong with the range. */
static const char *read_range(const char *s, struct ccs_tuning_part *p)
{
	const char *fault = *s == '-' ? NULL : size_read(&s, &p->least);

	if (!fault && *s++ != '-')
		fault = "a range has a -";
	if (!fault && *s)
		fault = size_read(&s, &p->most);
	if (!fault && *s)
		fault = "the unit of a size must be K, M or G, or left out";
	return fault ? fault : p->least > p->most ? "FROM is larger than TO" : NULL;
}

/* Cuts the copy of a part at its separators. */
static ccs_status read_part(const char *name, struct ccs_tuning_part *p, char *copy)
{
	char *file = strchr(copy, ':'), *slash, *range;
	const char *fault;

	p->most = UINT64_MAX;
	if (*copy == '@' && copy[1]) {
		p->file = copy + 1;
		return CCS_OK;
	}
	if (!file || file == copy || !file[1])
		return error_set(CCS_EINVAL,
				 "%s: '%s' is not COLLECTIVE:FILE, COLLECTIVE:FILE@FROM-TO or "
				 "@TUNING",
				 name, p->text);
	*file++ = '\0';
	p->collective = copy;
	p->file = file;
	slash = strrchr(file, '/');
	range = strrchr(slash ? slash : file, '@');
	fault = range ? read_range(range + 1, p) : NULL;
	if (fault)
		return error_set(CCS_EINVAL,
				 "%s: '%s', of '%s', is not a range of sizes, such as 4K-64K, 64K- "
				 "or -4K: %s",
				 name, range + 1, p->text, fault);
	if (range)
		*range = '\0';
	if (!*file)
		return error_set(CCS_EINVAL, "%s: '%s' names no file", name, p->text);
	return CCS_OK;
}

/* Ends the text at its last character that is not a blank; returns its first. */
static char *trimmed(char *text)
{
	char *end;

	text += strspn(text, " \t\n");
	for (end = text + strlen(text); end > text && strchr(" \t\n", end[-1]);)
		*--end = '\0';
	return text;
}

ccs_status ccs_tuning_parts(struct ccs_tuning_part **parts, int *n, const char *name,
			    const char *list)
{
	size_t most = 1, len = strlen(list);
	struct ccs_tuning_part *all;
	char *rest, *copies, *part;
	ccs_status s = CCS_OK;

	*parts = NULL;
	*n = 0;
	for (const char *p = list; *p; p++)
		most += *p == ',';
	all = calloc(1, most * sizeof(*all) + 2 * (len + 1));
	if (!all)
		return error_set(CCS_ENOMEM, "out of memory for %s", name);
	rest = memcpy(all + most, list, len + 1);
	copies = rest + len + 1;
	while (!s && (part = strsep(&rest, ",")) != NULL) {
		part = trimmed(part);
		if (!*part)
			continue;
		all[*n].text = part;
		s = read_part(name, all + (*n)++, strcpy(copies, part));
		copies += strlen(part) + 1;
	}
	if (s)
		free(all);
	else
		*parts = all;
	*n = s ? 0 : *n;
	return s;
}

void ccs_tuning_parts_free(struct ccs_tuning_part *parts)
{
	free(parts);
}
