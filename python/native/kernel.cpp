// The kernel that calls Python. The path of a call makes no objects that the previous call has made already: arrays are
// kept per call record and get new pointers, the function is called without a tuple of arguments.
#include <atomic>
#include <cstring>
#include <deque>
#include <graft/objects.hpp>
#include <graft/text.hpp>

#include "definition.hpp"

namespace graft::python {
namespace {

// The state of a thread that Python did not start, such as a stream: made once, because that takes longer than a call.
struct ThreadState {
  bool made = false;
  ~ThreadState() {
    if (!made || !Py_IsInitialized()) return;
    PyGILState_Ensure();
    PyGILState_Release(PyGILState_LOCKED);    // of this function
    PyGILState_Release(PyGILState_UNLOCKED);  // of the one below: deletes the state and unlocks
  }
  static void require() {
    if (PyGILState_GetThisThreadState()) [[likely]]
      return;
    static thread_local ThreadState own;
    PyGILState_Ensure();
    own.made = true;
    PyEval_SaveThread();
  }
};

class Gil {
 public:
  Gil() {
    ThreadState::require();
    state_ = PyGILState_Ensure();
  }
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;

 private:
  PyGILState_STATE state_;
};

// Half types are computed in f32 and rounded once, when the result is stored: NumPy would round after each step.
DType passed_type(DType type) { return type == DType::f16 ? DType::f32 : numpy_type(type); }

// An input as the function gets it, kept between calls.
struct Kept {
  PyObject* array = nullptr;
  const void* data = nullptr;
  graft_type type = 0;
  std::vector<int64_t> dims;
  bool is_view = false;  // refers to the tensor's memory

  bool fits(const graft_tensor& t) const {
    return array && type == t.type && static_cast<size_t>(t.rank) == dims.size() &&
           std::memcmp(t.dims, dims.data(), dims.size() * sizeof(int64_t)) == 0;
  }
};

// What is kept for one call record: one per request.
struct CallCache {
  const graft_call* call = nullptr;
  std::vector<Kept> inputs;
  PyObject* list = nullptr;  // of the inputs, for layers in the style of OpenCV
  // The memory behind the inputs is used again after the call. The first call gets copies, to see whether the function
  // keeps its arguments: if so, it always gets copies.
  bool first = true, copies = true;
  bool busy = false;
};

// The function of an instance, kept in a request.
struct Instance {
  PyObject* function = nullptr;
  uint64_t plan = 0;
  Instance(PyObject* f, uint64_t p) : function(f), plan(p) {}
  Instance(const Instance&) = delete;
  ~Instance() {
    if (!Py_IsInitialized()) return;  // the interpreter is gone, and its objects with it
    Gil gil;
    Py_XDECREF(function);
  }
};

struct State {
  const Record* record = nullptr;
  std::string type;
  PyObject* maker = nullptr;      // makes the function of a request; null: there is one for all
  PyObject* function = nullptr;   // with a maker: for calls without a request
  uint64_t plan = 0;              // not 0: instances are for the shapes of this plan
  PyObject* keywords = nullptr;   // names of the attributes that are passed
  std::vector<PyObject*> values;  // of these attributes
  bool as_list = false;           // the inputs are one argument
  size_t passed = SIZE_MAX;       // inputs that are passed; the others are blobs
  std::deque<CallCache> caches;   // stay where they are: meanwhile, other requests may add theirs
};

// Gives an array that the function has kept, against what its first call has shown, memory of its own.
void detach(PyObject* array, size_t bytes) {
  PyObject* copy = PyBytes_FromStringAndSize(fields(array)->data, static_cast<Py_ssize_t>(bytes));
  if (!copy) throw py::error_already_set();
  fields(array)->data = PyBytes_AS_STRING(copy);
  Py_XSETREF(fields(array)->base, copy);
}

size_t bytes_of(const Kept& k) {
  auto bytes = static_cast<size_t>(bits_of(static_cast<DType>(k.type))) / 8;
  for (int64_t d : k.dims) bytes *= static_cast<size_t>(d);
  return bytes;
}

py::object read_only(py::object array) {
  fields(array.ptr())->flags &= ~array_writeable;  // other operations may use the same input
  return array;
}

void refresh(Kept& k, const graft_tensor* t, bool copy) {
  if (!t) {
    if (k.array != Py_None) Py_XDECREF(k.array), Py_INCREF(Py_None), k.array = Py_None, k.is_view = false;
    return;
  }
  if (k.is_view && k.fits(*t)) [[likely]] {
    if (k.data != t->data) fields(k.array)->data = static_cast<char*>(t->data);
    k.data = t->data;
    return;
  }
  Py_CLEAR(k.array);
  auto type = static_cast<DType>(t->type);
  k.type = t->type, k.data = t->data;
  k.dims.assign(t->dims, t->dims + t->rank);
  DType passed = passed_type(type);
  k.is_view = !copy && type != DType::string && passed == type;
  Tensor whole = Tensor::wrap(type, k.dims, t->data);
  py::object array = k.is_view               ? array_of(type, t->dims, k.dims.size(), t->data, {})
                     : type == DType::string ? text_array(*t)
                                             : array_of(type == passed ? whole.clone() : whole.to(passed));
  k.array = read_only(std::move(array)).release().ptr();
}

// What is kept for a call record, while it is in use by this call alone.
class InUse {
 public:
  InUse(State& s, const graft_call* call) : cache_(find(s, call)) { cache_.busy = true; }
  ~InUse() { cache_.busy = false; }
  InUse(const InUse&) = delete;
  CallCache& operator*() const { return cache_; }

