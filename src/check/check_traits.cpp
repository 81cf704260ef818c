// Each trait promises that an operation commutes with something: the sample is changed before the operation, and the
// result must be the one that is changed after it.
#include "check/check_traits.hpp"

#include <algorithm>
#include <cstring>
#include <graft/traits.hpp>
#include <numeric>
#include <set>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "infer/evaluate.hpp"

namespace graft::testing {
namespace {

using Order = std::vector<int64_t>;

bool can_be_moved(const Tensor& t) { return t && t.type() != DType::string && bits_of(t.type()) >= 8; }

// Element `index` of the result is element source(index) of the tensor.
template <class F>
Tensor moved(const Tensor& t, std::vector<int64_t> dims, F&& source) {
  Tensor out(t.type(), dims);
  size_t size = static_cast<size_t>(bits_of(t.type())) / 8;
  std::vector<int64_t> index(dims.size(), 0);
  auto* to = static_cast<char*>(out.data());
  for (int64_t i = 0; i < out.size(); ++i) {
    std::memcpy(to + static_cast<size_t>(i) * size,
                static_cast<const char*>(t.data()) + static_cast<size_t>(source(index)) * size, size);
    for (size_t d = dims.size(); d-- > 0 && ++index[d] == dims[d];) index[d] = 0;
  }
  return out;
}
std::vector<int64_t> steps_of(const Tensor& t) {
  std::vector<int64_t> steps(t.dims().size(), 1);
  for (size_t d = steps.size(); d-- > 1;) steps[d - 1] = steps[d] * t.dims()[d];
  return steps;
}
Tensor transposed(const Tensor& t, const Order& order) {
  std::vector<int64_t> dims, steps = steps_of(t);
  for (int64_t k : order) dims.push_back(t.dims()[static_cast<size_t>(k)]);
  return moved(t, dims, [&](const std::vector<int64_t>& index) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * steps[static_cast<size_t>(order[d])];
    return at;
  });
}
Tensor reversed(const Tensor& t, size_t axis) {
  std::vector<int64_t> steps = steps_of(t);
  return moved(t, t.dims(), [&](const std::vector<int64_t>& index) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += (d == axis ? t.dims()[d] - 1 - index[d] : index[d]) * steps[d];
    return at;
  });
}
// Each entry along the axis is that before it, and the first one stays: what an entry depends on can be seen.
Tensor shifted(const Tensor& t, size_t axis) {
  std::vector<int64_t> steps = steps_of(t);
  return moved(t, t.dims(), [&](const std::vector<int64_t>& index) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d)
      at += (d == axis ? std::max<int64_t>(index[d] - 1, 0) : index[d]) * steps[d];
    return at;
  });
}
Tensor negated(const Tensor& t) {
  std::vector<double> values = values_of<double>(t);
  for (double& v : values) v = -v;
  return make_tensor<double>(t.dims(), values).to(t.type());
}
// With dimensions of 1 in front.
Tensor of_rank(const Tensor& t, size_t rank) {
  std::vector<int64_t> dims(rank - t.dims().size(), 1);
  dims.insert(dims.end(), t.dims().begin(), t.dims().end());
  return moved(t, dims, [at = int64_t{0}](const std::vector<int64_t>&) mutable { return at++; });
}
// The last dimension first, so that the order is not its own inverse.
Order rotation(size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), -1);
  order[0] = static_cast<int64_t>(rank) - 1;
  return order;
}
// Where dimension `axis` is after the transposition.
int64_t axis_after(int64_t axis, const Order& order) {
  if (axis < 0) axis += static_cast<int64_t>(order.size());
  return std::find(order.begin(), order.end(), axis) - order.begin();
}

class TraitCheck {
 public:
  TraitCheck(const KernelCheck& how, const Sample& sample, const std::vector<Tensor>& outputs)
      : how_(how), sample_(sample), y_(outputs[0]), rank_(sample.inputs[0].dims().size()) {}

  std::optional<Fault> run() const {
    if (auto p = view()) return p;
    if (auto p = elementwise()) return p;
    if (auto p = per_channel()) return p;
    if (auto p = channelwise()) return p;
    if (auto p = axis_attribute()) return p;
    if (auto p = axes_input()) return p;
    if (auto p = reduction()) return p;
    if (auto p = moves_data()) return p;
    return widens();
  }

 private:
  bool has(Trait t) const { return how_.op.has(static_cast<uint32_t>(t)); }
  const Tensor& x() const { return sample_.inputs[0]; }
  bool broadcasts() const {
    const Attribute* mode = sample_.attrs.find("auto_broadcast");
    const std::string* word = mode ? mode->get_if<std::string>() : nullptr;
    return !word || *word == "numpy";
  }
  std::optional<Tensor> computed(const Sample& s) const {
    try {
      return evaluate_node(Evaluation{how_.registry}, s.node(), how_.op, s.inputs, sample_.outputs)[0];
    } catch (const Error&) {
      return std::nullopt;  // another shape or type may be refused
    }
  }
  std::optional<Fault> compare(Trait t, const Sample& changed, const Tensor& expected, const char* what) const {
    std::optional<Tensor> y = computed(changed);
    auto difference = y ? difference_from_reference(how_.op, expected, *y, 0) : std::nullopt;
    if (!difference) return std::nullopt;
    return Fault{"broken trait", text(word_of(t), ": ", what, ": ", difference->detail)};
  }

