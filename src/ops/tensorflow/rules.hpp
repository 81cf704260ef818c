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

}  // namespace graft::tf
