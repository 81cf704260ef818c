// Rules of TensorFlow that layers of TensorFlow Lite share: they have the same inputs and attributes.
#pragma once

#include <graft/builder.hpp>

namespace graft::tf {

Value strided_slice(Builder& layer);
Value slice(Builder& layer);
Value gather_nd(Builder& layer);
Value scatter_nd(Builder& layer);
Value one_hot(Builder& layer);
Value sparse_to_dense(Builder& layer);
Value where(Builder& layer);
Value pack(Builder& layer);
std::vector<Value> unpack(Builder& layer);

Value rank(Builder& layer);
Value range(Builder& layer);
Value broadcast_args(Builder& layer);
Value mirror_pad(Builder& layer);
Value reverse(Builder& layer);
Value reverse_sequence(Builder& layer);
Value expand_dims(Builder& layer);
Value space_to_batch(Builder& layer);
Value batch_to_space(Builder& layer);

Value matrix_diag(Builder& layer);
Value matrix_set_diag(Builder& layer);

Value segment_sum(Builder& layer);
Value unsorted_segment_max(Builder& layer);
Value unsorted_segment_min(Builder& layer);
Value unsorted_segment_prod(Builder& layer);
Value unsorted_segment_sum(Builder& layer);

std::vector<Value> nms_4(Builder& layer);
std::vector<Value> nms_5(Builder& layer);

Value bucketize(Builder& layer);

Value resize_bilinear(Builder& layer);
Value resize_nearest(Builder& layer);

// Complex numbers are pairs along the last axis.
Value complex_reshape(Builder& layer);
Value complex_transpose(Builder& layer);
Value complex_expand_dims(Builder& layer);
Value complex_squeeze(Builder& layer);
Value complex_strided_slice(Builder& layer);
Value complex_multiply(Builder& layer);
Value complex_add(Builder& layer);
Value complex_subtract(Builder& layer);
Value complex_divide(Builder& layer);
Value make_complex(Builder& layer);
Value real(Builder& layer);
Value imaginary(Builder& layer);
Value complex_abs(Builder& layer);
Value rfft_2d(Builder& layer);

}  // namespace graft::tf
