// SPDX-License-Identifier: Apache-2.0

// vector.cpp includes this once for each instruction set, so the include guard is one that Highway toggles.

#if defined(STRETTO_KERNELS_VECTOR_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_KERNELS_VECTOR_INL
#undef STRETTO_KERNELS_VECTOR_INL
#else
#define STRETTO_KERNELS_VECTOR_INL
#endif

// One-lane vectors (HWY_SCALAR) and emulated ones are no faster than the plain loops.
#undef STRETTO_TARGET_HAS_VECTORS
#define STRETTO_TARGET_HAS_VECTORS (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

#if STRETTO_TARGET_HAS_VECTORS
HWY_BEFORE_NAMESPACE();
namespace stretto::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using Vector = hn::Vec<D>;

// Returns the left operand if it is a NaN. Compilers may swap the operands of an addition or a product, and
// their order decides which of two NaNs the processor returns. The cost: with AVX-512 a fifth of the speed
// in L1 and nothing from L2 on; with AVX2, whose blend is slow, 40 % in L1 and a fifth beyond.
template <class V>
HWY_INLINE V keep_left_nan(V left, V result) {
  return hn::IfThenElse(hn::Eq(left, left), result, left);
}

template <class D>
HWY_INLINE Vector<D> add(D /*d*/, Vector<D> left, Vector<D> right) {
  const auto sum = hn::Add(left, right);
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) return keep_left_nan(left, sum);
  return sum;
}

template <class D>
HWY_INLINE Vector<D> multiply(D d, Vector<D> left, Vector<D> right) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    return keep_left_nan(left, hn::Mul(left, right));
  } else if constexpr (sizeof(hn::TFromD<D>) == 1) {
    // No instruction set has byte products. So 16-bit lanes are multiplied: the low half is the product of
    // the even bytes.
    const hn::Repartition<std::uint16_t, D> wide;
    const auto a = hn::BitCast(wide, left);
    const auto b = hn::BitCast(wide, right);
    const auto even = hn::And(hn::Mul(a, b), hn::Set(wide, 0x00FF));
    const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(a), hn::ShiftRight<8>(b)));
    return hn::BitCast(d, hn::Or(even, odd));
  } else {
    return hn::Mul(left, right);
  }
}

// Even lanes hold real parts, odd ones imaginary parts.
template <class D>
HWY_INLINE Vector<D> multiply_complex(D d, Vector<D> left, Vector<D> right) {
  const auto by_real = multiply(d, hn::DupEven(left), right);
  const auto by_imaginary = multiply(d, hn::DupOdd(left), hn::Reverse2(d, right));
  const auto result = hn::OddEven(hn::Add(by_real, by_imaginary), hn::Sub(by_real, by_imaginary));
  return keep_left_nan(by_real, result);
}

// Returns the float that the bits of a short float in the lower half of each lane stand for.
template <class Element, class D32>
HWY_INLINE auto widen(D32 d, Vector<D32> bits) {
  const hn::RebindToFloat<D32> df;
  if constexpr (std::is_same_v<Element, BFloat>) {
    return hn::BitCast(df, hn::ShiftLeft<16>(bits));
  } else {
    const hn::RebindToSigned<D32> di;
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d, 0x8000)));
    const auto rest = hn::And(bits, hn::Set(d, 0x7FFF));
    const auto shifted = hn::ShiftLeft<13>(rest);
    const auto normal = hn::Add(shifted, hn::Set(d, (127U - 15U) << 23U));
    const auto special = hn::Or(shifted, hn::Set(d, 0x7F800000));
    // Subnormal numbers are whole multiples of 2^-24.
    const auto tiny = hn::BitCast(
        d, hn::Mul(hn::ConvertTo(df, hn::BitCast(di, rest)), hn::Set(df, 5.9604644775390625e-8F)));
    const auto is_below = [&](int limit) HWY_ATTR {
      return hn::MaskFromVec(
          hn::BitCast(d, hn::VecFromMask(di, hn::Lt(hn::BitCast(di, rest), hn::Set(di, limit)))));
    };
    const auto magnitude =
        hn::IfThenElse(is_below(0x0400), tiny, hn::IfThenElse(is_below(0x7C00), normal, special));
    return hn::BitCast(df, hn::Or(sign, magnitude));
  }
}

