// Requests of the module: inputs from Python objects, results as arrays.
#pragma once

#include <graft/toolkit.hpp>

#include "structures.hpp"

namespace graft::python {

// Handles that other threads may be busy with: the last reference is dropped without the GIL, because the destructor
// waits for threads that may need it.
template <class T>
class Released {
 public:
  explicit Released(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Released(Released&&) = default;
  ~Released() {
    if (!value_) return;
    if (!PyGILState_Check()) {
      value_.reset();
      return;
    }
    py::gil_scoped_release release;
    value_.reset();
  }
  T& operator*() const { return *value_; }
  T* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

class Request {
 public:
  Request(InferRequest request, const CompiledModel& compiled);
  // Waits for the end of a run: it may need the interpreter, which must not end before.
  ~Request();

  // A dictionary by name or position, a list by position, or the value of the only input.
  void set_inputs(py::handle inputs);
  py::object infer(py::handle inputs);
  void start_async(py::handle inputs);
  void wait();
  bool wait_for(double seconds);
  void set_callback(py::object callback);
  // The results of the last run, taken out of the request.
  py::object results();

  Tensor get(py::handle key);
  Tensor input(size_t index);
  Tensor output(size_t index);
  void set(py::handle key, py::handle value);
  void set_input(size_t index, py::handle value);
  void set_output(size_t index, py::handle value);
  InferRequest& raw() { return *request_; }

 private:
  Released<InferRequest> request_;
  std::vector<Port> inputs_, outputs_;
  std::vector<Group> input_groups_, output_groups_;  // empty if all of them are tensors
  py::tuple names_;
  std::vector<Tensor> results_;  // of the last run, once they were taken
  bool fresh_ = false;           // a run has finished, its results are still in the request

  void take();
  void set_structured(py::handle inputs);
  void set_group(const Group& group, py::handle value);
};

void bind_toolkit(py::module_& m);
// Errors of the toolkit as exceptions of Python; `cause` finds the exception of a Python operation by its message.
void bind_errors(py::module_& m);
void remember_cause(const std::string& message, py::object exception);

}  // namespace graft::python
