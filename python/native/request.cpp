#include "request.hpp"

#include <pybind11/stl.h>

#include <deque>
#include <graft/text.hpp>
#include <optional>

#include "results.hpp"

namespace graft::python {

Request::Request(InferRequest request, const CompiledModel& compiled)
    : request_(std::move(request)),
      inputs_(compiled.inputs()),
      outputs_(compiled.outputs()),
      input_groups_(compiled.input_groups()),
      output_groups_(compiled.output_groups()),
      results_(outputs_.size()) {
  if (!is_structured(input_groups_)) input_groups_.clear();
  if (!is_structured(output_groups_)) output_groups_.clear();
  py::list names;
  if (output_groups_.empty())
    for (const Port& p : outputs_) names.append(p.any_name());
  for (const Group& g : output_groups_) names.append(g.name);
  names_ = py::tuple(names);
}

Request::~Request() {
  py::gil_scoped_release release;
  try {
    request_->wait();
  } catch (const Error& e) {
    log(LogLevel::debug, text("a request that was dropped failed: ", e.message()));
  }
}

namespace {
// The position of a port that is named by a string, a number, or an object with `any_name` (a Port).
size_t index_of(const std::vector<Port>& ports, py::handle key, std::string_view what) {
  if (py::isinstance<py::int_>(key)) {
    auto i = py::cast<int64_t>(key);
    if (i < 0 || i >= static_cast<int64_t>(ports.size()))
      throw Error(ErrorKind::user, text("the model has ", ports.size(), " ", what, "s, there is no ", what, " ", i));
    return static_cast<size_t>(i);
  }
  if (py::isinstance<py::str>(key)) return find_port(ports, py::cast<std::string>(key), what);
  if (py::hasattr(key, "any_name")) return find_port(ports, py::cast<std::string>(key.attr("any_name")), what);
  throw Error(ErrorKind::user, text("expected the name or the position of an ", what));
}
}  // namespace

void Request::set_input(size_t index, py::handle value) {
  if (index >= inputs_.size())
    throw Error(ErrorKind::user, text("the model has ", inputs_.size(), " inputs, there is no input ", index));
  Tensor t = tensor_from(value, inputs_[index].type, text("input '", inputs_[index].any_name(), "'"));
  try {
    py::gil_scoped_release release;
    request_->set_input_tensor(index, t);
  } catch (Error& e) {
    if (t.type() == inputs_[index].type || !e.hint().empty()) throw;
    DType needed = inputs_[index].type;
    throw Error(e.kind(), e.message(),
                numpy().descr[static_cast<int>(needed)]
                    ? text("convert it: x.astype('", printed(numpy().descr[static_cast<int>(needed)]), "')")
                    : text("convert it: graft.Tensor(x).to('", needed, "')"));
  }
}

void Request::set_output(size_t index, py::handle value) {
  if (index >= outputs_.size())
    throw Error(ErrorKind::user, text("the model has ", outputs_.size(), " outputs, there is no output ", index));
  bool array = numpy().is_array(value.ptr());
  if (!array && !py::isinstance<Tensor>(value) && !py::hasattr(value, "__dlpack__"))
    throw Error(ErrorKind::user,
                text("expected an array or a tensor for output '", outputs_[index].any_name(),
                     "', got an object of type ", printed(py::type::of(value).attr("__name__"))),
                "results are written into the object itself");
  if (array && !(fields(value.ptr())->flags & array_writeable))
    throw Error(ErrorKind::user,
                text("expected an array that can be written for output '", outputs_[index].any_name(),
                     "', got a read-only one"),
                "copy it: numpy.array(x) can be written");
  Tensor t = tensor_from(value, outputs_[index].type, text("output '", outputs_[index].any_name(), "'"));
  if (array && t.data() != fields(value.ptr())->data)
    throw Error(ErrorKind::user, text("expected a dense array for output '", outputs_[index].any_name(), "'"),
                "results are written into the array itself, so it cannot be copied");
  py::gil_scoped_release release;
  request_->set_output_tensor(index, t);
}

void Request::set(py::handle key, py::handle value) {
  if (py::isinstance<py::str>(key) && !position_of(inputs_, py::cast<std::string>(key)))
    return set_output(index_of(outputs_, key, "output"), value);
  set_input(index_of(inputs_, key, "input"), value);
}

Tensor Request::output(size_t index) {
  if (index >= outputs_.size())
    throw Error(ErrorKind::user, text("the model has ", outputs_.size(), " outputs, there is no output ", index));
  if (fresh_) take();
  if (results_[index]) return results_[index];
  py::gil_scoped_release release;
  return request_->get_output_tensor(index);
}

Tensor Request::get(py::handle key) {
  if (py::isinstance<py::str>(key) && position_of(outputs_, py::cast<std::string>(key)))
    return output(index_of(outputs_, key, "output"));
  return input(index_of(inputs_, key, "input"));
}

Tensor Request::input(size_t index) {
  py::gil_scoped_release release;
  return request_->get_input_tensor(index);
}

void Request::set_group(const Group& group, py::handle value) {
  if (group.kind == Group::Kind::tensor) return set_input(group.port, value);
  Datum datum = datum_from(value, &group, inputs_, text("input '", group.name, "'"));
  py::gil_scoped_release release;
  std::vector<Tensor> tensors = port_tensors({group}, {std::move(datum)}, inputs_.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i]) request_->set_input_tensor(i, tensors[i]);
}

