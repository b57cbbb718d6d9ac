/*
 * Elements, and units of 16 bytes of them: combining, scaling, dividing, and the
 * caller's memory, where a unit may be unaligned or short.
 *
 * ELEM is stored, SUMS is combined in; sums, products and scales of integers are
 * unsigned (they wrap), maxima and quotients signed. As runtime/cpu/reduce.c.
 */

#if CCS_TYPE == 0 || CCS_TYPE == 1
typedef uint8_t ccs_elem;
typedef uint32_t ccs_sums;
#elif CCS_TYPE == 2 || CCS_TYPE == 3
typedef uint32_t ccs_elem;
typedef uint32_t ccs_sums;
#elif CCS_TYPE == 4 || CCS_TYPE == 5
typedef uint64_t ccs_elem;
typedef uint64_t ccs_sums;
#elif CCS_TYPE == 6 || CCS_TYPE == 9
typedef uint16_t ccs_elem;
typedef float ccs_sums;
#elif CCS_TYPE == 7
typedef uint32_t ccs_elem;
typedef float ccs_sums;
#elif CCS_TYPE == 8
typedef uint64_t ccs_elem;
typedef double ccs_sums;
#elif CCS_TYPE == 10 || CCS_TYPE == 11
typedef uint8_t ccs_elem;
typedef float ccs_sums;
#else
#error "CCS_TYPE is no element type"
#endif

#if CCS_TYPE == 0
typedef int8_t ccs_order;
#elif CCS_TYPE == 2
typedef int32_t ccs_order;
#elif CCS_TYPE == 4
typedef int64_t ccs_order;
#else
typedef ccs_sums ccs_order;
#endif

#define CCS_SIZE ((uint32_t)sizeof(ccs_elem))
#define CCS_LANES (16 / CCS_SIZE) /* elements of a unit */

CCS_FN ccs_sums ccs_wide(ccs_elem e)
{
#if CCS_TYPE == 6
	return ccs_from_half(e);
#elif CCS_TYPE == 9
	return bfloat_to_float(e);
#elif CCS_TYPE == 10
	return e4m3_to_float(e);
#elif CCS_TYPE == 11
	return e5m2_to_float(e);
#elif CCS_TYPE == 7
	return __uint_as_float(e);
#elif CCS_TYPE == 8
	return __longlong_as_double((long long)e);
#else
	return e;
#endif
}

CCS_FN ccs_elem ccs_narrow(ccs_sums w)
{
#if CCS_TYPE == 6
	return ccs_to_half(w);
#elif CCS_TYPE == 9
	return ccs_to_bfloat(w);
#elif CCS_TYPE == 10
	return e4m3_from_float(w);
#elif CCS_TYPE == 11
	return e5m2_from_float(w);
#elif CCS_TYPE == 7
	return __float_as_uint(w);
#elif CCS_TYPE == 8
	return (ccs_elem)__double_as_longlong(w);
#else
	return (ccs_elem)w;
#endif
}

CCS_FN ccs_order ccs_ordered(ccs_elem e)
{
#if CCS_TYPE <= 5
	return (ccs_order)e;
#else
	return ccs_wide(e);
#endif
}

/* Whether it is no NaN: only floats have any. */
CCS_FN bool ccs_number(ccs_order v)
{
#if CCS_TYPE <= 5
	(void)v;
	return true;
#else
	return v == v;
#endif
}

CCS_FN ccs_elem ccs_combine(ccs_elem x, ccs_elem y)
{
#if CCS_OP == CCS_DEV_PROD
	return ccs_narrow(ccs_wide(x) * ccs_wide(y));
#elif CCS_OP == CCS_DEV_MAX
	ccs_order p = ccs_ordered(x), q = ccs_ordered(y);

	return p > q || !ccs_number(q) ? x : y;
#elif CCS_OP == CCS_DEV_MIN
	ccs_order p = ccs_ordered(x), q = ccs_ordered(y);

	return p < q || !ccs_number(q) ? x : y;
#else
	return ccs_narrow(ccs_wide(x) + ccs_wide(y));
#endif
}

CCS_FN ccs_elem ccs_scale(ccs_elem x, ccs_elem by)
{
#if CCS_TYPE <= 5
	return (ccs_elem)((ccs_sums)x * (ccs_sums)by);
#else
	return ccs_narrow(ccs_times(ccs_wide(x), ccs_wide(by)));
#endif
}

CCS_FN ccs_elem ccs_divide(ccs_elem x, uint32_t by)
{
#if CCS_TYPE == 0 || CCS_TYPE == 2 || CCS_TYPE == 4
	return (ccs_elem)((int64_t)ccs_ordered(x) / (int64_t)by);
#elif CCS_TYPE <= 5
	return (ccs_elem)(x / by);
#else
	return ccs_narrow(ccs_wide(x) / (ccs_sums)by);
#endif
}

