#include <graft/kit/known.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct MelWeightMatrix {
  DType output_type = DType::f32;
  static constexpr std::tuple schema{attr("output_type", &MelWeightMatrix::output_type, "element type of the result")};
};

Dim mel_count(Infer& ctx, size_t input) {
  auto n = numbers_of(ctx, input);
  if (!n) return Dim();
  if (n->rank() != 1) fail("expected a single number in input ", input, ", got ", n->rank());
  if ((*n)[0].max() < 0) fail("expected a non-negative input ", input, ", got ", (*n)[0].min());
  return (*n)[0];
}
void mel_weight_matrix_infer(Infer& ctx, const MelWeightMatrix& a) {
  Dim bands = mel_count(ctx, 0), size = mel_count(ctx, 1);
  ctx.output(0, a.output_type, Shape{size / 2 + Dim(1), bands});
}

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz_of(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

// Each band is a triangle filter: it rises from the center of the band below and falls to that of the band above.
void mel_weight_matrix_run(Run& ctx, const MelWeightMatrix&) {
  OutputView y = ctx.output(0);
  int64_t rows = y.dim(0), bands = y.dim(1);
  auto size = ctx.input(1).scalar<double>(), rate = ctx.input(2).scalar<double>();
  double low = mel_of(ctx.input(3).scalar<double>()), high = mel_of(ctx.input(4).scalar<double>());
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    double mel = low + static_cast<double>(i) * (high - low) / static_cast<double>(bands + 2);
    double edge = std::floor((size + 1) * hertz_of(mel) / rate);
    if (!(std::fabs(edge) < 1e15)) fail("the edge of band ", i, " is NaN or too large");
    edges.push_back(static_cast<int64_t>(edge));
  }
  std::vector<double> out(static_cast<size_t>(rows * bands), 0);
  for (int64_t band = 0; band < bands; ++band) {
    int64_t left = edges[static_cast<size_t>(band)], centre = edges[static_cast<size_t>(band) + 1],
            right = edges[static_cast<size_t>(band) + 2];
    for (int64_t row = std::max<int64_t>(0, std::min(left, centre)); row < std::min(rows, std::max(centre + 1, right));
         ++row) {
      double& cell = out[static_cast<size_t>(row * bands + band)];
      if (row >= left && row < centre) cell = static_cast<double>(row - left) / static_cast<double>(centre - left);
      if (row == centre) cell = 1;
      if (row > centre && row < right) cell = static_cast<double>(right - row) / static_cast<double>(right - centre);
    }
  }
  y.assign(out);
}

Value import_mel_weight_matrix(Builder& layer) {
  DType type = onnx_element_type(layer.get<int64_t>("output_datatype", 1));
  return layer.op("MelWeightMatrix@graft",
                  {layer.input(0), layer.input(1), layer.input(2), layer.input(3), layer.input(4)},
                  {{"output_type", type}});
}

}  // namespace

Definitions define_mel_weight_matrix() {
  return op<MelWeightMatrix>("MelWeightMatrix", "graft")
      .doc("Filter bank that maps a spectrum to bands of the mel scale, [dft_length / 2 + 1, num_mel_bins]")
      .inputs("num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz")
      .infer(mel_weight_matrix_infer)
      .reference(mel_weight_matrix_run)
      .import(onnx("MelWeightMatrix").expand(import_mel_weight_matrix));
}

}  // namespace graft
