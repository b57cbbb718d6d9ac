/*
 * Elements, and units of 16 bytes of them: combining, scaling, dividing, and the
 * caller's memory, where a unit may be unaligned or short.
 *
 * An `elem` is the stored type, `sums` the type for combining, and `order` the type for comparing:
 * sums, products and scales of integers are unsigned (they wrap), maxima and quotients signed.
 * The results are those of runtime/cpu/core/reduce.h. The operators are those of plan/rows.h.
 *
 * Narrow floats are taken two at a time, as the instructions that convert or combine them are. The
 * bits are those of an operation of float32 and a rounding. Rounding to a wider type first changes
 * nothing if that type has at least twice the digits of the narrow one, and two more (Figueroa),
 * and the result is not so small that the wider type has fewer digits of it. So operations of the
 * narrow type itself have the same bits: sums of bfloat16, but not products; sums and products of
 * float16. So do those of float8 in float16: all pairs are tried (tests/cuda/element_test.c).
 */

/* ---- types, by the names of their code in rows.h ------------------------------------ */

template <typename Elem, typename Sums, typename Order, typename Quotient> struct ccs_integer {
	typedef Elem elem;
	typedef Sums sums;
	typedef Order order;

	CCS_FN sums wide(elem e)
	{
		return e;
	}
	CCS_FN elem narrow(sums w)
	{
		return (elem)w;
	}
	CCS_FN order ordered(elem e)
	{
		return (order)e;
	}
	CCS_FN bool is_nan(order)
	{
		return false;
	}
	CCS_FN elem scaled(elem x, elem by)
	{
		return (elem)((sums)x * (sums)by);
	}
	CCS_FN elem divided(elem x, uint32_t by)
	{
		return (elem)((Quotient)(order)x / (Quotient)by);
	}
};

template <typename Bits> struct ccs_float : Bits {
	typedef typename Bits::elem elem;
	typedef typename Bits::sums sums;
	typedef sums order;

	CCS_FN order ordered(elem e)
	{
		return Bits::wide(e);
	}
	CCS_FN bool is_nan(order v)
	{
		return v != v;
	}
	CCS_FN elem scaled(elem x, elem by)
	{
		return Bits::narrow(ccs_times(Bits::wide(x), Bits::wide(by)));
	}
	CCS_FN elem divided(elem x, uint32_t by)
	{
		return Bits::narrow(Bits::wide(x) / (sums)by);
	}
};

/* A float is stored as its bits, e; it is combined as w. */
#define CCS_FLOAT(code, Elem, Sums, Wide, Narrow) \
	struct ccs_##code##_bits { \
		typedef Elem elem; \
		typedef Sums sums; \
		CCS_FN sums wide(elem e) \
		{ \
			return Wide; \
		} \
		CCS_FN elem narrow(sums w) \
		{ \
			return Narrow; \
		} \
	}; \
	typedef ccs_float<ccs_##code##_bits> ccs_##code

typedef ccs_integer<uint8_t, uint32_t, int8_t, int64_t> ccs_i8;
typedef ccs_integer<uint8_t, uint32_t, uint32_t, uint32_t> ccs_u8;
typedef ccs_integer<uint16_t, uint32_t, int16_t, int64_t> ccs_i16;
typedef ccs_integer<uint16_t, uint32_t, uint32_t, uint32_t> ccs_u16;
typedef ccs_integer<uint32_t, uint32_t, int32_t, int64_t> ccs_i32;
typedef ccs_integer<uint32_t, uint32_t, uint32_t, uint32_t> ccs_u32;
typedef ccs_integer<uint64_t, uint64_t, int64_t, int64_t> ccs_i64;
typedef ccs_integer<uint64_t, uint64_t, uint64_t, uint64_t> ccs_u64;
CCS_FLOAT(f16, uint16_t, float, ccs_from_half(e), ccs_to_half(w));
CCS_FLOAT(f32, uint32_t, float, __uint_as_float(e), __float_as_uint(w));
CCS_FLOAT(f64, uint64_t, double, __longlong_as_double((long long)e), (elem)__double_as_longlong(w));
CCS_FLOAT(bf16, uint16_t, float, bfloat_to_float(e), ccs_to_bfloat(w));
CCS_FLOAT(e4m3, uint8_t, float, e4m3_to_float(e), e4m3_from_float(w));
CCS_FLOAT(e5m2, uint8_t, float, e5m2_to_float(e), e5m2_from_float(w));