// Converts back, rounded to nearest, ties to even; the upper half of each lane is 0.
template <class Element, class D32, class V>
HWY_INLINE Vector<D32> narrow(D32 d, V value) {
  const hn::RebindToFloat<D32> df;
  const hn::RebindToSigned<D32> di;
  const auto bits = hn::BitCast(d, value);
  const auto one = hn::Set(d, 1);
  const auto rest = hn::And(bits, hn::Set(d, 0x7FFFFFFF));
  const auto is_above = [&](int limit) HWY_ATTR {
    return hn::MaskFromVec(
        hn::BitCast(d, hn::VecFromMask(di, hn::Gt(hn::BitCast(di, rest), hn::Set(di, limit)))));
  };
  const auto is_nan = is_above(0x7F800000);
  if constexpr (std::is_same_v<Element, BFloat>) {
    const auto upper = hn::ShiftRight<16>(bits);
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(d, 0x7FFF)), hn::And(upper, one)));
    return hn::IfThenElse(is_nan, hn::Or(upper, hn::Set(d, 0x0040)), rounded);
  } else {
    const auto cut = hn::ShiftRight<13>(rest);
    const auto normal = hn::ShiftRight<13>(hn::Sub(
        hn::Add(hn::Add(rest, hn::Set(d, 0x0FFF)), hn::And(cut, one)), hn::Set(d, (127U - 15U) << 23U)));
    // Below 2^-14 a sum with 0.5 is rounded at the same bit as a subnormal.
    const auto half = hn::Set(df, 0.5F);
    const auto tiny = hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(df, rest), half)), hn::BitCast(d, half));
    const auto nan = hn::Or(hn::Set(d, 0x7E00), hn::And(cut, hn::Set(d, 0x03FF)));
    const auto large = hn::IfThenElse(is_nan, nan, hn::Set(d, 0x7C00));
    const auto magnitude =
        hn::IfThenElse(is_above(0x477FFFFF), large, hn::IfThenElse(is_above(0x387FFFFF), normal, tiny));
    return hn::Or(hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 0x8000)), magnitude);
  }
}

template <Op op, class Element, class D32>
HWY_INLINE Vector<D32> combine_wide(D32 d, Vector<D32> left, Vector<D32> right) {
  const hn::RebindToFloat<D32> df;
  const auto a = widen<Element>(d, left);
  const auto b = widen<Element>(d, right);
  const auto choose = [&](auto mask)
                          HWY_ATTR { return hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(df, mask))); };
  if constexpr (op == Op::min) return hn::IfThenElse(choose(hn::Lt(b, a)), right, left);
  if constexpr (op == Op::max) return hn::IfThenElse(choose(hn::Lt(a, b)), right, left);
  const auto result = op == Op::sum ? hn::Add(a, b) : hn::Mul(a, b);
  return hn::IfThenElse(choose(hn::Eq(a, a)), narrow<Element>(d, result), left);
}

// From AVX2 (with F16C) on, the processor converts half precision.
#undef STRETTO_TARGET_CONVERTS_HALVES
#define STRETTO_TARGET_CONVERTS_HALVES (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)

#if STRETTO_TARGET_CONVERTS_HALVES
// The conversions round to nearest, ties to even, whatever rounding mode the thread has set, and handle
// subnormals. They make NaNs quiet, as arithmetic does; a NaN on the left stays as it is.
template <Op op, class D>
HWY_INLINE Vector<D> combine_converted(D d, Vector<D> left, Vector<D> right) {
  const hn::Rebind<float, D> wide;
  const hn::Rebind<hwy::float16_t, D> half;
  const auto a = hn::PromoteTo(wide, hn::BitCast(half, left));
  const auto b = hn::PromoteTo(wide, hn::BitCast(half, right));
  const auto result = [&]() HWY_ATTR {
    if constexpr (op == Op::min) return hn::IfThenElse(hn::Lt(b, a), b, a);
    if constexpr (op == Op::max) return hn::IfThenElse(hn::Lt(a, b), b, a);
    if constexpr (op == Op::sum) return hn::Add(a, b);
    if constexpr (op == Op::prod) return hn::Mul(a, b);
  };
  const hn::RebindToSigned<D> di;
  const auto is_nan = hn::Gt(hn::And(hn::BitCast(di, left), hn::Set(di, 0x7FFF)), hn::Set(di, 0x7C00));
  return hn::IfThenElse(hn::RebindMask(d, is_nan), left, hn::BitCast(d, hn::DemoteTo(half, result())));
}
#endif

// Computes even and odd lanes separately, as 32-bit lanes, so that no lane moves.
template <Op op, class Element, class D>
HWY_INLINE Vector<D> combine_short(D d, Vector<D> left, Vector<D> right) {
#if STRETTO_TARGET_CONVERTS_HALVES
  if constexpr (std::is_same_v<Element, Half>) return combine_converted<op>(d, left, right);
#endif
  const hn::RepartitionToWide<D> wide;
  const auto lower = hn::Set(wide, 0xFFFF);
  const auto a = hn::BitCast(wide, left);
  const auto b = hn::BitCast(wide, right);
  const auto even = combine_wide<op, Element>(wide, hn::And(a, lower), hn::And(b, lower));
  const auto odd = combine_wide<op, Element>(wide, hn::ShiftRight<16>(a), hn::ShiftRight<16>(b));
  return hn::BitCast(d, hn::Or(even, hn::ShiftLeft<16>(odd)));
}

