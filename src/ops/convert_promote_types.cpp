#include <graft/op.hpp>

namespace graft {
namespace {

struct ConvertPromoteTypes {
  bool promote_unsafe = false, pytorch_scalar_promotion = false;
  DType u64_integer_promotion_target = DType::f32;
  static constexpr std::tuple schema{
      attr("promote_unsafe", &ConvertPromoteTypes::promote_unsafe, "allow promotions that may lose precision"),
      attr("pytorch_scalar_promotion", &ConvertPromoteTypes::pytorch_scalar_promotion,
           "let a scalar take the type of the other input if both are floating-point or both are integer"),
      attr("u64_integer_promotion_target", &ConvertPromoteTypes::u64_integer_promotion_target,
           "result type of promoting u64 with a signed integer")};
};

DType promoted_integer(int bits) {
  return bits <= 4 ? DType::i4 : bits <= 8 ? DType::i8 : bits <= 16 ? DType::i16 : bits <= 32 ? DType::i32 : DType::i64;
}
bool promoted_sign(DType t) { return is_real(t) || is_signed_integer(t); }

// A floating-point and an integer type.
DType promoted_mixed(const ConvertPromoteTypes& a, DType real, DType whole) {
  if (!a.promote_unsafe && bits_of(real) < 2 * bits_of(whole))
    fail("promoting ", whole, " to ", real, " may lose precision; set promote_unsafe to allow it");
  return real;
}
DType promoted_scalar(const ConvertPromoteTypes& a, DType scalar, DType other) {
  bool same_sign = promoted_sign(scalar) == promoted_sign(other);
  bool safe = (same_sign && bits_of(other) >= bits_of(scalar)) ||
              (promoted_sign(other) && !promoted_sign(scalar) && 2 * bits_of(other) >= bits_of(scalar));
  if (!safe && !a.promote_unsafe)
    fail("promoting a scalar of type ", scalar, " to ", other, " may lose precision; set promote_unsafe to allow it");
  return other;
}
DType promoted_signs(const ConvertPromoteTypes& a, DType with_sign, DType without) {
  int bits = bits_of(without);
  if (bits <= 32 && (a.promote_unsafe || 2 * bits <= bits_of(with_sign)))
    return promoted_integer(std::max(2 * bits, bits_of(with_sign)));
  if (!a.promote_unsafe)
    fail("no type holds both ", without, " and ", with_sign, " exactly; set promote_unsafe to allow a lossy one");
  return a.u64_integer_promotion_target;
}

DType promoted(const Infer& ctx, const ConvertPromoteTypes& a) {
  DType x = ctx.type(0), y = ctx.type(1);
  if (x == DType::undefined || y == DType::undefined) return DType::undefined;
  if (x == y || y == DType::boolean) return x;
  if (x == DType::boolean) return y;
  for (DType t : {x, y})
    if (!is_real(t) && !is_integer(t)) fail("expected numeric or boolean elements, got ", t);
  if (is_real(x) != is_real(y)) return is_real(x) ? promoted_mixed(a, x, y) : promoted_mixed(a, y, x);
  if (a.pytorch_scalar_promotion) {
    Shape s = ctx.shape(0), t = ctx.shape(1);
    if (!s.ranked() || !t.ranked()) return DType::undefined;
    if (s.rank() == 0 && t.rank() != 0) return promoted_scalar(a, x, y);
    if (t.rank() == 0 && s.rank() != 0) return promoted_scalar(a, y, x);
  }
  if (promoted_sign(x) != promoted_sign(y)) return promoted_sign(x) ? promoted_signs(a, x, y) : promoted_signs(a, y, x);
  if (bits_of(x) != bits_of(y)) return bits_of(x) > bits_of(y) ? x : y;
  // Two floating-point formats of the same size.
  if (a.promote_unsafe && bits_of(x) == 8) return DType::f16;
  if (a.promote_unsafe && bits_of(x) == 16) return DType::f32;
  fail("no type holds both ", x, " and ", y, " exactly; set promote_unsafe to allow a lossy one");
}

void convert_promote_types_infer(Infer& ctx, const ConvertPromoteTypes& a) {
  DType type = promoted(ctx, a);
  for (size_t i = 0; i < 2; ++i) {
    ctx.output(i, type, ctx.shape(i));
    bool whole = type == DType::i64 || type == DType::i32;
    if (auto k = ctx.known(i); k && whole) ctx.known_output(i, *k);
  }
}

void convert_promote_types_run(Run& ctx, const ConvertPromoteTypes&) {
  for (size_t i = 0; i < 2; ++i)
    if (ctx.output_used(i)) ctx.output(i).assign(ctx.input(i));
}

}  // namespace

Definitions define_convert_promote_types() {
  return op<ConvertPromoteTypes>("ConvertPromoteTypes", 14)
      .doc("Convert both inputs to their common promoted type")
      .inputs("input_0, input_1")
      .outputs("output_0, output_1")
      .infer(convert_promote_types_infer)
      .linear()
      .reference(convert_promote_types_run);
}

}  // namespace graft