/* ---- two at a time: in the low bits of a word, the first one lowest ----------------- */

struct ccs_two {
	float lo, hi;
};

/* Types that are computed in as halves, with Bits::halves, ::of_halves and ::narrows. */
template <typename Type, typename Bits> struct ccs_by_halves : Type, Bits {
	CCS_FN ccs_two wides(uint32_t e)
	{
		const uint32_t h = Bits::halves(e);

		return { ccs_from_half((uint16_t)h), ccs_from_half((uint16_t)(h >> 16)) };
	}
	CCS_FN uint32_t plus(uint32_t x, uint32_t y)
	{
		return Bits::of_halves(ccs_add_halves(Bits::halves(x), Bits::halves(y)));
	}
	CCS_FN uint32_t times(uint32_t x, uint32_t y)
	{
		return Bits::of_halves(ccs_times_halves(Bits::halves(x), Bits::halves(y)));
	}
};

#define CCS_BY_HALVES(code, Halves, Of, Narrows) \
	struct ccs_##code##_halves { \
		CCS_FN uint32_t halves(uint32_t e) \
		{ \
			return Halves; \
		} \
		CCS_FN uint32_t of_halves(uint32_t h) \
		{ \
			return Of; \
		} \
		CCS_FN uint32_t narrows(ccs_two w) \
		{ \
			return Narrows(w.lo, w.hi); \
		} \
	}; \
	typedef ccs_by_halves<ccs_##code, ccs_##code##_halves> ccs_##code##_pairs

CCS_BY_HALVES(f16, e, h, ccs_to_halves);
#if CCS_FLOAT8_PAIRS
CCS_BY_HALVES(e4m3, ccs_halves_of_e4m3s(e), ccs_e4m3s_of_halves(h), ccs_to_e4m3s);
/* e5m2 is the upper byte of a half. */
CCS_BY_HALVES(e5m2, (e & 0xff) << 8 | (e & 0xff00) << 16, ccs_e5m2s_of_halves(h), ccs_to_e5m2s);
#else
typedef ccs_e4m3 ccs_e4m3_pairs;
typedef ccs_e5m2 ccs_e5m2_pairs;
#endif

struct ccs_bf16_pairs : ccs_bf16 {
	CCS_FN ccs_two wides(uint32_t e)
	{
		return { __uint_as_float(e << 16), __uint_as_float(e & 0xffff0000u) };
	}
	CCS_FN uint32_t narrows(ccs_two w)
	{
		return ccs_to_bfloats(w.lo, w.hi);
	}
	CCS_FN uint32_t plus(uint32_t x, uint32_t y)
	{
		return ccs_add_bfloats(x, y);
	}
	CCS_FN uint32_t times(uint32_t x, uint32_t y)
	{
		const ccs_two p = wides(x), q = wides(y);

		return narrows({ ccs_times(p.lo, q.lo), ccs_times(p.hi, q.hi) });
	}
};

/* The other types have none. */
typedef ccs_i8 ccs_i8_pairs;
typedef ccs_u8 ccs_u8_pairs;
typedef ccs_i16 ccs_i16_pairs;
typedef ccs_u16 ccs_u16_pairs;
typedef ccs_i32 ccs_i32_pairs;
typedef ccs_u32 ccs_u32_pairs;
typedef ccs_i64 ccs_i64_pairs;
typedef ccs_u64 ccs_u64_pairs;
typedef ccs_f32 ccs_f32_pairs;
typedef ccs_f64 ccs_f64_pairs;

template <uint32_t number> struct ccs_type_of;
#define ROW(constant, number, nccl, name, alias, size, exponent, mantissa, has_sign, code) \
	template <> struct ccs_type_of<number> : ccs_##code##_pairs { \
		enum : bool { \
			is_float8 = size == 1 && mantissa, \
			has_pairs = mantissa && (size == 2 || (size == 1 && CCS_FLOAT8_PAIRS)) \
		}; \
	};
TYPES(ROW)
#undef ROW

typedef ccs_type_of<CCS_TYPE> ccs_type;
typedef ccs_type::elem ccs_elem;

#define CCS_SIZE ((uint32_t)sizeof(ccs_elem))
#define CCS_PER_UNIT (16 / CCS_SIZE) /* elements of a unit */

