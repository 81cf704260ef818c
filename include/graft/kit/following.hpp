// Propagates known values through operations that only move elements. The reference kernel runs on labels, one per
// element of the data, instead of the values; the position of a label in the output is that of its value.
#pragma once

#include <deque>

#include "known.hpp"

namespace [[gnu::visibility("hidden")]] graft {

template <class A>
class MovedValues {
 public:
  using RunFunction = void (*)(Run&, const A&);

  MovedValues(Infer& ctx, const A& a, RunFunction run) : ctx_(ctx), a_(a), run_(run) {}

  // `data`: the inputs whose elements are moved. All others control the movement and must be constant.
  void follow(const std::vector<size_t>& data, const std::vector<Shape>& outputs) {
    if (!worth_it(data, outputs)) return;
    for (size_t i = 0; i < ctx_.inputs(); ++i) {
      bool moved = std::find(data.begin(), data.end(), i) != data.end();
      if (!(moved ? label(i) : place(i))) return;
    }
    std::deque<LocalTensor<int64_t>> results;
    std::vector<graft_tensor*> raw;
    for (const Shape& s : outputs) {
      results.emplace_back(std::vector<int64_t>(static_cast<size_t>(s.elements().value())), s.values());
      raw.push_back(results.back().output().raw());
    }
    std::vector<uint8_t> used(outputs.size(), 1);
    graft_call call{};
    call.size = sizeof call;
    call.input_count = static_cast<uint32_t>(inputs_.size()), call.inputs = inputs_.data();
    call.output_count = static_cast<uint32_t>(raw.size()), call.outputs = raw.data();
    call.used = used.data();
    try {
      Run run(&call);
      run_(run, a_);
    } catch (const Failure&) {
      return;  // for example an index out of range: rejected when the operation runs
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      Shape values;
      for (int64_t at : results[i].view().template to<int64_t>()) values.push_back(values_[static_cast<size_t>(at)]);
      ctx_.known_output(i, values);
    }
  }

 private:
  bool worth_it(const std::vector<size_t>& data, const std::vector<Shape>& outputs) const {
    DType type = ctx_.type(data[0]);
    auto followed = [&](const Shape& s) { return is_followed(type, s); };
    if (!std::all_of(outputs.begin(), outputs.end(), followed)) return false;
    if (!std::all_of(data.begin(), data.end(), [&](size_t i) { return !ctx_.has_input(i) || followed(ctx_.shape(i)); }))
      return false;
    return std::any_of(data.begin(), data.end(), [&](size_t i) { return ctx_.known(i).has_value(); });
  }
  bool label(size_t input) {
    inputs_.push_back(nullptr);
    if (!ctx_.has_input(input)) return true;
    auto values = followed_values(ctx_, input);
    if (!values) return false;
    std::vector<int64_t> labels;
    for (const Dim& d : *values) {
      labels.push_back(static_cast<int64_t>(values_.size()));
      values_.push_back(d);
    }
    inputs_.back() = labels_.emplace_back(std::move(labels), ctx_.shape(input).values()).view().raw();
    return true;
  }
  bool place(size_t input) {
    inputs_.push_back(ctx_.constant(input).raw());
    return inputs_.back() || !ctx_.has_input(input);
  }

  Infer& ctx_;
  const A& a_;
  RunFunction run_;
  std::vector<Dim> values_{exact_number(0)};  // by label; kernels write 0 where no element is moved to
  std::deque<LocalTensor<int64_t>> labels_;
  std::vector<const graft_tensor*> inputs_;
};

template <class A>
void follow_moves(Infer& ctx, const A& a, void (*run)(Run&, const A&), const std::vector<size_t>& data,
                  const std::vector<Shape>& outputs) {
  MovedValues<A>(ctx, a, run).follow(data, outputs);
}

}  // namespace graft