/* Element i of a unit, from and to its words. */
CCS_FN ccs_elem ccs_get(const ccs_vec &v, uint32_t i)
{
	if (CCS_SIZE == 8)
		return (ccs_elem)(v.w[(2 * i) & 3] | (uint64_t)v.w[(2 * i + 1) & 3] << 32);
	return (ccs_elem)(v.w[i * CCS_SIZE / 4] >> (8 * CCS_SIZE * i & 31));
}

/* The unit is zero before. */
CCS_FN void ccs_put(ccs_vec &v, uint32_t i, ccs_elem e)
{
	if (CCS_SIZE == 8) {
		v.w[(2 * i) & 3] = (uint32_t)e;
		v.w[(2 * i + 1) & 3] = (uint32_t)((uint64_t)e >> 32);
	} else {
		v.w[i * CCS_SIZE / 4] |= (uint32_t)e << (8 * CCS_SIZE * i & 31);
	}
}

CCS_FN ccs_vec ccs_zero(void)
{
	ccs_vec v = { { 0, 0, 0, 0 } };

	return v;
}

/* One loop over the elements of a unit: v's element i, from x's and y's. Converting
 * float8 takes much code: there the loop is rolled, and the units turn instead. */
#if CCS_TYPE == 10 || CCS_TYPE == 11
CCS_FN ccs_vec ccs_turned(const ccs_vec &v)
{
	return { { v.w[0] >> 8 | v.w[1] << 24, v.w[1] >> 8 | v.w[2] << 24,
		   v.w[2] >> 8 | v.w[3] << 24, v.w[3] >> 8 | v.w[0] << 24 } };
}

template <typename Function> CCS_FN ccs_vec ccs_map(ccs_vec x, ccs_vec y, Function f)
{
#pragma unroll 1
	for (uint32_t i = 0; i < CCS_LANES; i++) {
		x.w[0] = (x.w[0] & ~0xffu) | f((ccs_elem)x.w[0], (ccs_elem)y.w[0]);
		x = ccs_turned(x);
		y = ccs_turned(y);
	}
	return x;
}
#else
template <typename Function> CCS_FN ccs_vec ccs_map(const ccs_vec &x, const ccs_vec &y, Function f)
{
	ccs_vec v = ccs_zero();

#pragma unroll
	for (uint32_t i = 0; i < CCS_LANES; i++)
		ccs_put(v, i, f(ccs_get(x, i), ccs_get(y, i)));
	return v;
}
#endif

CCS_FN ccs_vec ccs_combine16(const ccs_vec &x, const ccs_vec &y)
{
	return ccs_map(x, y, [](ccs_elem p, ccs_elem q) { return ccs_combine(p, q); });
}

CCS_FN ccs_vec ccs_scale16(const ccs_vec &x, ccs_elem by)
{
	return ccs_map(x, x, [by](ccs_elem p, ccs_elem) { return ccs_scale(p, by); });
}

CCS_FN ccs_vec ccs_divide16(const ccs_vec &x, uint32_t by)
{
	return ccs_map(x, x, [by](ccs_elem p, ccs_elem) { return ccs_divide(p, by); });
}

/* The caller's memory, of which n elements are the cell's: a whole unit where it is
 * aligned and all of it is the cell's, else element by element. */
CCS_FN ccs_vec ccs_fetch_elements(const uint8_t *p, uint32_t n)
{
	ccs_vec v = ccs_zero();

#pragma unroll
	for (uint32_t i = 0; i < CCS_LANES; i++)
		if (i < n)
			ccs_put(v, i, ccs_load<ccs_elem>(p + i * CCS_SIZE));
	return v;
}

CCS_FN void ccs_keep_elements(uint8_t *p, ccs_vec v, uint32_t n)
{
#pragma unroll
	for (uint32_t i = 0; i < CCS_LANES; i++)
		if (i < n)
			ccs_store<ccs_elem>(p + i * CCS_SIZE, ccs_get(v, i));
}

CCS_FN bool ccs_is_unit(const uint8_t *p, uint32_t n)
{
	return !((uintptr_t)p & 15) && n >= CCS_LANES;
}

CCS_FN ccs_vec ccs_fetch(const uint8_t *p, uint32_t n)
{
	return ccs_is_unit(p, n) ? ccs_load16(p) : ccs_fetch_elements(p, n);
}

CCS_FN void ccs_keep(uint8_t *p, const ccs_vec &v, uint32_t n)
{
	if (ccs_is_unit(p, n))
		ccs_store16(p, v);
	else
		ccs_keep_elements(p, v, n);
}
