/*
 * Replaces xml.c in a build without expat: reports that XML cannot be read.
 */
#include "compiler/xml/xml.h"

const char *xml_root(struct ctx *c, struct source *source)
{
	(void)c;
	(void)source;
	return NULL;
}

bool xml_read(struct ctx *c, struct source *source, const struct xml_format *format, void *arg)
{
	(void)source;
	(void)format;
	(void)arg;
	diag_add(c->diags, SEV_ERROR, 703, NOWHERE, NO_RANK,
		 "this ccc was built without expat and cannot read XML");
	return false;
}

void xml_stop(struct xml *x)
{
	(void)x;
}