template <Op op, class Element, class D>
HWY_INLINE Vector<D> combine(D d, Vector<D> left, Vector<D> right) {
  if constexpr (is_short_float<Element>) return combine_short<op, Element>(d, left, right);
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, hn::TFromD<D>{1});
  if constexpr (op == Op::sum) return add(d, left, right);
  if constexpr (op == Op::prod && is_complex<Element>) return multiply_complex(d, left, right);
  if constexpr (op == Op::prod && !is_complex<Element>) return multiply(d, left, right);
  // Not hn::Min and hn::Max: instruction sets disagree on which operand those take for NaN and zeros.
  if constexpr (op == Op::min) return hn::IfThenElse(hn::Lt(right, left), right, left);
  if constexpr (op == Op::max) return hn::IfThenElse(hn::Lt(left, right), right, left);
  if constexpr (op == Op::land) {
    return hn::IfThenElse(hn::Or(hn::Eq(left, zero), hn::Eq(right, zero)), zero, one);
  }
  if constexpr (op == Op::lor) return hn::IfThenElse(hn::Eq(hn::Or(left, right), zero), zero, one);
  if constexpr (op == Op::lxor) {
    return hn::IfThenElse(hn::Xor(hn::Eq(left, zero), hn::Eq(right, zero)), one, zero);
  }
  if constexpr (op == Op::band) return hn::And(left, right);
  if constexpr (op == Op::bor) return hn::Or(left, right);
  if constexpr (op == Op::bxor) return hn::Xor(left, right);
}

template <class Element>
struct LaneOf {
  using type = Element;
  static constexpr std::size_t count = 1;
};

template <class Part>
struct LaneOf<Complex<Part>> {
  using type = Part;
  static constexpr std::size_t count = 2;
};

template <>
struct LaneOf<Half> {
  using type = std::uint16_t;
  static constexpr std::size_t count = 1;
};

template <>
struct LaneOf<BFloat> {
  using type = std::uint16_t;
  static constexpr std::size_t count = 1;
};

// Returns the tag of whole vectors, except for converted halves: eight of these, whose floats fill 256 bits.
// 512-bit conversions are slower (on a Zen 4, 16.9 GB/s of sums, against 20.4).
template <class Element, class Lane>
constexpr auto tag_for() {
  constexpr bool is_converted = STRETTO_TARGET_CONVERTS_HALVES && std::is_same_v<Element, Half>;
  if constexpr (is_converted) return hn::CappedTag<Lane, 8>();
  if constexpr (!is_converted) return hn::ScalableTag<Lane>();
}

struct Vectors {
  template <Op op, class Element>
  static void reduce(void* into, const void* left, const void* right, std::size_t elements);

  // Reduces fewer lanes than a vector has, through vectors on the stack, so that the arithmetic is the same.
  template <Op op, class Element, class D, class Lane = hn::TFromD<D>>
  static HWY_NOINLINE void reduce_short(D d, Lane* into, const Lane* left, const Lane* right,
                                        std::size_t lanes) {
    if (lanes == 0) return;  // the pointers may be null then, which memcpy does not allow
    HWY_ALIGN Lane a[hn::MaxLanes(d)] = {};
    HWY_ALIGN Lane b[hn::MaxLanes(d)] = {};
    std::memcpy(a, left, lanes * sizeof(Lane));
    std::memcpy(b, right, lanes * sizeof(Lane));
    hn::Store(combine<op, Element>(d, hn::Load(d, a), hn::Load(d, b)), d, a);
    std::memcpy(into, a, lanes * sizeof(Lane));
  }

  template <Op op, class Element>
  static constexpr Function function() {
    if constexpr (sizeof(typename LaneOf<Element>::type) > 8) {
      return nullptr;
    } else {
      return &reduce<op, Element>;
    }
  }
};

