// What kernels that read indices share.
#pragma once

#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {

// Indices of type i32 or i64.
struct IndexList {
  const void* data;
  bool wide;
  explicit IndexList(const TensorView& t) : data(t.raw()->data), wide(t.type() == DType::i64) {}
  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

// Declines elements that are not whole bytes, indices of other types, and unknown shapes.
inline void indices_accept(Accept& ctx, size_t indices) {
  DType type = ctx.type(0), index = ctx.type(indices);
  if (bits_of(type) < 8 || bits_of(type) > 64 || type == DType::string)
    unsupported("expected elements of whole bytes, got ", type);
  if (index != DType::i32 && index != DType::i64) unsupported("expected indices of type i32 or i64, got ", index);
  for (size_t i = 0; i < ctx.inputs(); ++i)
    if (!ctx.shape(i).is_static()) unsupported("requires static shapes");
}

// Calls f with a number of the size of an element.
template <class F>
void with_cell(size_t bytes, const F& f) {
  switch (bytes) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    default: fail("moving elements of ", bytes, " bytes is not supported");
  }
}

// Copies a run of bytes; short ones, of the size of an element, without a call.
inline void copy_run(unsigned char* to, const unsigned char* from, size_t bytes) {
  switch (bytes) {
    case 4: return void(std::memcpy(to, from, 4));
    case 8: return void(std::memcpy(to, from, 8));
    default: std::memcpy(to, from, bytes);
  }
}

// Positions of an index tensor whose axes are those of the data: rows along the last axis.
struct ElementPlan {
  size_t axis = 0, cell = 4;
  bool last = true;                    // the axis is the last one
  int64_t size = 0, step = 1;          // of the axis in the data
  int64_t rows = 0, length = 0;        // of the indices
  std::vector<int64_t> dims, strides;  // of the indices without the last axis; strides in the data, 0 for the axis

  ElementPlan(const Prepare& ctx, int64_t at) {
    std::vector<int64_t> data = ctx.shape(0).values(), where = ctx.shape(1).values();
    axis = normalize_axis(at, data.size());
    if (where.size() != data.size())
      fail("expected indices of rank ", data.size(), " like the data, got rank ", where.size());
    for (size_t i = 0; i < data.size(); ++i)
      if (i != axis && where[i] > data[i]) fail("indices of ", where[i], " elements exceed a data axis of ", data[i]);
    strides = strides_of(data);
    size = data[axis], step = strides[axis], last = axis + 1 == data.size();
    strides[axis] = 0;
    length = where.back();
    dims.assign(where.begin(), where.end() - 1);
    rows = count_of(dims);
    cell = static_cast<size_t>(bits_of(ctx.type(0))) / 8;
  }
  // Where a row begins in the data.
  int64_t at(int64_t row) const {
    int64_t sum = 0;
    for (size_t i = dims.size(); i-- > 0; row /= dims[i]) sum += row % dims[i] * strides[i];
    return sum;
  }
};

}  // namespace graft