/* ---- operators ---------------------------------------------------------------------- */

#define ISNAN(v) ccs_type::is_nan(v)
#define COMPUTE(expression) \
	const ccs_type::sums p = ccs_type::wide(x), q = ccs_type::wide(y); \
	return ccs_type::narrow(expression);
#define CHOOSE(condition) \
	const ccs_type::order p = ccs_type::ordered(x), q = ccs_type::ordered(y); \
	return condition ? x : y;
#define BITS(expression) \
	const ccs_elem p = x, q = y; \
	return (ccs_elem)(expression);

template <uint32_t number> struct ccs_op_of;
#define ROW(constant, number, nccl, name, alias, how, result) \
	template <> struct ccs_op_of<number> { \
		CCS_FN ccs_elem combine(ccs_elem x, ccs_elem y) \
		{ \
			how(result) \
		} \
	};
OPS(ROW)
#undef ROW
#undef COMPUTE
#undef CHOOSE
#undef BITS
#undef ISNAN

/* The same for pairs, which are values that can be added and multiplied. */
template <typename Type> struct ccs_pair {
	uint32_t bits;

	friend CCS_OPERATOR ccs_pair operator+(ccs_pair p, ccs_pair q)
	{
		return { Type::plus(p.bits, q.bits) };
	}
	friend CCS_OPERATOR ccs_pair operator*(ccs_pair p, ccs_pair q)
	{
		return { Type::times(p.bits, q.bits) };
	}
};

/* The pair with the low element of x, if `lo`, else of y; the high element likewise. */
template <typename Type> CCS_FN uint32_t ccs_pick(uint32_t x, uint32_t y, bool lo, bool hi)
{
	const uint32_t bits = 8 * sizeof(typename Type::elem), mask = (1u << bits) - 1;

	return ((lo ? x : y) & mask) | ((hi ? x : y) & mask << bits);
}

#define ISNAN(v) ((v) != (v))
#define COMPUTE(expression) \
	const ccs_pair<Type> p = { x }, q = { y }; \
	return (expression).bits;
#define CHOOSE(condition) \
	const ccs_two xs = Type::wides(x), ys = Type::wides(y); \
	const auto first = [](float p, float q) { return condition; }; \
	return ccs_pick<Type>(x, y, first(xs.lo, ys.lo), first(xs.hi, ys.hi));
#define BITS(expression) \
	const uint32_t p = x, q = y; \
	return expression;

template <typename Type, uint32_t number> struct ccs_pair_op_of;
#define ROW(constant, number, nccl, name, alias, how, result) \
	template <typename Type> struct ccs_pair_op_of<Type, number> { \
		CCS_FN uint32_t combine(uint32_t x, uint32_t y) \
		{ \
			how(result) \
		} \
	};
OPS(ROW)
#undef ROW
#undef COMPUTE
#undef CHOOSE
#undef BITS
#undef ISNAN

/* ---- units -------------------------------------------------------------------------- */

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

/* One loop over the elements of a unit: v's element i, from x's and y's. */
template <bool is_float8> struct ccs_loop {
	template <typename Function>
	CCS_FN ccs_vec map(const ccs_vec &x, const ccs_vec &y, Function f)
	{
		ccs_vec v = ccs_zero();

#pragma unroll
		for (uint32_t i = 0; i < CCS_PER_UNIT; i++)
			ccs_put(v, i, f(ccs_get(x, i), ccs_get(y, i)));
		return v;
	}
};

/* Converting float8 takes much code: there the loop is rolled, and the units turn instead. */
template <> struct ccs_loop<true> {
	CCS_FN ccs_vec turned(const ccs_vec &v)
	{
		return { { v.w[0] >> 8 | v.w[1] << 24, v.w[1] >> 8 | v.w[2] << 24,
			   v.w[2] >> 8 | v.w[3] << 24, v.w[3] >> 8 | v.w[0] << 24 } };
	}

	template <typename Function> CCS_FN ccs_vec map(ccs_vec x, ccs_vec y, Function f)
	{
#pragma unroll 1
		for (uint32_t i = 0; i < CCS_PER_UNIT; i++) {
			x.w[0] = (x.w[0] & ~0xffu) | f((ccs_elem)x.w[0], (ccs_elem)y.w[0]);
			x = turned(x);
			y = turned(y);
		}
		return x;
	}
};

