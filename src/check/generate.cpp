#include "check/generate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "check/kernel_call.hpp"
#include "infer/evaluate.hpp"
#include "schema/resolve.hpp"

namespace graft::testing {
namespace {

using Random = Generator::Random;

constexpr double most_work = 2e6;  // elements touched by one call
constexpr int64_t most_elements = 70000;

// What most operations take comes first.
constexpr DType types[] = {DType::f32, DType::f16, DType::i64, DType::bf16,  DType::f64, DType::i32,
                           DType::u8,  DType::i8,  DType::i16, DType::u16,   DType::u32, DType::boolean,
                           DType::u64, DType::i4,  DType::u4,  DType::string};

int64_t random_dim(Random& r) {
  constexpr int64_t choices[] = {1, 2, 3, 5, 7, 1, 2, 3, 4, 8, 16, 33, 0};
  return choices[below(r, std::size(choices))];
}

int64_t product(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

void limit_elements(std::vector<int64_t>& dims) {
  while (product(dims) > most_elements) *std::max_element(dims.begin(), dims.end()) /= 2;
}

double ordinary(Random& r, DType type) {
  if (type == DType::boolean || type == DType::u1) return static_cast<double>(below(r, 2));
  if (is_real(type)) return static_cast<double>(below(r, 6001) - 3000) / 1000;
  return static_cast<double>(is_signed_integer(type) ? below(r, 11) - 5 : below(r, 8));
}

double special(Random& r, DType type) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double reals[] = {nan, inf, -inf, -0.0, 0.0, 1e-40, -1e-6, 1000, -1000, 0.5, 1.5, 2.5};
  if (is_real(type)) return reals[below(r, std::size(reals))];
  if (type == DType::boolean || type == DType::u1) return 1;
  int bits = std::min(bits_of(type), 53);
  double top = is_signed_integer(type) ? std::ldexp(1, bits - 1) : std::ldexp(1, bits);
  constexpr double exact = 9007199254740992.0;
  return chance(r, 2) ? std::min(top - 1, exact) : is_signed_integer(type) ? std::max(-top, -exact) : 0;
}

}  // namespace

std::span<const DType> sampled_types() { return types; }

Tensor random_tensor(Random& r, DType type, const std::vector<int64_t>& dims, bool specials) {
  auto count = static_cast<size_t>(count_checked(dims));
  if (type == DType::string) {
    std::vector<std::string> texts;
    constexpr std::string_view words[] = {"", "a", "some text", "Ünicode", "b c"};
    for (size_t i = 0; i < count; ++i) texts.emplace_back(words[below(r, std::size(words))]);
    return Tensor::strings(dims, std::move(texts));
  }
  std::vector<double> v(count);
  for (double& x : v) x = specials && chance(r, 4) ? special(r, type) : ordinary(r, type);
  return make_tensor<double>(dims, v).to(type);
}

namespace {

// Elements of `from`, chosen at random, in a tensor of these dimensions: what an input may contain.
Tensor resampled(Random& r, const Tensor& from, DType type, const std::vector<int64_t>& dims) {
  if (from.size() == 0 || type == DType::string) return random_tensor(r, type, dims, false);
  std::vector<double> have = values_of<double>(from), v(static_cast<size_t>(count_checked(dims)));
  for (double& x : v) x = have[static_cast<size_t>(below(r, static_cast<int64_t>(have.size())))];
  return make_tensor<double>(dims, v).to(type);
}

// The block that starts at the first element.
Tensor corner(const Tensor& t, const std::vector<int64_t>& dims) {
  if (t.type() == DType::string) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < product(dims); ++i) texts.emplace_back(t.text_at(i));
    return Tensor::strings(dims, std::move(texts));
  }
  std::vector<double> from = values_of<double>(t), to;
  for (int64_t i = 0; i < product(dims); ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      at += rest % dims[d] * stride;
      rest /= dims[d];
      stride *= t.dims()[d];
    }
    to.push_back(from[static_cast<size_t>(at)]);
  }
  return make_tensor<double>(dims, to).to(t.type());
}

// Another shape for an input beside one of shape `dims`.
std::vector<int64_t> related_shape(Random& r, const std::vector<int64_t>& dims) {
  switch (below(r, 10)) {
    case 0: return {};
    case 1: return {static_cast<int64_t>(dims.size())};
    case 2: return {dims.size() > 1 ? dims[1] : 1};
    case 3:
    case 4: {
      std::vector<int64_t> out(dims.begin() + below(r, static_cast<int64_t>(dims.size()) + 1), dims.end());
      for (int64_t& d : out)
        if (chance(r, 2)) d = 1;
      return out;
    }
    default: return dims;
  }
}

// Every dimension of size `from` becomes `to`, in all inputs.
Sample with_dimension(const Sample& s, int64_t from, int64_t to, Random* r) {
  Sample out = s;
  for (Tensor& t : out.inputs) {
    if (!t) continue;
    std::vector<int64_t> dims = t.dims();
    std::replace(dims.begin(), dims.end(), from, to);
    if (dims == t.dims() || product(dims) > most_elements) continue;
    t = r ? resampled(*r, t, t.type(), dims) : corner(t, dims);
  }
  return out;
}