 private:
  static CallCache& find(State& s, const graft_call* call) {
    for (CallCache& c : s.caches)
      if (c.call == call && !c.busy) return c;
    constexpr size_t many = 32;  // requests: from here on, those that do not run give up their arrays
    CallCache* free = nullptr;
    if (s.caches.size() >= many)
      for (CallCache& c : s.caches)
        if (!c.busy) free = &c;
    if (!free) free = &s.caches.emplace_back();
    free->call = call;
    return *free;
  }
  CallCache& cache_;
};

// ---- results ----

[[noreturn]] void wrong_type(const State& s, size_t i, DType expected, py::handle array) {
  throw Failure{GRAFT_USER,
                text(s.type, " returned elements of type ", printed(array.attr("dtype")), " for output ", i,
                     ", expected ", expected),
                text("the shape function gives the element type; convert the result with .astype('",
                     printed(numpy().descr[static_cast<int>(passed_type(expected))]), "')")};
}
[[noreturn]] void wrong_shape(const State& s, size_t i, const graft_tensor& t, py::handle array) {
  std::vector<int64_t> expected(t.dims, t.dims + t.rank);
  ArrayFields* f = fields(array.ptr());
  std::vector<int64_t> got(f->dimensions, f->dimensions + f->nd);
  throw Failure{GRAFT_USER, text(s.type, " returned shape ", got, " for output ", i, ", expected ", expected),
                "the shape function and the function that computes must agree"};
}

void store_texts(const graft_call* c, graft_tensor* t, py::handle array) {
  int64_t i = 0;
  for (py::handle v : array.attr("ravel")().attr("tolist")()) {
    auto s = printed(v);
    check(host->store_text(c->runner, t, i++, str(s)));
  }
}

// A result as it is, or a number or list that has no type of its own.
py::object as_array(py::handle result, DType type) {
  if (numpy().is_array(result.ptr())) return py::reinterpret_borrow<py::object>(result);
  py::handle make(numpy().as_array);
  if (type == DType::string || py::hasattr(result, "dtype")) return make(result);
  return make(result, py::handle(numpy().descr[static_cast<int>(passed_type(type))]));
}

void store(const State& s, const graft_call* c, size_t i, py::handle result) {
  graft_tensor* t = c->outputs[i];
  auto type = static_cast<DType>(t->type);
  ArrayFields* f = fields(result.ptr());
  // The usual case: an array of exactly this type and shape.
  if (t->data && Py_TYPE(result.ptr()) == reinterpret_cast<PyTypeObject*>(numpy().array_type) &&
      f->descr == numpy().descr[t->type] && (f->flags & array_c_contiguous) && f->nd == t->rank &&
      (t->rank == 0 || std::memcmp(f->dimensions, t->dims, static_cast<size_t>(t->rank) * sizeof(int64_t)) == 0))
      [[likely]] {
    size_t bytes = static_cast<size_t>(bits_of(type)) / 8;
    for (int k = 0; k < t->rank; ++k) bytes *= static_cast<size_t>(t->dims[k]);
    if (f->data != t->data) std::memmove(t->data, f->data, bytes);
    return;
  }
  py::object array = as_array(result, type);
  DType got = type_of_descr(fields(array.ptr())->descr);
  if (type == DType::undefined) fail("the element type of output ", i, " of ", s.type, " is unknown");
  if (got != passed_type(type) && got != type) wrong_type(s, i, type, array);
  f = fields(array.ptr());
  std::vector<int64_t> dims(f->dimensions, f->dimensions + f->nd);
  if (!t->data) {
    check(host->allocate(c->runner, i, f->nd, dims.data()));
    t = c->outputs[i];
  }
  if (dims != std::vector<int64_t>(t->dims, t->dims + t->rank)) wrong_shape(s, i, *t, array);
  if (type == DType::string) return store_texts(c, t, array);
  if (!(f->flags & array_c_contiguous)) array = py::handle(numpy().c_contiguous)(array), f = fields(array.ptr());
  graft_tensor from{sizeof(graft_tensor), static_cast<graft_type>(got), f->nd, 0, dims.data(), nullptr, f->data};
  check(host->convert(&from, t));
}

void store_all(const State& s, const graft_call* c, py::handle result) {
  if (c->output_count == 1 && !PyList_CheckExact(result.ptr()) && !PyTuple_CheckExact(result.ptr()) && !s.as_list)
    return store(s, c, 0, result);
  bool sequence = PyList_Check(result.ptr()) || PyTuple_Check(result.ptr());
  if (!sequence) {
    if (s.as_list)
      fail("forward of ", s.type, " returned an object of type ", Py_TYPE(result.ptr())->tp_name,
           ", expected a list of arrays");
    fail(s.type, " returned an object of type ", Py_TYPE(result.ptr())->tp_name, ", expected a tuple of ",
         c->output_count, " arrays");
  }
  auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(result.ptr()));
  if (count != c->output_count) {
    // A plain list of numbers for the only output.
    if (c->output_count == 1 && !s.as_list &&
        (count == 0 || !numpy().is_array(PySequence_Fast_GET_ITEM(result.ptr(), 0))))
      return store(s, c, 0, result);
    fail(s.type, " returned ", count, " outputs, expected ", c->output_count);
  }
  for (size_t i = 0; i < count; ++i)
    if (c->used[i] || c->outputs[i]->data)
      store(s, c, i, PySequence_Fast_GET_ITEM(result.ptr(), static_cast<Py_ssize_t>(i)));
}

PyObject* make_function(const State& s) {
  PyObject* f = PyObject_CallNoArgs(s.maker);
  if (!f) throw py::error_already_set();
  return f;
}

// A reference of its own: the function itself may drop the instance.
py::object function_of(State& s, const graft_call* c) {
  if (!s.maker) return py::reinterpret_borrow<py::object>(s.function);
  std::shared_ptr<void>* kept = request_object(c->runner, "python");
  if (!kept) {
    if (!s.function) s.function = make_function(s);
    return py::reinterpret_borrow<py::object>(s.function);
  }
  auto* instance = static_cast<Instance*>(kept->get());
  if (!instance || instance->plan != s.plan) {
    auto made = std::make_shared<Instance>(make_function(s), s.plan);
    instance = made.get();
    *kept = std::move(made);
  }
  return py::reinterpret_borrow<py::object>(instance->function);
}

PyObject* call_function(State& s, PyObject* function, CallCache& k, size_t count) {
  if (s.as_list) {
    if (k.list && (Py_REFCNT(k.list) != 1 || PyList_GET_SIZE(k.list) != static_cast<Py_ssize_t>(count)))
      Py_CLEAR(k.list);
    if (!k.list) {
      k.list = PyList_New(static_cast<Py_ssize_t>(count));
      for (size_t i = 0; i < count; ++i) PyList_SET_ITEM(k.list, static_cast<Py_ssize_t>(i), nullptr);
    }
    for (size_t i = 0; i < count; ++i) {
      PyObject* old = PyList_GET_ITEM(k.list, static_cast<Py_ssize_t>(i));
      if (old == k.inputs[i].array) continue;
      Py_INCREF(k.inputs[i].array);
      PyList_SET_ITEM(k.list, static_cast<Py_ssize_t>(i), k.inputs[i].array);
      Py_XDECREF(old);
    }
    PyObject* args[2] = {nullptr, k.list};
    return PyObject_Vectorcall(function, args + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  }
  constexpr size_t few = 16;
  PyObject* stack[few];
  std::vector<PyObject*> heap;
  size_t all = 1 + count + s.values.size();
  PyObject** args = stack;
  if (all > few) heap.resize(all), args = heap.data();
  args[0] = nullptr;
  for (size_t i = 0; i < count; ++i) args[1 + i] = k.inputs[i].array;
  for (size_t i = 0; i < s.values.size(); ++i) args[1 + count + i] = s.values[i];
  return PyObject_Vectorcall(function, args + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, s.keywords);
}

// Gives up arrays that are still referred to elsewhere, and decides how the next call gets its inputs.
void let_go(State& s, CallCache& k, size_t count) {
  bool listed = s.as_list && k.list && Py_REFCNT(k.list) == 1, kept = k.list && !listed;
  for (size_t i = 0; i < count; ++i) {
    Kept& in = k.inputs[i];
    if (!in.array || in.array == Py_None) continue;
    bool held = Py_REFCNT(in.array) > (listed ? 2 : 1);
    if (held && in.is_view) detach(in.array, bytes_of(in));
    kept = kept || held;
  }
  if (kept || k.copies) {
    Py_CLEAR(k.list);
    for (Kept& in : k.inputs) Py_CLEAR(in.array);
  }
  k.copies = kept || (k.copies && !k.first);
  k.first = false;
}

void run(const graft_call* c) {
  State& s = *static_cast<State*>(c->state);
  size_t count = std::min<size_t>(c->input_count, s.passed);
  InUse in_use(s, c);
  CallCache& k = *in_use;
  if (k.inputs.size() != count) [[unlikely]] {
    Py_CLEAR(k.list);
    for (Kept& old : k.inputs) Py_CLEAR(old.array);
    k.inputs.assign(count, {});
  }
  for (size_t i = 0; i < count; ++i) refresh(k.inputs[i], c->inputs[i], k.copies);
  py::object function = function_of(s, c);
  auto result = py::reinterpret_steal<py::object>(call_function(s, function.ptr(), k, count));
  if (!result) {
    py::error_already_set error;  // holds the frames, and with them the arrays
    let_go(s, k, count);
    throw error;
  }
  store_all(s, c, result);
  result = {};
  let_go(s, k, count);
}

}  // namespace

graft_status python_prepare(graft_node* node, void* user, void** state) {
  return guarded([&] {
    const Record& record = *static_cast<Record*>(user);
    Gil gil;
    auto s = std::make_unique<State>();
    s->record = &record;
    s->type = view(host->node_type(node));
    try {
      py::object made = py::handle(spec_of(record))
                            .attr("prepare")(node_attributes(node, record), node_inputs(node),
                                             str_object(view(host->node_name(node))));
      auto parts = py::cast<py::tuple>(made);
      py::object function = parts[0];
      s->as_list = py::cast<bool>(parts[2]);
      if (!py::object(parts[3]).is_none()) s->passed = py::cast<size_t>(parts[3]);
      auto keywords = py::cast<py::dict>(parts[1]);
      if (!keywords.empty()) {
        py::tuple names(keywords.size());
        size_t i = 0;
        for (auto [name, value] : keywords) {
          names[i++] = name;
          s->values.push_back(value.inc_ref().ptr());
        }
        s->keywords = names.release().ptr();
      }
      auto lives_with = py::cast<std::string>(parts[4]);
      static std::atomic<uint64_t> plans{0};
      if (lives_with == "plan") s->plan = ++plans;
      (lives_with == "process" ? s->function : s->maker) = function.release().ptr();
    } catch (py::error_already_set& e) {
      e.restore();
      fail_from_python(s->type);
    }
    *state = s.release();
  });
}

graft_status python_run(const graft_call* c) {
  return guarded([&] {
    Gil gil;
    try {
      run(c);
    } catch (py::error_already_set& e) {
      e.restore();
      fail_from_python(static_cast<State*>(c->state)->type);
    } catch (const Error& e) {
      throw Failure{static_cast<graft_status>(e.kind()), e.message(), e.hint()};
    }
  });
}

void python_release(void* state, void*) {
  auto* s = static_cast<State*>(state);
  if (!Py_IsInitialized()) return;  // the interpreter is gone, and its objects with it
  Gil gil;
  for (CallCache& k : s->caches) {
    Py_CLEAR(k.list);
    for (Kept& in : k.inputs) Py_CLEAR(in.array);
  }
  for (PyObject* v : s->values) Py_DECREF(v);
  Py_XDECREF(s->keywords);
  Py_XDECREF(s->function);
  Py_XDECREF(s->maker);
  delete s;
}

}  // namespace graft::python