// The first and the last vector are loaded and computed before anything is stored over them, and stored last.
// Between them the loop stores aligned vectors, which overlap both. So there is no scalar remainder, and
// `into` may be an operand: no element is read after it was written. The last vector is loaded as late as
// that allows: where operands come from another core, its line is far away, and all that follows would wait
// for it. Aligned stores gain 20 to 40 % in L1 if the caller's `into` is 16 bytes off, as large blocks from
// malloc are, and cost nothing elsewhere.
//
// Beyond L2, memory is the limit. Two more things were tried there, on a Sapphire Rapids, and rejected.
// Non-temporal stores into a third buffer take 30 % less time for the reduction alone, but a collective sends
// the result at once: reduction and copy of segments up to 1 MiB took 20 % longer, as the result had left the
// caches. Prefetching 1 KiB ahead is 3 to 8 % faster in place from memory, gains nothing into a third buffer,
// and is 30 to 50 % slower in L1.
template <Op op, class Element>
void Vectors::reduce(void* into, const void* left, const void* right, std::size_t elements) {
  using Lane = typename LaneOf<Element>::type;
  const auto d = tag_for<Element, Lane>();
  const std::size_t step = hn::Lanes(d);
  const std::size_t lanes = elements * LaneOf<Element>::count;
  auto* const out = static_cast<Lane*>(into);
  const auto* const a = static_cast<const Lane*>(left);
  const auto* const b = static_cast<const Lane*>(right);
  if (lanes < step) return reduce_short<op, Element>(d, out, a, b, lanes);

  const auto at = [=](std::size_t i)
                      HWY_ATTR { return combine<op, Element>(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)); };
  const auto first = at(0);

  // Whole elements up to the first aligned vector (or as near as the element's own alignment allows).
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(into) % (step * sizeof(Lane));
  std::size_t i = beyond == 0 ? 0 : (step * sizeof(Lane) - beyond) / sizeof(Element) * LaneOf<Element>::count;

  // Loads come before stores: with page-aligned buffers, a load waits for a store to the same offset in
  // another page. One or two vectors at a time, each stored at once, take a tenth longer in L2.
  for (; i + 5 * step <= lanes; i += 4 * step) {
    const auto r0 = at(i);
    const auto r1 = at(i + step);
    const auto r2 = at(i + 2 * step);
    const auto r3 = at(i + 3 * step);
    hn::StoreU(r0, d, out + i);
    hn::StoreU(r1, d, out + i + step);
    hn::StoreU(r2, d, out + i + 2 * step);
    hn::StoreU(r3, d, out + i + 3 * step);
  }
  const auto last = at(lanes - step);
  for (; i + step <= lanes; i += step) hn::StoreU(at(i), d, out + i);

  hn::StoreU(first, d, out);
  hn::StoreU(last, d, out + lanes - step);
}

// The ways to store the vectors of a copy. This one goes through the caches.
struct Cached {
  template <class D>
  static HWY_INLINE void store(Vector<D> vector, D d, std::uint8_t* to) {
    hn::StoreU(vector, d, to);
  }
  static HWY_INLINE void finish() {}
};
// This way goes past the caches, by whole lines: the writer need not own a line that another core has.
struct Streamed {
  template <class D>
  static HWY_INLINE void store(Vector<D> vector, D d, std::uint8_t* to) {
    hn::Stream(vector, d, to);
  }
  static HWY_INLINE void finish() { hwy::FlushStream(); }
};

// Copies bytes. As above, the first and the last vector are stored last, with aligned stores between them.
template <class Way>
void copy(void* into, const void* from, std::size_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t step = hn::Lanes(d);
  auto* const out = static_cast<std::uint8_t*>(into);
  const auto* const in = static_cast<const std::uint8_t*>(from);
  if (bytes < step) {
    if (bytes > 0) std::memcpy(into, from, bytes);  // the pointers may be null otherwise
    return;
  }
  const auto first = hn::LoadU(d, in);
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(into) % step;
  std::size_t i = beyond == 0 ? 0 : step - beyond;
  for (; i + 5 * step <= bytes; i += 4 * step) {
    const auto v0 = hn::LoadU(d, in + i);
    const auto v1 = hn::LoadU(d, in + i + step);
    const auto v2 = hn::LoadU(d, in + i + 2 * step);
    const auto v3 = hn::LoadU(d, in + i + 3 * step);
    Way::store(v0, d, out + i);
    Way::store(v1, d, out + i + step);
    Way::store(v2, d, out + i + 2 * step);
    Way::store(v3, d, out + i + 3 * step);
  }
  const auto last = hn::LoadU(d, in + bytes - step);
  for (; i + step <= bytes; i += step) Way::store(hn::LoadU(d, in + i), d, out + i);
  hn::StoreU(first, d, out);
  hn::StoreU(last, d, out + bytes - step);
  Way::finish();
}

constexpr Table table = TableBuilder<Vectors>::build();

}  // namespace
}  // namespace stretto::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // STRETTO_TARGET_HAS_VECTORS

#endif  // toggled include guard
