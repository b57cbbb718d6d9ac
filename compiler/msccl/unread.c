/*
 * Replaces read.c in a build without expat: reports that MSCCL XML cannot be read.
 */
#include "compiler/msccl/msccl.h"

struct msccl *msccl_read(struct ctx *c, struct source *source)
{
	(void)source;
	diag_add(c->diags, SEV_ERROR, 703, NOWHERE, NO_RANK,
		 "this ccc was built without expat and cannot read MSCCL XML");
	return NULL;
}
