// Tensor lists and tensor arrays that loops fill and read: one tensor with a leading axis for the elements.
#include <graft/op.hpp>

#include "layout.hpp"

namespace graft {
namespace {

// Unknown dimensions are 1 until the first element is written.
Value tf_list_reserve(Builder& layer, const Value& element, const Value& count, DType type) {
  Value shape = tf::as_list(convert(element, DType::i64));
  if (auto dims = shape.values<int64_t>()) {
    for (int64_t& d : *dims) d = d < 0 ? 1 : d;
    shape = layer.ints(
        dims->size() == 1 && element.shape().ranked() && element.shape().rank() == 0 ? std::vector<int64_t>{} : *dims);
  } else {
    shape = layer.op("Maximum", {shape, layer.ints({1})});
  }
  return build::fill(layer, 0, type, build::concat({convert(tf::as_list(count), DType::i64), shape}, 0));
}
Value tf_tensor_list_reserve(Builder& layer) {
  DType type = layer.get<DType>("element_dtype");
  if (type == DType::undefined) unsupported("a list of this element type is not supported");
  return tf_list_reserve(layer, layer.input(0), layer.input(1), type);
}
Value tf_tensor_list_get(Builder& layer) { return build::gather(layer.input(0), tf::as_scalar(layer.input(1)), 0); }
// Expands the list to the size of the new item: dimensions unknown at creation are 1 so far, and if even the rank of
// the elements was unknown, the list has no axes for them yet.
Value tf_list_set(const Value& list, const Value& index, const Value& item) {
  Builder& layer = list.in();
  Value shape = build::concat({build::dims(list, {0}), shape_of(item)}, 0);
  Shape l = list.shape(), i = item.shape();
  Value ranked = list;
  if (i.ranked() && i.rank() == 0) {
    ranked = reshape(list, {-1});
  } else if (!l.ranked() || !i.ranked() || l.rank() != i.rank() + 1) {
    Value ones = i.ranked() ? layer.ints(std::vector<int64_t>(i.rank(), 1))
                            : layer.op("Broadcast@3", {layer.ints({1}), shape_of(shape_of(item))});
    Value dims = build::concat({shape_of(list), ones}, 0);
    Value rank = i.ranked() ? layer.ints({static_cast<int64_t>(i.rank()) + 1}) : shape_of(shape);
    dims = layer.op("Slice", {dims, layer.ints({0}), rank, layer.ints({1})});
    ranked = layer.op("Reshape", {list, dims}, {{"special_zero", false}});
  }
  Value wide = layer.op("Broadcast@3", {ranked, shape}, {{"mode", "bidirectional"}});
  return layer.op("ScatterUpdate", {wide, tf::as_list(index), unsqueeze(item, {0}), layer.scalar(int64_t{0})});
}
// The list with at least `index` + 1 elements.
Value tf_list_grown(const Value& list, const Value& index) {
  Builder& layer = list.in();
  Value length = build::dims(list, {0}), last = tf::as_list(convert(index, DType::i64));
  Value missing = layer.op("Maximum", {last + 1 - length, layer.ints({0})});
  Value rank = shape_of(shape_of(list)), zeros = layer.op("Broadcast@3", {layer.ints({0}), rank - layer.ints({1})});
  Value none = layer.op("Broadcast@3", {layer.ints({0}), rank});
  return layer.op("Pad@1", {list, none, build::concat({missing, zeros}, 0), like(list, 0)}, {{"pad_mode", "constant"}});
}
Value tf_tensor_list_set(Builder& layer) {
  Value list = layer.input(0);
  if (layer.get<bool>("resize_if_index_out_of_bounds", false)) list = tf_list_grown(list, layer.input(1));
  return tf_list_set(list, layer.input(1), layer.input(2));
}
Value tf_list_same(Builder& layer) { return layer.input(0); }
Value tf_tensor_list_length(Builder& layer) {
  return convert(tf::as_scalar(build::dims(layer.input(0), {0})), DType::i32);
}

// Tensor arrays of TensorFlow 1: the "flow" value that connects the nodes is the array itself.
std::vector<Value> tf_array(Builder& layer) {
  for (std::string_view f : {"dynamic_size", "clear_after_read", "tensor_array_name", "identical_element_shapes"})
    layer.has(f);
  Shape element = layer.get<Shape>("element_shape", Shape::unknown());
  std::vector<int64_t> dims;
  for (size_t i = 0; element.ranked() && i < element.rank(); ++i)
    dims.push_back(element[i].known() ? element[i].value() : 1);
  Value shape = convert(tf::as_list(layer.input(0)), DType::i64);
  if (!dims.empty()) shape = build::concat({shape, layer.ints(dims)}, 0);
  Value array = build::fill(layer, 0, layer.get<DType>("dtype"), shape);
  return {array, array};
}
Value tf_array_write(Builder& layer) { return tf_list_set(layer.input(3), layer.input(1), layer.input(2)); }
Value tf_array_read(Builder& layer) { return build::gather(layer.input(2), tf::as_scalar(layer.input(1)), 0); }
Value tf_array_gather(Builder& layer) {
  layer.has("element_shape");
  return build::gather(layer.input(2), tf::as_list(layer.input(1)), 0);
}
Value tf_array_scatter(Builder& layer) {
  Value value = layer.input(2);
  Value tail = layer.op("Slice", {shape_of(value), layer.ints({1}), layer.ints({INT64_MAX}), layer.ints({1})});
  Value shape = build::concat({build::dims(layer.input(3), {0}), tail}, 0);
  Value zeros = build::fill(layer, 0, value.type(), shape);
  return layer.op("ScatterUpdate", {zeros, tf::as_list(layer.input(1)), value, layer.scalar(int64_t{0})});
}
Value tf_array_size(Builder& layer) { return convert(tf::as_scalar(build::dims(layer.input(1), {0})), DType::i32); }
Value tf_tensor_list_gather(Builder& layer) { return build::gather(layer.input(0), layer.input(1), 0); }

}  // namespace

Definitions define_tensorflow_lists() {
  return {
      tensorflow("TensorArrayGatherV3").expand(tf_array_gather),
      tensorflow("TensorArrayReadV3").expand(tf_array_read),
      tensorflow("TensorArrayScatterV3").expand(tf_array_scatter),
      tensorflow("TensorArraySizeV3").expand(tf_array_size),
      tensorflow("TensorArrayV3").expand(tf_array),
      tensorflow("TensorArrayWriteV3").expand(tf_array_write),
      tensorflow("TensorListFromTensor").expand(tf_list_same),
      tensorflow("TensorListGather").expand(tf_tensor_list_gather),
      tensorflow("TensorListGetItem").expand(tf_tensor_list_get),
      tensorflow("TensorListLength").expand(tf_tensor_list_length),
      tensorflow("TensorListReserve").expand(tf_tensor_list_reserve),
      tensorflow("TensorListSetItem").expand(tf_tensor_list_set),
      tensorflow("TensorListStack").ignore("num_elements").expand(tf_list_same),
  };
}

}  // namespace graft