  // A plan runs no kernel for a view, so no other check would see what the kernel does.
  std::optional<Fault> view() const {
    if (!has(Trait::view)) return std::nullopt;
    if (x().type() != y_.type() || x().size() != y_.size())
      return Fault{"broken trait", text("view: expected the elements of ", x().info(), ", got ", y_.info())};
    Tensor same = Tensor::wrap(x().type(), y_.dims(), const_cast<void*>(x().data()));
    auto difference = difference_from_reference(how_.op, same, y_, 0);
    if (!difference) return std::nullopt;
    return Fault{"broken trait", text("view: the output has other elements than input 0: ", difference->detail)};
  }

  std::optional<Fault> elementwise() const {
    size_t rank = y_.dims().size();
    if (!has(Trait::elementwise) || rank < 2 || !broadcasts()) return std::nullopt;
    Sample s = sample_;
    Order order = rotation(rank);
    for (Tensor& t : s.inputs) {
      if (!t || t.size() == 1) continue;
      if (!can_be_moved(t) || t.dims().size() > rank) return std::nullopt;
      t = transposed(of_rank(t, rank), order);
    }
    if (auto p = compare(Trait::elementwise, s, transposed(y_, order),
                         "transposing the inputs does not transpose the output"))
      return p;
    auto longest = std::max_element(y_.dims().begin(), y_.dims().end());
    auto axis = static_cast<size_t>(longest - y_.dims().begin());
    s = sample_;
    for (Tensor& t : s.inputs)
      if (t && t.size() != 1) t = shifted(of_rank(t, rank), axis);
    return compare(Trait::elementwise, s, shifted(y_, axis), "an element depends on others than its own");
  }

