// Lists of tensors and tensor arrays, which loops fill and read: one tensor with an axis in front for the elements.
#include "layout.hpp"

namespace graft {
namespace {

// Unknown dimensions are 1 until an element comes.
Value tf_list_reserve(Import& layer, const Value& element, const Value& count, DType type) {
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
Value tf_tensor_list_reserve(Import& layer) {
  DType type = layer.get<DType>("element_dtype");
  if (type == DType::undefined) unsupported("a list of this element type");
  return tf_list_reserve(layer, layer.input(0), layer.input(1), type);
}
Value tf_tensor_list_get(Import& layer) { return build::gather(layer.input(0), tf::as_scalar(layer.input(1)), 0); }
// The list grows to the size of what is put into it.
Value tf_list_set(const Value& list, const Value& index, const Value& item) {
  Import& layer = list.in();
  Value shape = build::concat({build::dims(list, {0}), shape_of(item)}, 0);
  Value wide = layer.op("Broadcast@3", {list, shape}, {{"mode", "bidirectional"}});
  return layer.op("ScatterUpdate", {wide, tf::as_list(index), unsqueeze(item, {0}), layer.scalar(int64_t{0})});
}
Value tf_tensor_list_set(Import& layer) {
  layer.has("resize_if_index_out_of_bounds");
  return tf_list_set(layer.input(0), layer.input(1), layer.input(2));
}
Value tf_list_same(Import& layer) { return layer.input(0); }
Value tf_tensor_list_length(Import& layer) {
  return convert(tf::as_scalar(build::dims(layer.input(0), {0})), DType::i32);
}
Value tf_tensor_list_gather(Import& layer) { return build::gather(layer.input(0), layer.input(1), 0); }

}  // namespace

Ops define_tensorflow_lists() {
  return {
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