std::set<int64_t> dimensions_of(const Sample& s) {
  std::set<int64_t> out;
  for (const Tensor& t : s.inputs)
    if (t) out.insert(t.dims().begin(), t.dims().end());
  return out;
}

}  // namespace

Generator::Generator(const Registry& registry, const OpDef& op, std::vector<Sample> seeds, uint64_t seed)
    : registry_(registry), op_(op), seeds_(std::move(seeds)), seed_(seed) {}

bool Generator::valid(Sample& s) {
  try {
    Node node = s.node();
    node.inputs.resize(s.inputs.size());
    for (size_t i = 0; i < s.inputs.size(); ++i)
      if (s.inputs[i]) node.inputs[i] = {0, 0};
    resolve(node, op_, Extras::keep);
    s.attrs = node.attrs;
    std::vector<std::optional<Info>> outputs = infer_sample(registry_, op_, s);
    s.outputs = outputs.size();
    for (const std::optional<Info>& o : outputs)
      if (o && o->shape.is_static() && o->shape.elements().value() > 16 * most_elements) return false;
    if (work_of(s.node(), op_, s.inputs, outputs) > most_work) return refusal = "too much work", false;
    return true;
  } catch (...) {
    refusal = current_error().message();
    return false;
  }
}

std::optional<Sample> Generator::make(int number) {
  if (number < static_cast<int>(seeds_.size())) return seeds_[static_cast<size_t>(number)];
  uint64_t mixed = seed_ * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(number);
  for (char c : op_.name()) mixed = mixed * 31 + static_cast<unsigned char>(c);
  Random r(mixed);
  int fresh = number - static_cast<int>(seeds_.size());
  for (int attempt = 0; attempt < 24; ++attempt) {
    // Where valid cases are known, most of what the schema alone suggests would be refused.
    bool change = !seeds_.empty() && !chance(r, 3);
    Sample s = change ? mutate(r) : synthesize(r, fresh + attempt * 16 * (attempt > 2));
    if (valid(s)) return s;
  }
  return std::nullopt;
}

Attribute Generator::random_attribute(Random& r, const graft_attr& a, size_t rank) const {
  auto number = [&](double usual) {
    bool low = std::isfinite(a.min) && std::fabs(a.min) <= 1024,
         high = std::isfinite(a.max) && std::fabs(a.max) <= 1024;
    if (low && chance(r, 3)) return a.min;
    if (high && chance(r, 3)) return a.max;
    return std::min(std::max(usual, a.min), a.max);
  };
  auto whole = [&] { return static_cast<int64_t>(number(static_cast<double>(below(r, 6) - 1))); };
  auto fraction = [&] { return number(static_cast<double>(below(r, 41) - 20) / 10); };
  auto word = [&]() -> std::string {
    if (!a.allowed_count) return "text";
    return std::string(view(a.allowed[below(r, static_cast<int64_t>(a.allowed_count))]));
  };
  // A table or weights: mostly f32, a list or a matrix.
  auto table = [&] {
    std::vector<int64_t> dims(static_cast<size_t>(chance(r, 8) ? 0 : chance(r, 2) ? 1 : 2));
    for (int64_t& d : dims) d = below(r, 8) + 1;
    return random_tensor(r, chance(r, 3) ? types[below(r, 8)] : DType::f32, dims, false);
  };
  size_t items = chance(r, 2) ? std::max<size_t>(rank, 2) - 2 : static_cast<size_t>(below(r, 4));
  if (a.fallback.kind != GRAFT_NONE && a.fallback.count && chance(r, 2)) items = a.fallback.count;
  switch (a.kind) {
    case GRAFT_BOOL: return chance(r, 2);
    case GRAFT_INT: return whole();
    case GRAFT_FLOAT: return fraction();
    case GRAFT_TEXT: return word();
    case GRAFT_DTYPE: return types[below(r, 8)];
    case GRAFT_INTS: {
      std::vector<int64_t> v(items);
      for (int64_t& x : v) x = whole();
      return v;
    }
    case GRAFT_FLOATS: {
      std::vector<double> v(items);
      for (double& x : v) x = fraction();
      return v;
    }
    case GRAFT_TEXTS: return std::vector<std::string>(items, word());
    case GRAFT_SHAPE: return Shape::of(std::vector<int64_t>{random_dim(r), random_dim(r)});
    case GRAFT_TENSOR: return table();
    case GRAFT_DTYPES: return std::vector<DType>(items, types[below(r, 8)]);
    default: return Attribute();
  }
}

