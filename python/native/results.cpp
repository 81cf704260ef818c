#include "results.hpp"

#include <graft/text.hpp>

#include "option_words.hpp"

namespace graft::python {
namespace {

py::object dim_object(const Dim& d) {
  if (d.known()) return py::int_(d.value());
  if (d.min() == 0 && d.max() == INT64_MAX) return py::none();
  return py::make_tuple(d.min(), d.max() == INT64_MAX ? py::object(py::none()) : py::object(py::int_(d.max())));
}

std::string quoted(const std::string& s) { return py::cast<std::string>(py::repr(str_object(s))); }

std::optional<std::string> keyword(const Remedy& r) {
  if (r.option.starts_with("Core::")) return "Core." + r.option.substr(6);
  if (r.place.empty() && r.value.empty()) return r.option;
  bool number = parse_number(r.value).has_value();
  std::string value = number ? r.value : quoted(r.value);
  if (r.place.empty()) return text(r.option, '=', value);
  if (r.value.empty()) return text(r.option, "=[", quoted(r.place), ']');
  return text(r.option, "={", quoted(r.place), ": ", value, '}');
}

}  // namespace

py::object shape_object(const Shape& s) {
  if (!s.ranked()) return py::none();
  py::tuple out(s.rank());
  for (size_t i = 0; i < s.rank(); ++i) out[i] = dim_object(s[i]);
  return out;
}

py::object record(const py::dict& fields) { return py::module_::import("graft.reports").attr("Record")(**fields); }

py::object value_object(const Info& i) {
  return record(py::dict(py::arg("dtype") = std::string(name_of(i.type)), py::arg("shape") = shape_object(i.shape),
                         py::arg("text") = text(i.type, i.shape)));
}
py::object value_object(const Port& p) {
  return py::dict(py::arg("name") = p.name, py::arg("names") = p.names, py::arg("any_name") = p.any_name(),
                  py::arg("dtype") = std::string(name_of(p.type)), py::arg("shape") = shape_object(p.shape),
                  py::arg("text") = text(p.type, p.shape));
}
py::object exception_object(const Error& e) {
  py::list remedies;
  for (const Remedy& r : e.remedies()) remedies.append(py::make_tuple(r.option, r.place, r.value));
  py::list context;
  for (const std::string& c : e.context()) context.append(printable(c));
  return py::module_::import("graft.errors")
      .attr("_from_native")(static_cast<int>(e.kind()), in_keywords(e.message()), in_keywords(e.hint()), context,
                            in_keywords(e.report()), static_cast<int>(e.code()), remedies);
}

// Lines that scaffold an operation are for a shell. Bytes that are not UTF-8 are printed as \xNN: `print` refuses the
// surrogates that stand for them in names.
std::string in_keywords(std::string_view given) {
  std::string out;
  for (size_t at = 0; at <= given.size();) {
    size_t end = std::min(given.find('\n', at), given.size());
    std::string_view line = given.substr(at, end - at);
    bool shell = false;
    for (const Remedy& r : remedies_in(line)) shell |= r.option == "scaffold";
    out += shell ? cli::in_options(line) : reworded(line, keyword);
    if (end < given.size()) out += '\n';
    at = end + 1;
  }
  return printable(out);
}

}  // namespace graft::python
