/*
 * The kernels of one element type; included by reduce.c once a type (so it has
 * no include guard). Before inclusion define
 *
 *   NAME	suffix of the functions' names
 *   ELEM	the stored type
 *   WIDE	the type that it is combined in
 *   LOAD(e)	ELEM to WIDE
 *   STORE(w)	WIDE to ELEM, rounded
 *   ISNAN(w)	1 for a NaN; 0 for integers
 *   SUMS	1: also sum, product and scale (signed integers use the unsigned
 *		type's, which have the same bits and wrap)
 *
 * and all of them are undefined at the end.
 */
#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define FN(verb) JOIN(verb, NAME)

#if SUMS
static void FN(sum)(void *dst, const void *x, const void *y, size_t n)
{
	ELEM *d = dst;
	const ELEM *a = x, *b = y;

	VECTORISE
	for (size_t i = 0; i < n; i++)
		d[i] = STORE(LOAD(a[i]) + LOAD(b[i]));
}

static void FN(prod)(void *dst, const void *x, const void *y, size_t n)
{
	ELEM *d = dst;
	const ELEM *a = x, *b = y;

	VECTORISE
	for (size_t i = 0; i < n; i++)
		d[i] = STORE(LOAD(a[i]) * LOAD(b[i]));
}

static void FN(scale)(void *dst, const void *x, const void *scalar, size_t n)
{
	ELEM *d = dst;
	const ELEM *a = x;
	const WIDE s = LOAD(*(const ELEM *)scalar);

	VECTORISE
	for (size_t i = 0; i < n; i++)
		d[i] = STORE(LOAD(a[i]) * s);
}
#endif

static void FN(max)(void *dst, const void *x, const void *y, size_t n)
{
	ELEM *d = dst;
	const ELEM *a = x, *b = y;

	VECTORISE
	for (size_t i = 0; i < n; i++) {
		ELEM p = a[i], q = b[i];
		d[i] = LOAD(p) > LOAD(q) || ISNAN(LOAD(q)) ? p : q;
	}
}

static void FN(min)(void *dst, const void *x, const void *y, size_t n)
{
	ELEM *d = dst;
	const ELEM *a = x, *b = y;

	VECTORISE
	for (size_t i = 0; i < n; i++) {
		ELEM p = a[i], q = b[i];
		d[i] = LOAD(p) < LOAD(q) || ISNAN(LOAD(q)) ? p : q;
	}
}

static void FN(divide)(void *data, size_t n, uint32_t by)
{
	ELEM *d = data;
	const WIDE w = (WIDE)by;

	for (size_t i = 0; i < n; i++)
		d[i] = STORE(LOAD(d[i]) / w);
}

#undef JOIN2
#undef JOIN
#undef FN
#undef NAME
#undef ELEM
#undef WIDE
#undef LOAD
#undef STORE
#undef ISNAN
#undef SUMS
