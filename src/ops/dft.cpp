// DFT, IDFT, RDFT, IRDFT: Fourier transforms of complex data (a trailing axis of size 2) and of real data.
#include <graft/kit/known.hpp>
#include <graft/op.hpp>

#include "fourier.hpp"

namespace graft {
namespace {

enum class FourierKind { complex, inverse, real, inverse_real };

// The rank without the trailing axis that holds real and imaginary parts.
size_t fourier_rank(size_t rank, FourierKind kind) {
  if (kind == FourierKind::real) return rank;
  if (rank == 0) fail("expected complex data with a trailing axis of size 2, got a scalar");
  return rank - 1;
}

std::vector<size_t> fourier_axes(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<size_t> out = normalize_axes(axes, rank);
  for (size_t i = 0; i < out.size(); ++i)
    if (std::find(out.begin(), out.begin() + static_cast<ptrdiff_t>(i), out[i]) !=
        out.begin() + static_cast<ptrdiff_t>(i))
      fail("expected distinct axes, got axis ", out[i], " twice");
  return out;
}

template <FourierKind kind>
void fourier_infer(Infer& ctx, const NoAttributes&) {
  DType type = ctx.type(0);
  if (type != DType::undefined && !is_real(type)) fail("expected floating-point data, got ", type);
  Shape in = ctx.shape(0);
  if (!in.ranked()) return ctx.output(0, type, in);
  size_t rank = fourier_rank(in.rank(), kind);
  if (kind != FourierKind::real && !in[rank].can_be(2))
    fail("expected complex data with a trailing axis of size 2, got shape ", in);
  Shape out(std::vector<Dim>(in.begin(), in.begin() + static_cast<ptrdiff_t>(rank)));
  auto axes = ctx.values<int64_t>(1);
  bool sized = ctx.has_input(2), halves = kind == FourierKind::real || kind == FourierKind::inverse_real;
  auto sizes = sized ? numbers_of(ctx, 2) : std::nullopt;
  if (!axes && (sized || halves)) {
    out = Shape::of_rank(rank);
  } else if (axes) {
    std::vector<size_t> at = fourier_axes(*axes, rank);
    if (sizes && sizes->rank() != at.size())
      fail("expected ", at.size(), " values in signal_size, one per axis, got ", sizes->rank());
    for (size_t i = 0; i < at.size(); ++i) {
      Dim& d = out[at[i]];
      bool last = i + 1 == at.size(), given = sized;
      if (sized) {
        Dim size = sizes ? (*sizes)[i] : Dim(graft_dim{-1, Dim::unbounded, 0, 0});
        given = !(size.known() && size.min() == -1);
        if (given && size.max() < 1) fail("expected a signal size of at least 1 (or -1), got ", size.min());
        if (given) d = size.min() < 0 ? Dim() : size;
      }
      if (last && kind == FourierKind::real) d = d / 2 + Dim(1);
      if (last && kind == FourierKind::inverse_real && !given) d = (d - Dim(1)) * Dim(2);
    }
  }
  if (kind != FourierKind::inverse_real) out.push_back(Dim(2));
  ctx.output(0, type, out);
}

ComplexTensor fourier_input(TensorView x, FourierKind kind) {
  std::vector<double> v = x.to<double>();
  ComplexTensor t;
  t.dims.assign(x.dims().begin(), x.dims().end());
  if (kind == FourierKind::real) {
    t.values.assign(v.begin(), v.end());
    return t;
  }
  if (t.dims.empty() || t.dims.back() != 2)
    fail("expected complex data with a trailing axis of size 2, got shape ", x.info().shape);
  t.dims.pop_back();
  for (size_t i = 0; i + 1 < v.size(); i += 2) t.values.emplace_back(v[i], v[i + 1]);
  return t;
}

template <FourierKind kind>
void fourier_run(Run& ctx, const NoAttributes&) {
  ComplexTensor t = fourier_input(ctx.input(0), kind);
  std::vector<size_t> axes = fourier_axes(ctx.input(1).to<int64_t>(), t.dims.size());
  std::vector<int64_t> sizes(axes.size(), -1);
  if (ctx.has_input(2)) sizes = ctx.input(2).to<int64_t>();
  if (sizes.size() != axes.size())
    fail("expected ", axes.size(), " values in signal_size, one per axis, got ", sizes.size());
  constexpr bool back = kind == FourierKind::inverse || kind == FourierKind::inverse_real;
  for (size_t i = 0; i < axes.size(); ++i) {
    bool mirrored = kind == FourierKind::inverse_real && i + 1 == axes.size();
    int64_t size = sizes[i] != -1 ? sizes[i] : mirrored ? 2 * (t.dims[axes[i]] - 1) : t.dims[axes[i]];
    if (size < 0 || (size == 0 && sizes[i] != -1)) fail("expected a signal size of at least 1 (or -1), got ", size);
    if (mirrored) t.mirror(axes[i], size);
    t.transform(axes[i], size, back);
  }
  if (kind == FourierKind::real && !axes.empty()) t.cut(axes.back(), t.dims[axes.back()] / 2 + 1);
  std::vector<double> out;
  for (const Complex& c : t.values) {
    out.push_back(c.real());
    if (kind != FourierKind::inverse_real) out.push_back(c.imag());
  }
  ctx.output(0).assign(out);
}

template <FourierKind kind>
Op fourier_op(std::string_view name, int version, std::string_view doc) {
  return op(name, version)
      .doc(doc)
      .inputs("data, axes, signal_size?")
      .infer(fourier_infer<kind>)
      .reference(fourier_run<kind>);
}

}  // namespace

Definitions define_dft() {
  return {
      fourier_op<FourierKind::complex>(
          "DFT", 7, "Discrete Fourier transform of complex data (real and imaginary parts along the last axis)"),
      fourier_op<FourierKind::inverse>("IDFT", 7, "Inverse discrete Fourier transform of complex data"),
      fourier_op<FourierKind::real>("RDFT", 9,
                                    "Discrete Fourier transform of real data, without the redundant (conjugate) half"),
      fourier_op<FourierKind::inverse_real>(
          "IRDFT", 9, "Inverse discrete Fourier transform to real data, from the non-redundant half"),
  };
}

}  // namespace graft
