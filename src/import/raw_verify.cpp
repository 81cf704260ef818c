#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "import/calls.hpp"
#include "import/raw_edit.hpp"
#include "import/raw_passes.hpp"

namespace graft {
namespace {

constexpr size_t outside = SIZE_MAX;  // an input or a constant of the model

class Verifier {
 public:
  Verifier(const RawModel& m, const RawVerification& how) : m_(m), g_(m.graph), how_(how) {}

  void run(const std::vector<std::string>& names) {
    enter_values();
    for (size_t i = 0; i < g_.nodes.size(); ++i) {
      for (const std::string& in : uses(g_.nodes[i]))
        if (!makers_.count(in)) refuse(in, text("input '", in, "' of the layer ", title(g_.nodes[i])));
    }
    for (const RawValue& o : g_.outputs)
      if (!makers_.count(o.name)) refuse(o.name, text("output '", o.name, "' of the model"));
    check_cycles();
    check_names(names);
  }

 private:
  std::string title(const RawNode& n) const {
    return raw_title(n) +
           (how_.places && n.position ? text(" at ", m_.path, ", ", m_.position_unit, " ", n.position) : "");
  }

  // Of a value that nothing makes.
  [[noreturn]] void refuse(const std::string& value, const std::string& user) const {
    std::vector<std::string> known;
    for (const auto& [name, maker] : makers_) known.emplace_back(name);
    std::sort(known.begin(), known.end());
    auto close = nearest(value, known);
    throw Error(ErrorKind::user, text(user, " is not produced by any layer, nor an input or constant of the model"),
                close ? text("did you mean '", *close, "'?") : std::string(how_.hint));
  }

  void enter_values() {
    for (const auto& [name, t] : g_.constants)
      if (!makers_.emplace(name, outside).second) throw_user("duplicate constant name '", name, "'");
    // An initializer of ONNX may be listed as an input too.
    for (const RawValue& v : g_.inputs) makers_.emplace(v.name, outside);
    for (size_t i = 0; i < g_.nodes.size(); ++i)
      for (const std::string& o : g_.nodes[i].outputs) {
        if (o.empty()) continue;
        auto [at, fresh] = makers_.emplace(o, i);
        if (fresh) continue;
        throw_user("duplicate value name '", o, "': ",
                   at->second == outside ? "an input or a constant of the model"
                                         : text("an output of the layer ", title(g_.nodes[at->second])),
                   " and an output of the layer ", title(g_.nodes[i]));
      }
  }

  static std::set<std::string> uses(const RawNode& n) {
    std::set<std::string> out(n.inputs.begin(), n.inputs.end());
    out.erase("");
    for (const auto& [path, f] : n.fields)
      for (const auto& g : f.graphs) outer_reads(*g, out);
    return out;
  }

  void check_cycles() {
    enum : uint8_t { fresh, open, done };
    std::vector<uint8_t> state(g_.nodes.size(), fresh);
    struct Step {
      size_t node;
      std::vector<std::string> inputs;
      size_t next;
    };
    std::vector<Step> stack;
    auto enter = [&](size_t n) {
      state[n] = open;
      std::set<std::string> all = uses(g_.nodes[n]);
      stack.push_back({n, {all.begin(), all.end()}, 0});
    };
    for (size_t root = 0; root < g_.nodes.size(); ++root) {
      if (state[root] != fresh) continue;
      enter(root);
      while (!stack.empty()) {
        Step& s = stack.back();
        if (s.next == s.inputs.size()) {
          state[s.node] = done;
          stack.pop_back();
          continue;
        }
        const std::string& value = s.inputs[s.next++];
        size_t maker = makers_.at(value);
        if (maker == outside || state[maker] == done) continue;
        if (state[maker] == open)
          throw_user("the layers form a cycle through '", value, "', an input of the layer ", title(g_.nodes[s.node]));
        enter(maker);
      }
    }
  }

  void check_names(const std::vector<std::string>& names) const {
    std::unordered_map<std::string_view, size_t> count;
    for (const RawNode& n : g_.nodes) ++count[n.name];
    for (const std::string& name : names)
      if (count[name] > 1) throw_user("duplicate layer name '", name, "'");
  }

  const RawModel& m_;
  const RawGraph& g_;
  const RawVerification& how_;
  std::unordered_map<std::string_view, size_t> makers_;
};

}  // namespace

void verify_raw(const RawModel& model, const std::vector<std::string>& names, const RawVerification& how) {
  Verifier(model, how).run(names);
}

}  // namespace graft
