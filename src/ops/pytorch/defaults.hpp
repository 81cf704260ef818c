// The defaults of ATen's arguments: an exported program omits arguments that have them. This is their one home; those
// that are None or false are not listed.
#pragma once

#include <string_view>
#include <unordered_map>

namespace graft::pt {

struct DefaultsRow {
  std::string_view operators;  // several may share a row
  std::string_view arguments;  // "dim=-1 keepdim=true"
};

inline constexpr DefaultsRow defaults_table[] = {
    {"_chunk_cat _weight_norm cat chunk concat concatenate split split_copy split_with_sizes split_with_sizes_copy "
     "stack tensor_split unbind unbind_copy unsafe_chunk unsafe_split unsafe_split_with_sizes",
     "dim=0"},
    {"_embedding_bag embedding_bag", "mode=0 padding_idx=-1"},
    {"_foreach_add _foreach_sub add celu index_add rsub sub subtract", "alpha=1"},
    {"_trilinear", "unroll_dim=1"},
    {"_unique _unique2 unique_consecutive unique_dim", "sorted=true"},
    {"addbmm addmm addmv addr baddbmm sspaddmm", "alpha=1 beta=1"},
    {"addcdiv addcmul", "value=1"},
    {"affine_grid_generator", "align_corners=false"},
    {"all amax amin aminmax any argmax argmin logsumexp max mean median min nanmean nanmedian nansum prod std std_mean "
     "sum var var_mean",
     "correction=1 unbiased=true"},
    {"allclose isclose", "rtol=1e-5 atol=1e-8"},
    {"arange range", "start=0 step=1"},
    {"argsort kthvalue mode msort sort topk", "dim=-1 largest=true sorted=true"},
    {"avg_pool1d avg_pool2d avg_pool3d", "stride=[] padding=0 count_include_pad=true"},
    {"batch_norm group_norm instance_norm layer_norm native_batch_norm native_group_norm native_layer_norm",
     "eps=1e-5"},
    {"bernoulli dropout native_dropout", "p=0.5"},
    {"binary_cross_entropy binary_cross_entropy_with_logits cross_entropy_loss ctc_loss gaussian_nll_loss huber_loss "
     "kl_div l1_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss nll_loss2d nll_loss_nd "
     "poisson_nll_loss smooth_l1_loss soft_margin_loss triplet_margin_loss",
     "reduction=1 margin=1 ignore_index=-100 delta=1 beta=1 p=2 eps=1e-6 label_smoothing=0 log_input=true full=false"},
    {"cdist pairwise_distance pdist renorm", "p=2 eps=1e-6"},
    {"channel_shuffle", "groups=1"},
    {"combinations", "r=2"},
    {"constant_pad_nd pad", "value=0 mode=constant"},
    {"conv1d conv2d conv3d convolution", "stride=1 padding=0 dilation=1 groups=1"},
    {"conv_transpose1d conv_transpose2d conv_transpose3d", "stride=1 padding=0 output_padding=0 dilation=1 groups=1"},
    {"cosine_embedding_loss margin_ranking_loss", "reduction=1 margin=0"},
    {"cosine_similarity", "dim=1 eps=1e-8"},
    {"cov", "correction=1"},
    {"cumulative_trapezoid trapezoid trapz", "dx=1 dim=-1"},
    {"diag diagflat diagonal diagonal_copy diagonal_scatter tril triu", "offset=0 dim1=0 dim2=1 diagonal=0"},
    {"diag_embed linalg_diagonal", "offset=0 dim1=-2 dim2=-1"},
    {"diff", "n=1 dim=-1"},
    {"dist", "p=2"},
    {"elu", "alpha=1 scale=1 input_scale=1"},
    {"embedding", "padding_idx=-1"},
    {"fft_fft fft_hfft fft_ifft fft_ihfft fft_irfft fft_rfft glu linalg_cross linalg_vecdot", "dim=-1"},
    {"fft_fft2 fft_hfft2 fft_ifft2 fft_ihfft2 fft_irfft2 fft_rfft2", "dim=[-2,-1]"},
    {"flatten", "start_dim=0 end_dim=-1"},
    {"full full_like new_full", "fill_value=0"},
    {"gelu", "approximate=none"},
    {"gradient", "spacing=1 edge_order=1"},
    {"grid_sampler grid_sampler_2d grid_sampler_3d", "interpolation_mode=0 padding_mode=0"},
    {"hardshrink softshrink", "lambd=0.5"},
    {"hardtanh", "min_val=-1 max_val=1"},
    {"hinge_embedding_loss", "reduction=1 margin=1"},
    {"histc", "bins=100 min=0 max=0"},
    {"index_reduce scatter_reduce", "include_self=true"},
    {"leaky_relu", "negative_slope=0.01"},
    {"linalg_eigh linalg_eigvalsh", "UPLO=L"},
    {"linalg_lu linalg_lu_factor linalg_lu_factor_ex", "pivot=true"},
    {"linalg_lu_solve linalg_solve linalg_solve_ex linalg_solve_triangular linalg_tensorsolve", "left=true"},
    {"linalg_matrix_norm", "ord=fro dim=[-2,-1]"},
    {"linalg_norm", "dim=[]"},
    {"linalg_svd svd", "full_matrices=true some=true compute_uv=true"},
    {"linalg_vector_norm", "ord=2"},
    {"local_response_norm", "alpha=1e-4 beta=0.75 k=1"},
    {"logspace", "base=10"},
    {"lu_unpack", "unpack_data=true unpack_pivots=true"},
    {"max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices",
     "stride=[] padding=0 dilation=1"},
    {"meshgrid", "indexing=ij"},
    {"nan_to_num", "nan=0"},
    {"nonzero_static", "fill_value=-1"},
    {"norm", "p=2 dim=[]"},
    {"one_hot", "num_classes=-1"},
    {"roll", "dims=[]"},
    {"rot90", "k=1 dims=[0,1]"},
    {"round", "decimals=0"},
    {"rrelu", "lower=0.125 upper=0.3333333333333333"},
    {"scaled_dot_product_attention", "dropout_p=0"},
    {"segment_reduce", "axis=0"},
    {"select_scatter slice slice_copy slice_scatter", "dim=0 step=1"},
    {"softplus", "beta=1 threshold=20"},
    {"stft", "center=true"},
    {"triangular_solve", "upper=true"},
};

// The text of a default; empty: None, false, or nothing is known of the operator.
inline std::string_view default_of(std::string_view type, std::string_view argument) {
  static const auto* rows = [] {
    auto* out = new std::unordered_map<std::string_view, std::string_view>;
    for (const DefaultsRow& row : defaults_table)
      for (std::string_view rest = row.operators; !rest.empty();) {
        size_t end = rest.find(' ');
        out->emplace(rest.substr(0, end), row.arguments);
        rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
      }
    return out;
  }();
  if (size_t colon = type.rfind(':'); colon != type.npos) type.remove_prefix(colon + 1);
  auto row = rows->find(type);
  if (row == rows->end()) return {};
  for (std::string_view rest = row->second; !rest.empty();) {
    size_t end = rest.find(' '), equal = rest.find('=');
    if (rest.substr(0, equal) == argument) return rest.substr(0, end).substr(equal + 1);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  return {};
}

}  // namespace graft::pt
