#include "check/explore.hpp"

#include <map>
#include <set>

#include "base/text.hpp"
#include "check/generate.hpp"

namespace graft::testing {
namespace {

// What a refusal names: words that are element types, and small numbers.
struct Hints {
  std::vector<DType> types;
  std::vector<int64_t> numbers;
};

Hints hints_in(const std::string& refusal) {
  Hints out;
  std::string word;
  for (char c : refusal + " ") {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += c;
      continue;
    }
    for (DType t : sampled_types())
      if (word == text(t)) out.types.push_back(t);
    if (!word.empty() && word.size() < 4 && word.find_first_not_of("0123456789") == word.npos)
      out.numbers.push_back(std::stoll(word));
    word.clear();
  }
  return out;
}

// Without what was found, which differs from attempt to attempt.
std::string without_values(const std::string& refusal) {
  std::string out;
  for (char c : refusal.substr(0, refusal.find(", got ")))
    if (!std::isdigit(static_cast<unsigned char>(c))) out += c;
  return out;
}

class Explorer {
 public:
  Explorer(const Registry& registry, const OpDef& op, const KernelCheck& how, uint64_t seed)
      : op_(op), how_(how), generator_(registry, op, {}, seed), random_(seed) {}

  std::vector<Sample> run(const std::function<bool()>& go_on) {
    constexpr int plain = 48, attempts = 3000;
    constexpr size_t enough = 12;
    for (int i = 0; i < plain; ++i) {
      attempt(generator_.synthesize(random_, i));
      if (found_.size() * 4 > plain) return {};  // the schema alone is good enough
    }
    for (int i = 0; i < attempts && found_.size() < enough && !steps_.empty(); ++i) {
      if (i % 64 == 0 && !go_on()) break;
      // The last steps are the farthest ones.
      size_t back = static_cast<size_t>(below(random_, static_cast<int64_t>(std::min<size_t>(steps_.size(), 6))));
      const Step& from =
          steps_[chance(random_, 4) ? static_cast<size_t>(below(random_, static_cast<int64_t>(steps_.size())))
                                    : steps_.size() - 1 - back];
      Sample s = from.sample;
      Hints hints = hints_in(from.refusal);
      for (int64_t n = below(random_, 3); n >= 0; --n) change(s, hints);
      attempt(std::move(s));
    }
    return std::move(found_);
  }

 private:
  struct Step {
    Sample sample;
    std::string refusal;
  };

  void attempt(Sample s) {
    constexpr int64_t most = 2000;  // elements
    for (const Tensor& t : s.inputs)
      if (t && t.size() > most) return;
    std::string refusal;
    if (!generator_.valid(s)) refusal = generator_.refusal;
    else {
      Reference r = reference_of(how_, s);
      refusal = r.refusal;
      bool computed = false;
      for (const Tensor& t : r.outputs) computed |= t && t.size() > 0;
      // What gives no elements is no step.
      if (refusal.empty() && !computed) return;
    }
    if (refusal.empty()) return found_.push_back(std::move(s));
    if (seen_.insert(without_values(refusal)).second) steps_.push_back({std::move(s), refusal});
  }

  void change(Sample& s, const Hints& hints) {
    int64_t what = below(random_, 8);
    if (what == 0 && !op_.attrs().empty()) {
      const graft_attr& a = *op_.attrs()[static_cast<size_t>(below(random_, static_cast<int64_t>(op_.attrs().size())))];
      Attribute value = generator_.random_attribute(random_, a, rank_of(s));
      if (value.kind() != GRAFT_NONE) s.attrs[std::string(view(a.name))] = std::move(value);
      return;
    }
    if (s.inputs.empty()) return;
    auto i = static_cast<size_t>(below(random_, static_cast<int64_t>(s.inputs.size())));
    Tensor& t = s.inputs[i];
    if (what == 1) {
      if (t && i > 0) s.constant[i] = !s.constant[i];
      return;
    }
    DType type = t ? t.type() : DType::f32;
    std::vector<int64_t> dims = t ? t.dims() : std::vector<int64_t>{3};
    if (what <= 4) type = new_type(hints);
    else dims = new_dims(s, dims, hints);
    t = random_tensor(random_, type, dims, false);
  }

  DType new_type(const Hints& hints) {
    if (!hints.types.empty() && !chance(random_, 4)) return pick(hints.types);
    return sampled_types()[static_cast<size_t>(below(random_, static_cast<int64_t>(sampled_types().size())))];
  }
  // Dimensions of other inputs, numbers of the refusal, or small ones.
  std::vector<int64_t> new_dims(const Sample& s, std::vector<int64_t> dims, const Hints& hints) {
    std::vector<int64_t> known;
    for (const Tensor& t : s.inputs)
      if (t) known.insert(known.end(), t.dims().begin(), t.dims().end());
    auto one = [&]() -> int64_t {
      if (!known.empty() && chance(random_, 2)) return pick(known);
      if (!hints.numbers.empty() && chance(random_, 2)) return std::min<int64_t>(pick(hints.numbers), 64);
      return below(random_, 6) + 1;
    };
    if (!dims.empty() && chance(random_, 2)) {
      dims[static_cast<size_t>(below(random_, static_cast<int64_t>(dims.size())))] = one();
      return dims;
    }
    int64_t rank =
        !hints.numbers.empty() && chance(random_, 2) ? std::min<int64_t>(pick(hints.numbers), 6) : below(random_, 5);
    dims.assign(static_cast<size_t>(rank), 1);
    for (int64_t& d : dims) d = one();
    return dims;
  }
  template <class T>
  T pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(below(random_, static_cast<int64_t>(from.size())))];
  }
  static size_t rank_of(const Sample& s) { return s.inputs.empty() || !s.inputs[0] ? 0 : s.inputs[0].dims().size(); }

  const OpDef& op_;
  const KernelCheck& how_;
  Generator generator_;
  Generator::Random random_;
  std::vector<Step> steps_;
  std::set<std::string> seen_;
  std::vector<Sample> found_;
};

}  // namespace

std::vector<Sample> explored_samples(const Registry& registry, const OpDef& op, const KernelCheck& how, uint64_t seed,
                                     const std::function<bool()>& go_on) {
  return Explorer(registry, op, how, seed).run(go_on);
}

}  // namespace graft::testing
