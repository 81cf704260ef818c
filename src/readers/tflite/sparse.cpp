// Sparse tensors: dimensions in a given order, the last of them inside blocks; each is dense, or lists the indices that
// are not zero as compressed rows.
#include <cstring>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "readers/tflite/model.hpp"

namespace graft {
namespace tflite_sparse {
namespace {

struct Level {
  bool listed = false;
  int64_t size = 0;                        // dense
  std::vector<int64_t> segments, indices;  // listed
};

std::vector<int64_t> indices_of(const FlatTable& t, size_t field) {
  auto kind = t.number<uint8_t>(field, 0);
  auto v = t.table(field + 1, "list of indices");
  if (!v) return {};
  auto wide = [](const auto& all) { return std::vector<int64_t>(all.begin(), all.end()); };
  switch (kind) {
    case 1: return wide(v->numbers<int32_t>(0));
    case 2: return wide(v->numbers<uint16_t>(0));
    case 3: return wide(v->numbers<uint8_t>(0));
    default: t.broken("has a list of indices of the unknown kind ", static_cast<int>(kind));
  }
}

class Expansion {
 public:
  Expansion(const TfliteTensor& t, DType type, std::string_view data)
      : tensor_(t), data_(data), out_(type, std::vector<int64_t>(t.dims.begin(), t.dims.end())) {
    if (bits_of(type) % 8) throw_unsupported("a sparse tensor of ", type, " is not supported");
    cell_ = static_cast<size_t>(bits_of(type)) / 8;
    std::memset(out_.data(), 0, out_.bytes());
    const FlatTable& s = *t.sparsity;
    order_ = s.numbers<int32_t>(0);
    blocks_ = s.numbers<int32_t>(1);
    size_t rank = t.dims.size();
    FlatTables levels = s.tables(2, "DimensionMetadata");
    if (levels.size() != order_.size() || order_.size() != rank + blocks_.size())
      s.broken("has ", levels.size(), " dimensions, ", order_.size(), " of them in order and ", blocks_.size(),
               " of blocks, for a tensor of rank ", rank);
    std::vector<bool> seen(order_.size(), false);
    for (int32_t d : order_) {
      if (d < 0 || static_cast<size_t>(d) >= order_.size() || seen[static_cast<size_t>(d)])
        s.broken("has an order of its dimensions that is no permutation");
      seen[static_cast<size_t>(d)] = true;
    }
    for (int32_t b : blocks_)
      if (b < 0 || static_cast<size_t>(b) >= rank)
        s.broken("maps a block to dimension ", b, " of a tensor of rank ", rank);
    for (size_t i = 0; i < levels.size(); ++i) {
      FlatTable m = levels[i];
      Level& l = levels_.emplace_back();
      l.listed = m.number<int8_t>(0, 0) == 1;
      if (l.listed) l.segments = indices_of(m, 2), l.indices = indices_of(m, 4);
      else l.size = m.number<int32_t>(1, 0);
      if (l.size < 0) m.broken("has the size ", l.size);
    }
    // How many elements a step along a dimension of a block, or of blocks, covers.
    block_size_.assign(rank, 1);
    for (size_t i = 0; i < order_.size(); ++i)
      if (auto d = static_cast<size_t>(order_[i]); d >= rank) {
        if (levels_[i].listed) s.broken("lists indices inside a block");
        block_size_[static_cast<size_t>(blocks_[d - rank])] *= levels_[i].size;
      }
    at_.assign(order_.size(), 0);
  }

  Tensor run() {
    fill(0, 0);
    if (used_ != data_.size())
      tensor_.sparsity->broken("has ", used_ / cell_, " values, but ", data_.size(), " bytes of data");
    return out_;
  }

 private:
  void fill(size_t level, int64_t row) {
    if (++steps_ > 8 * (static_cast<uint64_t>(out_.size()) + data_.size()) + 1024)
      tensor_.sparsity->broken("has too many empty dimensions");
    if (level == levels_.size()) return put();
    const Level& l = levels_[level];
    auto dim = static_cast<size_t>(order_[level]);
    if (!l.listed) {
      for (int64_t i = 0; i < l.size; ++i) at_[dim] = i, fill(level + 1, row * l.size + i);
      return;
    }
    if (row < 0 || static_cast<size_t>(row) + 1 >= l.segments.size()) tensor_.sparsity->broken("has too few segments");
    int64_t begin = l.segments[static_cast<size_t>(row)], end = l.segments[static_cast<size_t>(row) + 1];
    if (begin < 0 || end < begin || static_cast<uint64_t>(end) > l.indices.size())
      tensor_.sparsity->broken("has a segment from ", begin, " to ", end, " of ", l.indices.size(), " indices");
    for (int64_t i = begin; i < end; ++i) at_[dim] = l.indices[static_cast<size_t>(i)], fill(level + 1, i);
  }
  void put() {
    size_t rank = tensor_.dims.size();
    std::vector<int64_t> place(at_.begin(), at_.begin() + static_cast<ptrdiff_t>(rank));
    for (size_t d = 0; d < rank; ++d) place[d] *= block_size_[d];
    for (size_t b = 0; b < blocks_.size(); ++b) place[static_cast<size_t>(blocks_[b])] += at_[rank + b];
    int64_t flat = 0;
    for (size_t d = 0; d < rank; ++d) {
      if (place[d] < 0 || place[d] >= tensor_.dims[d])
        tensor_.sparsity->broken("has the index ", place[d], " in a dimension of ", tensor_.dims[d]);
      flat = flat * tensor_.dims[d] + place[d];
    }
    if (data_.size() - used_ < cell_)
      tensor_.sparsity->broken("has more values than its ", data_.size(), " bytes of data");
    std::memcpy(static_cast<char*>(out_.data()) + static_cast<size_t>(flat) * cell_, data_.data() + used_, cell_);
    used_ += cell_;
  }

  const TfliteTensor& tensor_;
  std::string_view data_;
  Tensor out_;
  size_t cell_ = 0, used_ = 0;
  uint64_t steps_ = 0;
  std::vector<int32_t> order_, blocks_;
  std::vector<Level> levels_;
  std::vector<int64_t> block_size_, at_;
};

}  // namespace
}  // namespace tflite_sparse

Tensor tflite_dense(const TfliteTensor& t, DType type, std::string_view data) {
  return tflite_sparse::Expansion(t, type, data).run();
}

}  // namespace graft
