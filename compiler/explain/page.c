#include "compiler/explain/explain.h"
bool explain_html(struct script *x, FILE *out, const char **why)
{
	(void)x;
	(void)out;
	(void)why;
	return true;
}
