/*
 * Begins a walk over all possible points (forms.h), and notes why a walk fails. O(1) each.
 */
#ifdef CCS_HAVE_ISL
#include "compiler/every/affine/forms.h"

#include <stdarg.h>

isl_pw_aff *forms_constant(struct forms *f, int64_t n)
{
	isl_local_space *ls = isl_local_space_from_space(isl_space_copy(f->space));
	return isl_pw_aff_from_aff(isl_aff_val_on_domain(ls, isl_val_int_from_si(f->isl, n)));
}

static isl_pw_aff *variable(struct forms *f, enum isl_dim_type type, uint32_t i)
{
	isl_local_space *ls = isl_local_space_from_space(isl_space_copy(f->space));
	return isl_pw_aff_from_aff(isl_aff_var_on_domain(ls, type, i));
}

isl_pw_aff *forms_dim(struct forms *f, uint32_t dim)
{
	return variable(f, isl_dim_set, dim);
}

isl_pw_aff *forms_param(struct forms *f, uint32_t param)
{
	return variable(f, isl_dim_param, param);
}

struct walk forms_begin(struct forms *f)
{
	struct walk w = { .f = f, .domain = isl_set_copy(f->context) };

	w.here = (struct members){ forms_dim(f, 0), forms_param(f, 0), forms_constant(f, 0),
				   forms_constant(f, 1) };
	w.channel = forms_constant(f, 0);
	return w;
}

void forms_end(struct walk *w)
{
	isl_pw_aff_free(w->here.rank);
	isl_pw_aff_free(w->here.n);
	isl_pw_aff_free(w->here.first);
	isl_pw_aff_free(w->here.stride);
	isl_pw_aff_free(w->channel);
	isl_set_free(w->domain);
	isl_map_free(w->joints);
}

void forms_fail(struct forms *f, struct span at, const char *fmt, ...)
{
	va_list ap;

	if (f->why)
		return;
	va_start(ap, fmt);
	f->why = arena_vprintf(f->arena, fmt, ap);
	va_end(ap);
	f->line = every_line(f->sources, f->in, at);
}
#else
typedef int without_isl; /* a file needs a declaration */
#endif
