#include "inputs.hpp"

namespace graft::cli {

void InputOptions::add(CLI::App& app) {
  app.add_option(
         "--input,-i", given,
         "file with the value of an input (.npy .npz .pb .png .jpg .ppm .bmp .webp .tif .jp2); without NAME, the next "
         "input in order. "
         "NAME=ark:FILE and NAME=scp:FILE run the model for every utterance of a Kaldi archive. For a sequence, repeat "
         "the option for each item, or pass one .npz or .pb; none: an optional without a value")
      ->type_name("NAME=FILE")
      ->group("Inputs")
      ->allow_extra_args(false);
  app.add_option("--seed", seed, "seed of the random input values that are used if no --input is given")
      ->group("Inputs")
      ->capture_default_str();
}

namespace {

// Collects the input values given on the command line.
class Collected {
 public:
  Collected(const std::vector<Group>& groups, const std::vector<Port>& ports, const LimitChanges& limits)
      : groups_(groups), ports_(ports), limits_(limits), values_(groups.size()) {}

  void take(const std::string& argument) {
    auto [name, file] = split_argument(argument);
    if (extension_of(file) == ".npz" && name.empty()) {
      for (auto& [array, t] : read_tensors(file, limits_)) {
        size_t i = index_of(array);
        check_types(t, groups_[i], ports_, file);
        put(i, t);
      }
      return;
    }
    size_t i = name.empty() ? position_ : index_of(name);
    if (i >= groups_.size()) throw UsageError(text("expected at most ", groups_.size(), " inputs, got more"));
    position_ = i + 1;
    Notes notes;
    Datum value = read_value(file, groups_[i], ports_, &notes, limits_);
    note_all(notes);
    put(i, std::move(value));
  }

  // The values of those inputs that are needed.
  std::vector<Datum> done(const std::vector<Group>& needed) {
    std::vector<Datum> out;
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (std::none_of(needed.begin(), needed.end(), [&](const Group& g) { return g.name == groups_[i].name; })) {
        if (values_[i]) note(text("input '", groups_[i].name, "' has no effect on the requested outputs"));
        continue;
      }
      if (!values_[i])
        throw UsageError(text("no value for input '", groups_[i].name, "'"),
                         text("add --input ", quoted_for_shell(groups_[i].name),
                              "=FILE, or omit --input altogether to use random values"));
      out.push_back(std::move(*values_[i]));
    }
    return out;
  }

 private:
  // A name may contain '=': uses the longest prefix that names an input.
  std::pair<std::string, std::string> split_argument(const std::string& g) const {
    size_t equals = g.find('=');
    std::string name = equals == g.npos ? "" : g.substr(0, equals), file = equals == g.npos ? g : g.substr(equals + 1);
    auto longer = [&](const std::string& n) {
      if (n.size() > name.size() && g.starts_with(n + "=")) name = n, file = g.substr(n.size() + 1);
    };
    for (const Group& group : groups_) longer(group.name);
    for (const Port& p : ports_)
      for (const std::string& n : p.names) longer(n);
    return {name, file};
  }

  size_t index_of(const std::string& name) const {
    for (size_t i = 0; i < groups_.size(); ++i)
      if (groups_[i].name == name) return i;
    // Then tries the other names of a port.
    auto port = position_of(ports_, name);
    for (size_t i = 0; port && i < groups_.size(); ++i)
      if (groups_[i].kind == Group::Kind::tensor && groups_[i].port == *port) return i;
    std::vector<std::string> names;
    for (const Group& g : groups_) names.push_back(g.name);
    throw UsageError(text("the model has no input '", name, "'"),
                     names.empty() ? "the model has no inputs" : text("inputs: ", join(names, ", ")));
  }

  void put(size_t i, Datum d) {
    const Group& g = groups_[i];
    std::optional<Datum>& place = values_[i];
    // Several files with one tensor each are the items of a sequence, in order.
    bool item = d.kind == Datum::tensor && holds_sequence(g);
    if (item && place && place->kind == Datum::sequence) {
      place->parts.push_back(std::move(d));
      return;
    }
    if (place) throw UsageError(text("input '", g.name, "' has more than one value"));
    place = item ? Datum(Datum::sequence, {std::move(d)}) : std::move(d);
  }
  static bool holds_sequence(const Group& g) {
    return g.kind == Group::Kind::sequence ||
           (g.kind == Group::Kind::optional && !g.parts.empty() && g.parts[0].kind == Group::Kind::sequence);
  }

  const std::vector<Group>& groups_;
  const std::vector<Port>& ports_;
  const LimitChanges& limits_;
  std::vector<std::optional<Datum>> values_;
  size_t position_ = 0;
};

}  // namespace

std::vector<Datum> make_inputs(const InputOptions& o, const std::vector<Group>& groups, const std::vector<Port>& ports,
                               const std::vector<Group>& needed) {
  Collected collected(groups, ports, o.limits);
  for (const std::string& g : o.given) collected.take(g);
  return collected.done(needed);
}

std::vector<Datum> make_inputs(const InputOptions& o, const std::vector<Group>& groups,
                               const std::vector<Port>& ports) {
  if (o.given.empty()) {
    if (!ports.empty()) note(text("no inputs given: random values (--seed ", o.seed, ")"));
    Notes notes;
    std::vector<Tensor> random = random_tensors(ports, o.seed, &notes);
    note_all(notes);
    std::vector<Datum> out;
    for (const Group& g : groups) out.push_back(gathered(g, [&](size_t port) { return random.at(port); }));
    return out;
  }
  return make_inputs(o, groups, ports, groups);
}

}  // namespace graft::cli
