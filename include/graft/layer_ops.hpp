// Turns a class in OpenCV's form into operations: what layer.hpp and opencv.hpp share.
//
// An Api names the types (Layer, LayerParams, Mat, MatShape) and how to make them from ours. OpenCV has one instance
// per layer, with members that `forward` may change. Here several requests may run at once, so each call takes an
// instance of its own from a pool; nothing is allocated once there is one per concurrent call.
#pragma once

#include <mutex>

#include "layer_import.hpp"

namespace [[gnu::visibility("hidden")]] graft {

namespace detail {

// Reads "name=value" of LayerAttributes::params into the dictionary, value by value.
class ParameterReader {
 public:
  explicit ParameterReader(std::string_view s) : all_(s), s_(s) {}

  template <class Set>
  void read(Set&& set) {
    if (accept('[')) return list(set);
    if (s_.starts_with('"')) set(std::vector<std::string>{quoted()}, false);
    else number_list({scalar()}, false, set);
  }

 private:
  template <class Set>
  void list(Set& set) {
    std::vector<std::string_view> numbers;
    std::vector<std::string> texts;
    while (!accept(']')) {
      if (s_.empty()) fail("expected ']' in the parameter ", all_);
      if (s_.starts_with('"')) texts.push_back(quoted());
      else numbers.push_back(scalar());
      accept(','), accept(' ');
    }
    if (!texts.empty()) set(texts, true);
    else number_list(numbers, true, set);
  }
  template <class Set>
  static void number_list(const std::vector<std::string_view>& words, bool is_list, Set& set) {
    bool whole = true;
    for (std::string_view w : words) whole = whole && w.find_first_of(".eEnN") == w.npos;
    std::vector<int64_t> ints;
    std::vector<double> reals;
    for (std::string_view w : words) {
      if (w == "true" || w == "false") ints.push_back(w == "true"), reals.push_back(w == "true");
      else if (whole) ints.push_back(std::strtoll(std::string(w).c_str(), nullptr, 10));
      else reals.push_back(std::strtod(std::string(w).c_str(), nullptr));
    }
    bool truth = words.size() == 1 && (words[0] == "true" || words[0] == "false");
    if (whole || truth) set(ints, is_list);
    else set(reals, is_list);
  }
  bool accept(char c) {
    if (!s_.starts_with(c)) return false;
    s_.remove_prefix(1);
    return true;
  }
  std::string_view scalar() {
    size_t n = std::min(s_.find_first_of(",] "), s_.size());
    if (n == 0) fail("expected a value in the parameter ", all_);
    std::string_view word = s_.substr(0, n);
    s_.remove_prefix(n);
    return word;
  }
  std::string quoted() {
    std::string out;
    size_t i = 1;
    for (; i < s_.size() && s_[i] != '"'; ++i) {
      if (s_[i] != '\\') out += s_[i];
      else if (i + 1 < s_.size() && s_[i + 1] == 'u' && i + 5 < s_.size()) {
        out += static_cast<char>(std::strtol(std::string(s_.substr(i + 2, 4)).c_str(), nullptr, 16));
        i += 5;
      } else if (i + 1 < s_.size()) out += s_[++i];
    }
    if (i >= s_.size()) fail("expected '\"' at the end of the parameter ", all_);
    s_.remove_prefix(i + 1);
    return out;
  }
  std::string_view all_, s_;
};

// OpenCV's number for an element type (CV_8U is 0, ...); none for types that its matrices cannot have.
inline std::optional<int> matrix_depth(DType type) {
  switch (type) {
    case DType::boolean:
    case DType::u8: return 0;
    case DType::i8: return 1;
    case DType::u16: return 2;
    case DType::i16: return 3;
    case DType::i32: return 4;
    case DType::f32: return 5;
    case DType::f64: return 6;
    case DType::f16: return 7;
    default: return std::nullopt;
  }
}
// As OpenCV's importers and its CPU do, layers compute in f32 what the model has in half precision.
inline bool is_widened(DType type) { return type == DType::f16 || type == DType::bf16; }
inline int required_depth(DType type) {
  if (auto depth = matrix_depth(is_widened(type) ? DType::f32 : type)) return *depth;
  unsupported("layers of OpenCV have no element type ", type);
}
inline std::vector<int> matrix_shape(std::span<const int64_t> dims) {
  std::vector<int> s;
  for (int64_t d : dims) s.push_back(narrow<int>(d));
  return s;
}

template <class Api>
class LayerOp {
 public:
  using Create = typename Api::Pointer (*)(typename Api::Params&);