void Request::set_structured(py::handle inputs) {
  if (py::isinstance<py::dict>(inputs)) {
    for (auto [key, value] : py::reinterpret_borrow<py::dict>(inputs)) {
      bool number = py::isinstance<py::int_>(key);
      auto name = number ? std::string() : py::cast<std::string>(py::str(key));
      auto i = number ? py::cast<size_t>(key) : size_t{0};
      while (!number && i < input_groups_.size() && input_groups_[i].name != name) ++i;
      if (i < input_groups_.size()) set_group(input_groups_[i], value);
      else set_input(index_of(inputs_, key, "input"), value);
    }
    return;
  }
  if (input_groups_.size() == 1) return set_group(input_groups_[0], inputs);
  if (!py::isinstance<py::list>(inputs) && !py::isinstance<py::tuple>(inputs))
    throw Error(ErrorKind::user, text("expected a dictionary or a list of ", input_groups_.size(), " inputs"));
  auto list = py::reinterpret_borrow<py::sequence>(inputs);
  if (list.size() > input_groups_.size())
    throw Error(ErrorKind::user, text("expected at most ", input_groups_.size(), " inputs, got ", list.size()));
  for (size_t i = 0; i < list.size(); ++i) set_group(input_groups_[i], py::object(list[i]));
}

namespace {
bool is_list(py::handle value) { return py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value); }

// How deep lists of numbers are nested: 0 for a number; none for anything else, such as an array.
std::optional<size_t> depth_of(py::handle value) {
  size_t depth = 0;
  py::object at = py::reinterpret_borrow<py::object>(value);
  for (; is_list(at); ++depth) {
    auto list = py::reinterpret_borrow<py::sequence>(at);
    if (list.size() == 0 || depth > 64) return std::nullopt;
    at = list[0];
  }
  if (!PyFloat_Check(at.ptr()) && !PyLong_Check(at.ptr())) return std::nullopt;
  return depth;
}

// A nested list that is the value of the model's only input, rather than a list of inputs.
bool is_value(py::handle list, const Port& input) {
  auto depth = depth_of(list);
  if (!depth) return false;
  if (input.shape.ranked()) return *depth == input.shape.rank();
  return py::len(list) != 1;
}
}  // namespace

void Request::set_inputs(py::handle inputs) {
  if (!input_groups_.empty() && !inputs.is_none()) return set_structured(inputs);
  if (inputs.is_none()) return;
  if (py::isinstance<py::dict>(inputs)) {
    for (auto [key, value] : py::reinterpret_borrow<py::dict>(inputs))
      set_input(index_of(inputs_, key, "input"), value);
    return;
  }
  if (is_list(inputs)) {
    if (inputs_.size() == 1 && is_value(inputs, inputs_[0])) return set_input(0, inputs);
    auto list = py::reinterpret_borrow<py::sequence>(inputs);
    if (list.size() > inputs_.size())
      throw Error(ErrorKind::user, text("expected at most ", inputs_.size(), " inputs, got ", list.size()),
                  "a list has one item per input; name an input to give its values: {name: [[...]]}");
    for (size_t i = 0; i < list.size(); ++i) set_input(i, py::object(list[i]));
    return;
  }
  if (inputs_.size() != 1)
    throw Error(ErrorKind::user, text("expected a dictionary or a list of ", inputs_.size(), " inputs"));
  set_input(0, inputs);
}

