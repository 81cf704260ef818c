#include "base/error.hpp"
#include "base/streams.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/state.hpp"

namespace graft {

namespace {

// Rejects a tensor that does not fit the port.
void check_fits(const Port& port, const Tensor& t, std::string_view what) {
  if (!t) throw_user("expected a tensor for ", what, " '", port.any_name(), "', got an empty one");
  if (port.type != DType::undefined && t.type() != port.type)
    throw_user("expected a tensor of ", port.type, " for ", what, " '", port.any_name(), "', got ", t.type());
  Shape given = Shape::of(t.dims());
  if (!port.takes(t.dims()))
    throw Error(ErrorKind::user, text("expected a tensor of shape ", port.shape, " for ", what, " '", port.any_name(),
                                      "', got ", given));
}

// A port of one side; when it does not exist, the message lists both sides.
size_t find_any_port(const CompiledModel::State& m, const std::string& name, const std::vector<Port>& side) {
  if (auto i = position_of(side, name)) return *i;
  std::vector<Port> all = m.inputs;
  all.insert(all.end(), m.outputs.begin(), m.outputs.end());
  return find_port(all, name, "input or output");
}

}  // namespace

thread_local const InferRequest::State* InferRequest::State::notified = nullptr;

void InferRequest::State::begin() {
  std::lock_guard lock(mutex);
  if (running) throw_user("the request is busy");
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i]) throw_user("input '", model->inputs[i].any_name(), "' has no tensor");
  running = true;
  cancel = false;
  error = nullptr;
}

void InferRequest::State::run() {
  std::vector<Tensor> results = outputs;
  execution->run(inputs, results, &cancel);
  for (size_t i = 0; i < results.size(); ++i)
    if (given[i] && results[i].data() != outputs[i].data())
      throw_user("output '", model->outputs[i].any_name(), "' has shape ", results[i].dims(),
                 ", but the tensor set for it has ", outputs[i].dims());
  outputs = std::move(results);
}

void InferRequest::State::end(std::exception_ptr e) {
  std::function<void(std::exception_ptr)> notify;
  std::exception_ptr told;
  {
    std::lock_guard lock(mutex);
    running = false;
    notify = callback;
    if (notify) told = e, ++notifying;
    error = std::move(e);  // the waiting thread is its only owner
  }
  if (notify) {
    const State* outer = std::exchange(notified, this);
    std::exception_ptr thrown;
    try {
      as_errors([&] { notify(std::move(told)); });
    } catch (...) {
      thrown = std::current_exception();
    }
    notified = outer;
    std::lock_guard lock(mutex);
    if (thrown && !error) error = thrown;  // what the callback throws, wait() throws
    --notifying;
  }
  done.notify_all();
}

namespace {
template <class S>
std::unique_lock<std::mutex> idle(S& s) {
  std::unique_lock lock(s.mutex);
  if (s.running) throw_user("the request is busy");
  return lock;
}
}  // namespace

namespace {

void require_position(size_t index, size_t count, const char* what) {
  if (index >= count) throw_user("the model has ", count, " ", what, "s, there is no ", what, " ", index);
}

}  // namespace

void InferRequest::set_input_tensor(size_t index, const Tensor& t) {
  as_errors([&] {
    auto lock = idle(*s_);
    require_position(index, s_->inputs.size(), "input");
    check_fits(s_->model->inputs[index], t, "input");
    s_->inputs[index] = t;
  });
}
void InferRequest::set_output_tensor(size_t index, const Tensor& t) {
  as_errors([&] {
    auto lock = idle(*s_);
    require_position(index, s_->outputs.size(), "output");
    check_fits(s_->model->outputs[index], t, "output");
    s_->outputs[index] = t;
    s_->given[index] = true;
  });
}
void InferRequest::set_tensor(const std::string& name, const Tensor& t) {
  as_errors([&] {
    if (auto i = position_of(s_->model->inputs, name)) return set_input_tensor(*i, t);
    set_output_tensor(find_any_port(*s_->model, name, s_->model->outputs), t);
  });
}
Tensor InferRequest::get_input_tensor(size_t index) const {
  return as_errors([&] {
    auto lock = idle(*s_);
    require_position(index, s_->inputs.size(), "input");
    return s_->inputs[index];
  });
}
Tensor InferRequest::get_output_tensor(size_t index) const {
  return as_errors([&] {
    auto lock = idle(*s_);
    require_position(index, s_->outputs.size(), "output");
    return s_->outputs[index];
  });
}
Tensor InferRequest::take_output_tensor(size_t index) {
  return as_errors([&] {
    auto lock = idle(*s_);
    require_position(index, s_->outputs.size(), "output");
    Tensor t = s_->outputs[index];
    if (!s_->given[index]) s_->outputs[index] = Tensor();
    return t;
  });
}
Tensor InferRequest::get_tensor(const std::string& name) const {
  return as_errors([&] {
    if (auto i = position_of(s_->model->outputs, name)) return get_output_tensor(*i);
    return get_input_tensor(find_any_port(*s_->model, name, s_->model->inputs));
  });
}

void InferRequest::infer() {
  s_->begin();
  auto finish = [&] {
    {
      std::lock_guard lock(s_->mutex);
      s_->running = false;
    }
    s_->done.notify_all();
  };
  try {
    as_errors([&] { s_->run(); });
  } catch (...) {
    finish();
    throw;
  }
  finish();
}

void InferRequest::start_async() {
  s_->begin();
  auto task = [s = s_] {
    std::exception_ptr e;
    try {
      as_errors([&] { s->run(); });
    } catch (...) {
      e = std::current_exception();
    }
    s->end(std::move(e));
  };
  try {
    as_errors([&] { s_->model->streams->post(task); });  // may be unable to start a thread
  } catch (...) {
    std::lock_guard lock(s_->mutex);
    s_->running = false;
    throw;
  }
}

void InferRequest::wait() {
  std::unique_lock lock(s_->mutex);
  s_->done.wait(lock, [&] { return s_->idle(); });
  if (std::exception_ptr e = std::exchange(s_->error, nullptr)) std::rethrow_exception(e);
}
bool InferRequest::wait_for(std::chrono::milliseconds time) {
  std::unique_lock lock(s_->mutex);
  if (!s_->done.wait_for(lock, time, [&] { return s_->idle(); })) return false;
  if (std::exception_ptr e = std::exchange(s_->error, nullptr)) std::rethrow_exception(e);
  return true;
}
void InferRequest::cancel() { s_->cancel = true; }
void InferRequest::set_callback(std::function<void(std::exception_ptr)> callback) {
  auto lock = idle(*s_);
  s_->callback = std::move(callback);
}

std::vector<ProfilingInfo> InferRequest::get_profiling_info() const {
  return as_errors([&] {
    auto lock = idle(*s_);
    if (!s_->model->options.profile)
      throw Error(ErrorKind::user, "no profile was recorded", "compile with Options::profile");
    std::vector<ProfilingInfo> out;
    for (const ProfileEntry& e : s_->execution->profile())
      out.push_back({e.node, e.type, e.kernel, e.microseconds, e.calls});
    return out;
  });
}
void InferRequest::reset_state() {
  auto lock = idle(*s_);
  s_->execution->reset_state();
}

}  // namespace graft