  // What makes instances is a type with a static `create`, so that each definition of a layer type has functions of its
  // own: a later one of the same type hides it only until it is removed. `Formula` is for a lambda, `Pointer` for a
  // function that is known at run time.
  template <class F>
  struct Formula {
    static typename Api::Pointer create(typename Api::Params& p) { return F{}(p); }
  };
  static constexpr size_t most_pointers = 64;
  template <size_t n>
  struct Pointer {
    static inline Create made = nullptr;
    static typename Api::Pointer create(typename Api::Params& p) { return made(p); }
  };

  // A new instance for a node; `blob(i)` gives its weights.
  template <class C, class Blob>
  static typename Api::Pointer create(std::string_view name, std::string_view type, const LayerAttributes& a,
                                      Blob blob) {
    typename Api::Params params;
    params.name = std::string(name), params.type = std::string(type);
    for (const std::string& p : a.params) {
      size_t equals = p.find('=');
      if (equals == p.npos) fail("expected a parameter as name=value, got '", p, "'");
      std::string key = p.substr(0, equals);
      ParameterReader(std::string_view(p).substr(equals + 1)).read([&](const auto& values, bool is_list) {
        Api::set(params, key, values, is_list);
      });
    }
    for (int64_t i = 0; i < a.blobs; ++i) params.blobs.push_back(copy(blob(static_cast<size_t>(i))));
    typename Api::Pointer made = C::create(params);
    if (!made) fail("the layer class of '", type, "' did not create an instance");
    return made;
  }

  template <class C>
  static void infer(Infer& ctx, const LayerAttributes& a) {
    size_t flows = flows_of(ctx.inputs(), a);
    std::vector<typename Api::Shape> in, out, internals;
    DType type = flows ? ctx.type(0) : DType::f32;
    bool known = true;
    for (size_t i = 0; i < flows; ++i) known = known && ctx.shape(i).is_static();
    for (size_t i = 0; i < static_cast<size_t>(a.outputs) && !known; ++i) ctx.output(i, type, Shape::unknown());
    if (!known) return;
    for (size_t i = 0; i < flows; ++i) in.push_back(matrix_shape(ctx.shape(i).values()));
    shapes(*instance<C>(ctx, a), in, a, out, internals);
    for (size_t i = 0; i < static_cast<size_t>(a.outputs); ++i) ctx.output(i, type, Shape::of(dims_of(out[i])));
  }

  // An instance with the blobs of one call.
  struct Instance {
    typename Api::Pointer layer;
    std::vector<typename Api::Mat> inputs, outputs, internals;
    bool finalized = false;
  };
  // Shared by all calls with the same shapes.
  struct State {
    std::string name, type;
    std::vector<typename Api::Shape> internals;
    std::vector<size_t> offsets;
    std::vector<size_t> inputs_at, outputs_at;  // scratch memory of tensors that are widened
    std::mutex mutex;
    std::vector<std::unique_ptr<Instance>> idle;

    std::unique_ptr<Instance> take() {
      std::lock_guard lock(mutex);
      if (idle.empty()) return nullptr;
      auto i = std::move(idle.back());
      idle.pop_back();
      return i;
    }
    void give(std::unique_ptr<Instance> i) {
      std::lock_guard lock(mutex);
      idle.push_back(std::move(i));
    }
  };

