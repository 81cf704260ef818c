// libgraft_python.so: lets a program without Python load a Python file as an extension. The library opens it when the
// path of an extension ends in .py; it starts an interpreter, unless the process has one, and the package does the
// rest.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <graft/abi.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

namespace {

// The interpreter whose packages are used: that of an active virtual environment of the same version, or the one that
// this was built for. Python itself would take the first one in PATH, of whatever version.
std::string interpreter() {
  if (const char* folder = std::getenv("VIRTUAL_ENV")) {
    std::filesystem::path root(folder);
    std::string packages = "python" + std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);
    if (std::filesystem::exists(root / "lib" / packages)) return (root / "bin" / "python3").string();
  }
  return GRAFT_PYTHON_EXECUTABLE;
}

// What Python prints goes through the program's own streams, so that it keeps its place among the program's output, is
// flushed with it, and works where these streams are no files. The interpreter's own would need finalizing to be
// flushed.
PyObject* write_stream(PyObject*, PyObject* arguments) {
  int error = 0;
  const char* data = nullptr;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(arguments, "py#", &error, &data, &size)) return nullptr;
  const char* place = std::getenv("GRAFT_PYTHON_STDOUT");  // where standard output has data: "stderr"
  std::FILE* stream = error || (place && std::string_view(place) == "stderr") ? stderr : stdout;
  bool written = false;
  Py_BEGIN_ALLOW_THREADS;
  if (stream == stderr) std::fflush(stdout);
  written = std::fwrite(data, 1, static_cast<size_t>(size), stream) == static_cast<size_t>(size);
  if (stream == stderr) std::fflush(stderr);
  Py_END_ALLOW_THREADS;
  if (!written) return PyErr_SetFromErrno(PyExc_OSError);
  return PyLong_FromSsize_t(size);
}
PyMethodDef write_definition{"write_stream", write_stream, METH_VARARGS, nullptr};

constexpr const char* streams_source = R"(
import io, sys

class Stream(io.RawIOBase):
    def __init__(self, error):
        self.error = error
    def writable(self):
        return True
    def fileno(self):
        return 2 if self.error else 1
    def isatty(self):
        import os
        return os.isatty(self.fileno())
    def write(self, data):
        return write_stream(self.error, bytes(data))

for error, name in enumerate(("stdout", "stderr")):
    wrapper = io.TextIOWrapper(Stream(error), "utf-8", "backslashreplace", write_through=True)
    setattr(sys, name, wrapper)
    setattr(sys, "__" + name + "__", wrapper)
sys._graft_program = True  # graft.logging leaves the program's messages to the program
)";

void install_streams() {
  PyObject* names = PyDict_New();
  PyObject* function = PyCFunction_New(&write_definition, nullptr);
  PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins());
  PyDict_SetItemString(names, "write_stream", function);
  PyObject* done = PyRun_String(streams_source, Py_file_input, names, names);
  if (!done) PyErr_Clear();  // without them, Python prints nothing
  Py_XDECREF(done);
  Py_XDECREF(function);
  Py_XDECREF(names);
}

// Starts an interpreter and leaves it unlocked. False: it did not start.
bool start() {
  if (Py_IsInitialized()) return true;
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;  // they belong to the program
  config.parse_argv = 0;
  PyConfig_SetBytesString(&config, &config.program_name, interpreter().c_str());
  PyStatus status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) return false;
  install_streams();
  PyEval_SaveThread();
  return true;
}

// The package beside this library: in the build folder, or as it is installed.
void add_package_path() {
  Dl_info here{};
  if (!dladdr(reinterpret_cast<void*>(&add_package_path), &here) || !here.dli_fname) return;
  std::error_code ec;
  std::filesystem::path folder = std::filesystem::canonical(here.dli_fname, ec).parent_path();
  PyObject* paths = PySys_GetObject("path");
  for (const auto& place : {folder / "graft-python", folder.parent_path() / "python"}) {
    if (!std::filesystem::exists(place / "graft" / "__init__.py", ec)) continue;
    PyObject* text = PyUnicode_DecodeFSDefault(place.c_str());
    if (text && PySequence_Contains(paths, text) == 0) PyList_Append(paths, text);
    Py_XDECREF(text);
  }
}

// The current exception with its traceback; of the package's own that says what is missing, its text.
std::string exception_text() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  std::string out = "an exception that cannot be printed";
  if (value && PyObject_HasAttrString(value, "_graft_plain")) {
    PyObject* whole = PyObject_Str(value);
    if (const char* s = whole ? PyUnicode_AsUTF8(whole) : nullptr) out = s;
    PyErr_Clear();
    for (PyObject* o : {type, value, trace, whole}) Py_XDECREF(o);
    return out;
  }
  PyObject* module = PyImport_ImportModule("traceback");
  PyObject* lines = module ? PyObject_CallMethod(module, "format_exception", "OOO", type, value ? value : Py_None,
                                                 trace ? trace : Py_None)
                           : nullptr;
  PyObject* empty = PyUnicode_FromString("");
  PyObject* joined = lines && empty ? PyUnicode_Join(empty, lines) : nullptr;
  if (const char* s = joined ? PyUnicode_AsUTF8(joined) : nullptr) out = s;
  while (!out.empty() && out.back() == '\n') out.pop_back();
  PyErr_Clear();
  for (PyObject* o : {type, value, trace, module, lines, empty, joined}) Py_XDECREF(o);
  return out;
}

}  // namespace

// Null: failed, `message` says why.
extern "C" __attribute__((visibility("default"))) const graft_extension* graft_python_load(const char* path,
                                                                                           const graft_host* host,
                                                                                           char* message, size_t size) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (!start()) {
    std::snprintf(message, size, "the Python interpreter does not start");
    return nullptr;
  }
  PyGILState_STATE gil = PyGILState_Ensure();
  add_package_path();
  const graft_extension* out = nullptr;
  PyObject* bridge = PyImport_ImportModule("graft.bridge");
  PyObject* address = bridge ? PyObject_CallMethod(bridge, "load", "sK", path,
                                                   static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(host)))
                             : nullptr;
  if (address && PyUnicode_Check(address)) std::snprintf(message, size, "%s", PyUnicode_AsUTF8(address));
  else if (address) out = reinterpret_cast<const graft_extension*>(PyLong_AsUnsignedLongLong(address));
  else std::snprintf(message, size, "%s", exception_text().c_str());
  Py_XDECREF(address);
  Py_XDECREF(bridge);
  PyGILState_Release(gil);
  return out;
}