void Request::take() {
  std::vector<Tensor> taken(outputs_.size());
  {
    py::gil_scoped_release release;
    for (size_t i = 0; i < taken.size(); ++i) taken[i] = request_->take_output_tensor(i);
  }
  results_.swap(taken);
  fresh_ = false;
}

py::object Request::results() {
  if (fresh_) take();
  static const py::object* type =
      new py::object(py::module_::import("graft.results").attr("Results"));  // NOLINT: lives as long as the process
  py::tuple arrays(names_.size());
  for (size_t i = 0; i < names_.size(); ++i)
    arrays[i] = output_groups_.empty()
                    ? array_of(results_[i])
                    : object_of(gathered(output_groups_[i], [&](size_t port) { return results_.at(port); }));
  return (*type)(names_, arrays);
}

py::object Request::infer(py::handle inputs) {
  set_inputs(inputs);
  {
    py::gil_scoped_release release;
    request_->infer();
  }
  fresh_ = true;
  return results();
}

void Request::start_async(py::handle inputs) {
  set_inputs(inputs);
  {
    py::gil_scoped_release release;
    request_->start_async();
  }
  fresh_ = true;
}
void Request::wait() {
  // In pieces, so that an interrupt gets through.
  while (!wait_for(0.2))
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}
bool Request::wait_for(double seconds) {
  py::gil_scoped_release release;
  return request_->wait_for(std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000)));
}

void Request::set_callback(py::object callback) {
  if (!callback.is_none() && !PyCallable_Check(callback.ptr()))
    throw py::type_error(
        text("expected a function or None as the callback, got an object of type ", Py_TYPE(callback.ptr())->tp_name));
  std::function<void(std::exception_ptr)> call;
  if (!callback.is_none()) {
    std::shared_ptr<const void> kept = keeper(callback);
    call = [kept](std::exception_ptr error) {
      py::gil_scoped_acquire gil;
      py::handle function(static_cast<PyObject*>(const_cast<void*>(kept.get())));
      py::object reason = py::none();
      if (error) {
        try {
          std::rethrow_exception(error);
        } catch (const Error& e) {
          reason = exception_object(e);
        } catch (...) {
          reason = py::str("an exception of unknown type");
        }
      }
      try {
        function(reason);
      } catch (py::error_already_set& e) {
        // The waiting thread sees it as an error of the request; its traceback is the cause.
        std::string message = text("the callback failed: ", std::string(e.what()).substr(0, 2000));
        remember_cause(message, py::reinterpret_borrow<py::object>(e.value()));
        throw Error(ErrorKind::user, message);
      }
    };
  }
  py::gil_scoped_release release;
  request_->set_callback(std::move(call));
}

// ---- errors ----

namespace {

struct Cause {
  std::string message;
  PyObject* exception;
};
// Exceptions of Python operations on their way through the library, which knows them by their message alone.
std::deque<Cause>& causes() {
  static auto* list = new std::deque<Cause>;  // guarded by the GIL; never destroyed
  return *list;
}

py::object take_cause(const std::string& message) {
  auto& list = causes();
  for (auto it = list.rbegin(); it != list.rend(); ++it)
    if (it->message == message) {
      auto found = py::reinterpret_steal<py::object>(it->exception);
      list.erase(std::next(it).base());
      return found;
    }
  return {};
}

void raise(const Error& e) {
  py::object cause = take_cause(e.message());
  if (cause && !PyErr_GivenExceptionMatches(cause.ptr(), PyExc_Exception)) {  // KeyboardInterrupt, SystemExit
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(cause.ptr())), cause.ptr());
    return;
  }
  py::object error = exception_object(e);
  if (cause) PyException_SetCause(error.ptr(), cause.release().ptr());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

}  // namespace

void remember_cause(const std::string& message, py::object exception) {
  causes().push_back({message, exception.release().ptr()});
  constexpr size_t most = 64;  // that were never raised
  while (causes().size() > most) {
    Py_DECREF(causes().front().exception);
    causes().pop_front();
  }
}

void bind_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const Error& e) {
      raise(e);
    } catch (const Failure& f) {
      raise(Error(ErrorKind::user, f.message, f.hint));
    }
  });
}

}  // namespace graft::python