  template <class C>
  static std::shared_ptr<State> prepare(Prepare& ctx, const LayerAttributes& a) {
    auto s = std::make_shared<State>();
    s->name = ctx.name(), s->type = ctx.op_type();
    size_t flows = flows_of(ctx.inputs(), a);
    std::vector<typename Api::Shape> in, out;
    for (size_t i = 0; i < flows; ++i) {
      if (!ctx.shape(i).is_static()) unsupported("requires static shapes");
      required_depth(ctx.type(i));
      in.push_back(matrix_shape(ctx.shape(i).values()));
    }
    auto made = std::make_unique<Instance>();
    made->layer = instance<C>(ctx, a);
    shapes(*made->layer, in, a, out, s->internals);
    size_t bytes = 0;
    auto place = [&](const typename Api::Shape& shape) {
      size_t at = bytes;
      bytes += (static_cast<size_t>(count_of(dims_of(shape))) * sizeof(float) + 63) / 64 * 64;
      return at;
    };
    for (const auto& shape : s->internals) s->offsets.push_back(place(shape));
    for (size_t i = 0; i < flows; ++i) s->inputs_at.push_back(is_widened(ctx.type(i)) ? place(in[i]) : 0);
    for (size_t i = 0; i < ctx.outputs(); ++i)
      s->outputs_at.push_back(is_widened(ctx.output(i).type) ? place(out[i]) : 0);
    ctx.scratch(bytes);
    s->give(std::move(made));
    return s;
  }

  template <class C>
  static void run(Run& ctx, const LayerAttributes& a, const std::shared_ptr<State>& s) {
    size_t flows = flows_of(ctx.inputs(), a);
    std::unique_ptr<Instance> i = s->take();
    if (!i) {
      i = std::make_unique<Instance>();
      i->layer = create<C>(s->name, s->type, a, [&](size_t b) { return ctx.input(flows + b); });
    }
    i->inputs.resize(flows), i->outputs.resize(ctx.outputs()), i->internals.resize(s->internals.size());
    auto* scratch = static_cast<unsigned char*>(ctx.scratch());
    auto seen = [&](const TensorView& t, size_t at) { return is_widened(t.type()) ? scratch + at : t.bytes(); };
    for (size_t k = 0; k < flows; ++k) {
      if (is_widened(ctx.input(k).type())) convert(ctx.input(k), scratch + s->inputs_at[k], true);
      point(ctx.input(k), seen(ctx.input(k), s->inputs_at[k]), i->inputs[k]);
    }
    for (size_t k = 0; k < ctx.outputs(); ++k)
      point(ctx.output(k), seen(ctx.output(k), s->outputs_at[k]), i->outputs[k]);
    for (size_t k = 0; k < i->internals.size(); ++k)
      Api::point(s->internals[k], required_depth(DType::f32), scratch + s->offsets[k], i->internals[k]);
    if (!i->finalized) Api::finalize(*i->layer, i->inputs, i->outputs);
    i->finalized = true;
    Api::forward(*i->layer, i->inputs, i->outputs, i->internals);
    for (size_t k = 0; k < ctx.outputs(); ++k) {
      if (ctx.output_used(k) && Api::data(i->outputs[k]) != seen(ctx.output(k), s->outputs_at[k]))
        fail("the layer replaced output ", k, " by another matrix: write into the memory it was given");
      if (is_widened(ctx.output(k).type())) convert(ctx.output(k), scratch + s->outputs_at[k], false);
    }
    s->give(std::move(i));
  }

  // `create` is a lambda without captures, or a function.
  template <class F>
  static Definitions define(std::string_view type, F create) {
    static std::mutex numbering;
    std::lock_guard lock(numbering);
    if constexpr (std::is_pointer_v<F>) return define_pointer(type, create);
    else return define_with<Formula<F>>(type);
  }