Sample Generator::synthesize(Random& r, int number) const {
  Sample s{std::string(op_.name()), std::string(op_.opset()), {}, {}, {}, 0};
  // Every other case has the type that most kernels are for.
  int half = number / 2;
  DType type = types[number % 2 ? static_cast<size_t>(half) % std::size(types) : 0];
  auto rank = static_cast<size_t>(half % 7);
  std::vector<int64_t> dims(rank);
  for (int64_t& d : dims) d = random_dim(r);
  // Now and then enough elements for several threads.
  if (rank > 0 && half % 6 == 4) dims[static_cast<size_t>(below(r, static_cast<int64_t>(rank)))] = 8191;
  limit_elements(dims);
  bool specials = (half + half / 16) % 4 == 3;
  for (const graft_port* p : op_.inputs()) {
    int64_t copies = p->flags & GRAFT_PORT_VARIADIC ? below(r, 3) + 1 : 1;
    bool absent = (p->flags & GRAFT_PORT_OPTIONAL) && chance(r, 2);
    for (int64_t i = 0; i < copies; ++i) {
      bool first = s.inputs.empty();
      DType t = first || !chance(r, 4) ? type : chance(r, 2) ? DType::i64 : chance(r, 2) ? DType::i32 : DType::boolean;
      std::vector<int64_t> shape = first ? dims : related_shape(r, dims);
      s.inputs.push_back(absent ? Tensor() : random_tensor(r, t, shape, specials));
      s.constant.push_back(!first && !absent && chance(r, 2));
    }
  }
  while (!s.inputs.empty() && !s.inputs.back()) s.inputs.pop_back(), s.constant.pop_back();
  for (const graft_attr* a : op_.attrs()) {
    bool needed = a->flags & GRAFT_ATTR_REQUIRED;
    if (!needed && !chance(r, 3)) continue;
    Attribute value = random_attribute(r, *a, rank);
    if (value.kind() != GRAFT_NONE) s.attrs[std::string(view(a->name))] = std::move(value);
  }
  return s;
}

Sample Generator::mutate(Random& r) const {
  Sample s = seeds_[static_cast<size_t>(below(r, static_cast<int64_t>(seeds_.size())))];
  for (int64_t i = below(r, 3); i >= 0; --i) {
    switch (below(r, 6)) {
      case 0:
      case 1: {  // a dimension
        std::set<int64_t> have = dimensions_of(s);
        if (have.empty()) break;
        int64_t to = chance(r, 10) ? 1025 : random_dim(r);
        s = with_dimension(s, *std::next(have.begin(), below(r, static_cast<int64_t>(have.size()))), to, &r);
        break;
      }
      case 2: {  // an element type
        DType to = types[below(r, std::size(types) - 1)];
        std::optional<DType> from;
        for (Tensor& t : s.inputs) {
          if (!t || t.type() == DType::string) continue;
          if (!from) from = t.type();
          if (t.type() == *from) t = t.to(to);
        }
        break;
      }
      case 3: {  // an attribute
        if (op_.attrs().empty()) break;
        const graft_attr& a = *op_.attrs()[static_cast<size_t>(below(r, static_cast<int64_t>(op_.attrs().size())))];
        size_t rank = !s.inputs.empty() && s.inputs[0] ? s.inputs[0].dims().size() : 0;
        Attribute value = random_attribute(r, a, rank);
        if (value.kind() != GRAFT_NONE) s.attrs[std::string(view(a.name))] = std::move(value);
        break;
      }
      case 4: {  // which inputs are constant
        for (size_t k = 1; k < s.constant.size(); ++k)
          if (s.inputs[k] && chance(r, 2)) s.constant[k] = !s.constant[k];
        break;
      }
      default: {  // values
        bool specials = chance(r, 2);
        for (Tensor& t : s.inputs)
          if (t && is_real(t.type()) && chance(r, 2)) t = random_tensor(r, t.type(), t.dims(), specials);
      }
    }
  }
  return s;
}

std::vector<Sample> Generator::simpler(const Sample& s) const {
  std::vector<Sample> out;
  std::set<int64_t> have = dimensions_of(s);
  for (auto d = have.rbegin(); d != have.rend(); ++d)
    for (int64_t to : {int64_t{1}, int64_t{2}, int64_t{3}, *d / 2, *d - 1})
      if (to > 0 && to < *d) out.push_back(with_dimension(s, *d, to, nullptr));
  for (const graft_attr* a : op_.attrs()) {
    std::string name(view(a->name));
    const Attribute* value = s.attrs.find(name);
    if (!value || a->fallback.kind == GRAFT_NONE || *value == Attribute::from(a->fallback)) continue;
    out.push_back(s);
    out.back().attrs[name] = Attribute::from(a->fallback);
  }
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    if (!s.inputs[i] || !is_real(s.inputs[i].type())) continue;
    std::vector<double> v(static_cast<size_t>(s.inputs[i].size()));
    for (size_t k = 0; k < v.size(); ++k) v[k] = static_cast<double>(k % 7 + 1);
    Tensor plain = make_tensor<double>(s.inputs[i].dims(), v).to(s.inputs[i].type());
    if (same_content(plain, s.inputs[i])) continue;
    out.push_back(s);
    out.back().inputs[i] = plain;
  }
  return out;
}

}  // namespace graft::testing