  // The inputs along the channels: dimension 1 of those with all dimensions, the only one of those with one.
  template <class F>
  std::optional<Sample> with_channels(F&& change) const {
    Sample s = sample_;
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      Tensor& t = s.inputs[i];
      if (!t || t.size() == 1) continue;
      if (!can_be_moved(t) || t.dims().size() > rank_) return std::nullopt;
      size_t missing = rank_ - t.dims().size();
      bool along_1 = i > 0 && t.dims().size() == 1 && t.size() == x().dims()[1];
      if (along_1 || missing <= 1) t = change(t, along_1 ? 0 : 1 - missing);
    }
    return s;
  }

  std::optional<Fault> per_channel() const {
    if (!has(Trait::per_channel) || rank_ < 2 || y_.dims() != x().dims()) return std::nullopt;
    auto turned = with_channels(reversed), moved_on = with_channels(shifted);
    if (!turned) return std::nullopt;
    if (auto p = compare(Trait::per_channel, *turned, reversed(y_, 1),
                         "reversing the channels does not reverse those of the output"))
      return p;
    if (auto p = compare(Trait::per_channel, *moved_on, shifted(y_, 1), "a channel depends on others than its own"))
      return p;
    // As sink_transposes does it. The operation may refuse other inputs with more than one dimension.
    Sample s = sample_;
    Order order = rotation(rank_);
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      Tensor& t = s.inputs[i];
      if (!t || t.size() == 1) continue;
      std::vector<int64_t> dims(rank_, 1);
      dims[1] = t.size();
      bool along_1 = i > 0 && t.dims().size() == 1 && t.size() == x().dims()[1];
      t = transposed(along_1 ? Tensor::wrap(t.type(), dims, t.data()).clone() : of_rank(t, rank_), order);
    }
    return compare(
        Trait::per_channel, s, transposed(y_, order),
        "transposing input 0, and the others with the dimensions that they lack, does not transpose the output");
  }

  std::optional<Fault> channelwise() const {
    if (!has(Trait::channelwise) || rank_ < 2 || y_.dims().size() < 2) return std::nullopt;
    Sample s = sample_;
    s.inputs[0] = reversed(x(), 1);
    if (auto p = compare(Trait::channelwise, s, reversed(y_, 1),
                         "reversing the channels does not reverse those of the output"))
      return p;
    if (y_.dims()[1] != x().dims()[1]) return std::nullopt;
    s.inputs[0] = shifted(x(), 1);
    return compare(Trait::channelwise, s, shifted(y_, 1), "a channel depends on others than its own");
  }

  std::optional<Fault> axis_attribute() const {
    const Attribute* a = sample_.attrs.find("axis");
    if (!has(Trait::axis_attribute) || rank_ < 2 || y_.dims().size() != rank_ || !a || !a->get_if<int64_t>())
      return std::nullopt;
    Sample s = sample_;
    Order order = rotation(rank_);
    s.attrs["axis"] = axis_after(a->as<int64_t>(), order);
    for (Tensor& t : s.inputs) {
      if (!can_be_moved(t) || t.dims().size() != rank_) return std::nullopt;
      t = transposed(t, order);
    }
    return compare(Trait::axis_attribute, s, transposed(y_, order),
                   "transposing the inputs does not transpose the output");
  }

  std::optional<Fault> axes_input() const {
    if (!has(Trait::axes_input) || rank_ < 2 || y_.dims().size() != rank_ || !axes_given()) return std::nullopt;
    Sample s = sample_;
    Order order = rotation(rank_);
    std::vector<int64_t> axes = values_of<int64_t>(s.inputs[1]);
    for (int64_t& axis : axes) axis = axis_after(axis, order);
    s.inputs[0] = transposed(x(), order);
    s.inputs[1] = make_tensor<int64_t>(s.inputs[1].dims(), axes).to(s.inputs[1].type());
    return compare(Trait::axes_input, s, transposed(y_, order), "transposing the input does not transpose the output");
  }

  std::optional<Fault> reduction() const {
    if (!has(Trait::reduction) || y_.dims().size() != rank_ || !axes_given() || !is_real(x().type()))
      return std::nullopt;
    std::vector<int64_t> axes = values_of<int64_t>(sample_.inputs[1]);
    if (y_.dims() == x().dims())
      if (auto difference = difference_from_reference(how_.op, x(), y_, 0))
        return Fault{"broken trait", text("reduction: one element is not reduced to itself: ", difference->detail)};
    if (axes.size() < 2) return std::nullopt;
    Sample s = sample_;
    for (bool first : {true, false}) {
      std::vector<int64_t> some =
          first ? std::vector<int64_t>{axes[0]} : std::vector<int64_t>(axes.begin() + 1, axes.end());
      s.inputs[1] = make_tensor<int64_t>({static_cast<int64_t>(some.size())}, some).to(s.inputs[1].type());
      if (!first) break;
      std::optional<Tensor> part = computed(s);
      if (!part) return std::nullopt;
      s.inputs[0] = *part;
    }
    return compare(Trait::reduction, s, y_, "reducing one axis after the other gives another result");
  }

  std::optional<Fault> moves_data() const {
    if (!has(Trait::moves_data) || !is_real(y_.type()) || bits_of(y_.type()) < 16) return std::nullopt;
    std::set<double> known{0};
    for (const Tensor& t : sample_.inputs)
      if (t && t.type() == y_.type())
        for (double v : values_of<double>(t)) known.insert(v);
    for (double v : values_of<double>(y_))
      if (v == v && !known.contains(v))
        return Fault{"broken trait", text("moves_data: output 0 has ", v, ", which no input has")};
    // Values of another order: those of input 0, or of all inputs that may have been moved.
    std::optional<Fault> p;
    for (bool all : {false, true}) {
      Sample s = sample_;
      for (size_t i = 0; i < (all ? s.inputs.size() : 1); ++i)
        if (Tensor& t = s.inputs[i]; t && t.type() == y_.type()) t = negated(t);
      p = compare(Trait::moves_data, s, negated(y_), "negating the inputs does not negate the output");
      if (!p) return p;
    }
    return p;
  }

  std::optional<Fault> widens() const {
    if (!has(Trait::widens) || y_.type() != DType::f16) return std::nullopt;
    Sample s = sample_;
    for (Tensor& t : s.inputs)
      if (t && t.type() == DType::f16) t = t.to(DType::f32);
    std::optional<Tensor> wide = computed(s);
    if (!wide) return std::nullopt;
    if (wide->type() != DType::f32)
      return Fault{"broken trait", text("widens: expected f32 for inputs of f32, got ", wide->type())};
    auto difference = difference_from_reference(how_.op, y_, wide->to(DType::f16), 0);
    if (!difference) return std::nullopt;
    return Fault{"broken trait", text("widens: computed in f32 it gives another result: ", difference->detail)};
  }

  bool axes_given() const {
    return sample_.inputs.size() > 1 && sample_.inputs[1] && is_integer(sample_.inputs[1].type());
  }

  const KernelCheck& how_;
  const Sample& sample_;
  const Tensor& y_;
  size_t rank_;
};

}  // namespace

std::optional<Fault> check_traits(const KernelCheck& how, const Sample& sample, const std::vector<Tensor>& outputs) {
  if (sample.inputs.empty() || !can_be_moved(sample.inputs[0]) || outputs.empty() || !can_be_moved(outputs[0]))
    return std::nullopt;
  if (!how.op.has(GRAFT_OP_PURE)) return std::nullopt;
  return TraitCheck(how, sample, outputs).run();
}

}  // namespace graft::testing