typedef ccs_loop<ccs_type::is_float8> ccs_elements;

/* Operations on whole units: by elements, or by pairs. */
template <typename Type, uint32_t op, bool by_pairs> struct ccs_whole {
	CCS_FN ccs_vec combine(const ccs_vec &x, const ccs_vec &y)
	{
		return ccs_elements::map(
			x, y, [](ccs_elem p, ccs_elem q) { return ccs_op_of<op>::combine(p, q); });
	}
	CCS_FN ccs_vec scale(const ccs_vec &x, const ccs_vec &by)
	{
		return ccs_elements::map(x, by,
					 [](ccs_elem p, ccs_elem q) { return Type::scaled(p, q); });
	}
	CCS_FN ccs_vec divide(const ccs_vec &x, uint32_t by)
	{
		return ccs_elements::map(
			x, x, [by](ccs_elem p, ccs_elem) { return Type::divided(p, by); });
	}
};

template <typename Type, uint32_t op> struct ccs_whole<Type, op, true> {
	template <typename Function>
	CCS_FN ccs_vec map(const ccs_vec &x, const ccs_vec &y, Function f)
	{
		ccs_vec v;

#pragma unroll
		for (uint32_t i = 0; i < 4; i++)
			if (sizeof(typename Type::elem) == 2)
				v.w[i] = f(x.w[i], y.w[i]);
			else
				v.w[i] = f(x.w[i] & 0xffff, y.w[i] & 0xffff) |
					 f(x.w[i] >> 16, y.w[i] >> 16) << 16;
		return v;
	}
	CCS_FN ccs_vec combine(const ccs_vec &x, const ccs_vec &y)
	{
		return map(x, y, [](uint32_t p, uint32_t q) {
			return ccs_pair_op_of<Type, op>::combine(p, q);
		});
	}
	CCS_FN ccs_vec scale(const ccs_vec &x, const ccs_vec &by)
	{
		return map(x, by, [](uint32_t p, uint32_t q) { return Type::times(p, q); });
	}
	CCS_FN ccs_vec divide(const ccs_vec &x, uint32_t by)
	{
		return map(x, x, [by](uint32_t p, uint32_t) {
			const ccs_two w = Type::wides(p);

			return Type::narrows({ w.lo / (float)by, w.hi / (float)by });
		});
	}
};

typedef ccs_whole<ccs_type, CCS_OP, ccs_type::has_pairs> ccs_whole_units;

CCS_FN ccs_vec ccs_combine16(const ccs_vec &x, const ccs_vec &y)
{
	return ccs_whole_units::combine(x, y);
}

CCS_FN ccs_vec ccs_scale16(const ccs_vec &x, const ccs_vec &by)
{
	return ccs_whole_units::scale(x, by);
}

CCS_FN ccs_vec ccs_divide16(const ccs_vec &x, uint32_t by)
{
	return ccs_whole_units::divide(x, by);
}

/* A unit of one value. */
CCS_FN ccs_vec ccs_spread16(ccs_elem e)
{
	ccs_vec v = ccs_zero();

#pragma unroll
	for (uint32_t i = 0; i < CCS_PER_UNIT; i++)
		ccs_put(v, i, e);
	return v;
}

/* The caller's memory, of which n elements are the cell's: a whole unit where it is
 * aligned and all of it is the cell's, else element by element. */
CCS_FN ccs_vec ccs_fetch_elements(const uint8_t *p, uint32_t n)
{
	ccs_vec v = ccs_zero();

#pragma unroll
	for (uint32_t i = 0; i < CCS_PER_UNIT; i++)
		if (i < n)
			ccs_put(v, i, ccs_load<ccs_elem>(p + i * CCS_SIZE));
	return v;
}

CCS_FN void ccs_keep_elements(uint8_t *p, ccs_vec v, uint32_t n)
{
#pragma unroll
	for (uint32_t i = 0; i < CCS_PER_UNIT; i++)
		if (i < n)
			ccs_store<ccs_elem>(p + i * CCS_SIZE, ccs_get(v, i));
}

CCS_FN bool ccs_is_unit(const uint8_t *p, uint32_t n)
{
	return !((uintptr_t)p & 15) && n >= CCS_PER_UNIT;
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