 private:
  // Each function gets a number, the same one gets the same.
  template <size_t n = 0>
  static Definitions define_pointer(std::string_view type, Create create) {
    if constexpr (n < most_pointers) {
      if (Pointer<n>::made && Pointer<n>::made != create) return define_pointer<n + 1>(type, create);
      Pointer<n>::made = create;
      return define_with<Pointer<n>>(type);
    } else {
      fail("expected at most ", most_pointers, " functions that create layers");
    }
  }
  template <class C>
  static Definitions define_with(std::string_view type) {
    std::string_view last = type.substr(type.rfind('.') + 1);
    Definitions all = op<LayerAttributes>(last, layer_opset)
                          .doc("a layer in OpenCV's form")
                          .inputs("inputs...")
                          .outputs("outputs...")
                          .infer(infer<C>)
                          .kernel(Kernel("REFERENCE", "layer").run(prepare<C>, run<C>));
    std::string_view domain = type.substr(0, type.size() - std::min(type.size(), last.size() + 1));
    all += every_framework(last).domain(domain).expand(import);
    return all;
  }

  static std::vector<int64_t> dims_of(const typename Api::Shape& s) { return {s.begin(), s.end()}; }
  // A matrix for a tensor, whose elements are at `memory`.
  static void point(const TensorView& t, const void* memory, typename Api::Mat& to) {
    Api::point(matrix_shape(t.dims()), required_depth(t.type()), memory, to);
  }
  // Copies a tensor to f32 in scratch memory, or back.
  static void convert(const TensorView& t, void* memory, bool widen) {
    auto* raw = const_cast<graft_tensor*>(t.raw());
    graft_tensor wide{sizeof(graft_tensor), GRAFT_F32, raw->rank, 0, raw->dims, nullptr, memory};
    check(widen ? host->convert(raw, &wide) : host->convert(&wide, raw));
  }
  // Weights: 64-bit integers become 32-bit ones and half precision f32, as in OpenCV's importers.
  static typename Api::Mat copy(TensorView t) {
    typename Api::Mat m;
    std::vector<int32_t> narrowed;
    std::vector<float> widened;
    if (t.type() == DType::i64) {
      for (int64_t v : t.to<int64_t>()) narrowed.push_back(narrow<int32_t>(v));
      Api::point(matrix_shape(t.dims()), required_depth(DType::i32), narrowed.data(), m);
    } else if (is_widened(t.type())) {
      widened = t.to<float>();
      point(t, widened.data(), m);
    } else {
      point(t, t.bytes(), m);
    }
    return m.clone();
  }
  static void import(Builder& layer) { import_layer(layer, layer.framework(), layer.type()); }
  static size_t flows_of(size_t inputs, const LayerAttributes& a) {
    auto blobs = static_cast<size_t>(a.blobs);
    if (blobs > inputs) fail("expected ", blobs, " blobs among the inputs, got ", inputs, " inputs");
    return inputs - blobs;
  }
  template <class C>
  static typename Api::Pointer instance(const NodeView& ctx, const LayerAttributes& a) {
    size_t flows = flows_of(ctx.inputs(), a);
    return create<C>(ctx.name(), ctx.op_type(), a, [&](size_t b) {
      TensorView t = ctx.constant(flows + b);
      if (!t) unsupported("the weights of a layer in OpenCV's form must be constant");
      return t;
    });
  }
  static void shapes(typename Api::Layer& layer, const std::vector<typename Api::Shape>& in, const LayerAttributes& a,
                     std::vector<typename Api::Shape>& out, std::vector<typename Api::Shape>& internals) {
    layer.getMemoryShapes(in, static_cast<int>(a.outputs), out, internals);
    if (out.size() < static_cast<size_t>(a.outputs))
      fail("getMemoryShapes gave ", out.size(), " output shapes, expected ", a.outputs);
    for (const auto& s : out)
      for (int64_t d : dims_of(s))
        if (d < 0) fail("getMemoryShapes gave a negative dimension");
  }
};

}  // namespace detail

}  // namespace graft
