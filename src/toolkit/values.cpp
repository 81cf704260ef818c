// Values of the framework, and the tensors of ports that they are made of.
#include <cstring>
#include <graft/app/values.hpp>

#include "base/tensor.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/read.hpp"

namespace graft {
namespace {

const char* kind_name(Datum::Kind k) {
  constexpr const char* names[] = {"tensor", "sequence", "optional", "map"};
  return names[k];
}
const char* kind_name(Group::Kind k) {
  constexpr const char* names[] = {"tensor", "sequence", "sequence", "optional", "map"};
  return names[static_cast<size_t>(k)];
}

class Placing {
 public:
  explicit Placing(size_t ports) : out(ports) {}
  std::vector<Tensor> out;

  void place(const std::string& name, const Group& g, const Datum& given) {
    if (g.kind == Group::Kind::optional) return optional(name, g, given);
    const Datum& d = without_optional(given);
    if (g.kind == Group::Kind::tensor && d.kind == Datum::tensor) {
      out.at(g.port) = d.value;
      return;
    }
    bool fits = (g.kind == Group::Kind::sequence && d.kind == Datum::sequence) ||
                (g.kind == Group::Kind::map && d.kind == Datum::map);
    if (!fits) throw_user("expected a ", kind_name(g.kind), " for input '", name, "', got a ", kind_name(d.kind));
    if (g.parts.size() != d.parts.size())
      throw Error(ErrorKind::user,
                  text("expected ", g.parts.size(), " items for the sequence input '", name, "', got ", d.parts.size()),
                  "the length is fixed by the conversion: convert the model again with `items`");
    for (size_t i = 0; i < g.parts.size(); ++i) place(name, g.parts[i], d.parts[i]);
  }

 private:
  void optional(const std::string& name, const Group& g, const Datum& d) {
    bool holds = d.kind != Datum::optional || !d.parts.empty();
    if (holds != !g.parts.empty())
      throw_user("expected ", g.parts.empty() ? "no value" : "a value", " for the optional input '", name, "', got ",
                 holds ? "one" : "none");
    if (holds) place(name, g.parts[0], without_optional(d));
  }
};

// Slice `i` along the first axis; the memory is shared.
Tensor slice_of(const Tensor& t, int64_t i) {
  std::vector<int64_t> dims(t.dims().begin() + 1, t.dims().end());
  if (t.type() == DType::string) {
    std::vector<std::string> words;
    int64_t each = count_checked(dims);
    for (int64_t k = 0; k < each; ++k) words.emplace_back(t.text_at(i * each + k));
    return Tensor::strings(dims, std::move(words));
  }
  if (is_packed(t.type()))
    throw_unsupported("sequences of ", t.type(), " with a data-dependent length are not supported");
  Tensor out(t.type(), dims);
  if (out.bytes())
    std::memcpy(out.data(), static_cast<const char*>(t.data()) + static_cast<size_t>(i) * out.bytes(), out.bytes());
  return out;
}

// Appends the items of a run.
void append_run(const Group& item, const std::function<Tensor(size_t)>& port, std::vector<Datum>& out) {
  bool map = item.kind == Group::Kind::map;
  Tensor all = port(map ? item.parts.at(1).port : item.port);
  if (all.dims().empty()) throw_internal("a run of items is a scalar");
  for (int64_t i = 0; i < all.dims()[0]; ++i) {
    Tensor one = slice_of(all, i);
    if (map) out.push_back({Datum::map, {port(item.parts[0].port), one}});
    else out.push_back(one);
  }
}

}  // namespace

std::vector<Tensor> port_tensors(const std::vector<Group>& groups, const std::vector<Datum>& values, size_t ports) {
  return as_errors([&] {
    if (values.size() != groups.size()) throw_user("expected ", groups.size(), " input values, got ", values.size());
    Placing placing(ports);
    for (size_t i = 0; i < groups.size(); ++i) placing.place(groups[i].name, groups[i], values[i]);
    return std::move(placing.out);
  });
}

namespace {
Datum gather(const Group& g, const std::function<Tensor(size_t)>& port) {
  if (g.kind == Group::Kind::tensor) return port(g.port);
  Datum out(g.kind == Group::Kind::map        ? Datum::map
            : g.kind == Group::Kind::optional ? Datum::optional
                                              : Datum::sequence,
            {});
  for (const Group& part : g.parts) {
    if (part.kind == Group::Kind::run) append_run(part.parts.at(0), port, out.parts);
    else out.parts.push_back(gather(part, port));
  }
  return out;
}
}  // namespace

Datum gathered(const Group& g, const std::function<Tensor(size_t)>& port) {
  return as_errors([&] { return gather(g, port); });
}

}  // namespace graft
