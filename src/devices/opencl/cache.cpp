// Compiled programs, by content: in memory for this process, on the disk for the next one.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "devices/opencl/machine.hpp"

namespace graft {
namespace {

constexpr std::string_view magic = "graft-opencl-1\n";
constexpr size_t kept_programs = 512;
constexpr size_t longest_log = 4000;

// GRAFT_OPENCL_CACHE names the folder, or is "off".
std::string cache_folder() {
  auto variable = [](const char* name) {
    const char* v = std::getenv(name);
    return std::string(v ? v : "");
  };
  if (std::string own = variable("GRAFT_OPENCL_CACHE"); !own.empty()) return own == "off" ? "" : own;
  if (std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/graft/opencl";
  if (std::string home = variable("HOME"); !home.empty()) return home + "/.cache/graft/opencl";
  return "";
}

std::string checksum(std::string_view bytes) {
  ContentHash hash;
  hash.add(bytes);
  return hash.text();
}

// The file and line of a line of a whole source, by its #line directives; empty: none.
std::string place_of(std::string_view source, size_t line) {
  std::string_view file;
  size_t number = 0;
  for (size_t i = 1; i <= line && !source.empty(); ++i, ++number) {
    std::string_view now = source.substr(0, source.find('\n'));
    source.remove_prefix(std::min(source.size(), now.size() + 1));
    size_t open = now.find('"'), close = now.rfind('"');
    if (now.starts_with("#line 1 ") && close != now.npos && open < close)
      file = now.substr(open + 1, close - open - 1), number = 0;
  }
  return file.empty() ? "" : text(file, ":", number - 1);
}

// NVIDIA's compiler ignores #line and counts the lines of the whole source: <kernel>:43:12.
std::string with_places(std::string_view log, std::string_view source) {
  constexpr std::string_view mark = "<kernel>:";
  std::string out;
  for (size_t at; (at = log.find(mark)) != log.npos;) {
    size_t begin = at + mark.size(), end = std::min(log.find_first_not_of("0123456789", begin), log.size());
    auto line = parse_int(log.substr(begin, end - begin));
    std::string place = line && *line > 0 ? place_of(source, static_cast<size_t>(*line)) : "";
    out += log.substr(0, at);
    out += place.empty() ? log.substr(at, end - at) : std::string_view(place);
    log.remove_prefix(end);
  }
  return out.append(log);
}

std::string build_log_of(cl::Program program, cl::DeviceId device) {
  size_t size = 0;
  cl::api().get_build_info(program, device, cl::build_log, 0, nullptr, &size);
  std::string out(size, '\0');
  if (size) cl::api().get_build_info(program, device, cl::build_log, size, out.data(), nullptr);
  out = std::string(trim(std::string_view(out.c_str())));
  if (out.size() > longest_log) out = out.substr(0, longest_log) + "\n...";
  return out;
}

}  // namespace

std::string OpenclMachine::key(const std::string& source, const std::string& options) const {
  ContentHash hash;
  for (const std::string* part : {&name_, &driver_, &version_, &options, &source}) {
    hash.add(*part);
    hash.add(std::string_view("\0", 1));
  }
  return text(hash.text(), "-", source.size());
}

std::shared_ptr<const OpenclBinary> OpenclMachine::build(const std::string& source, const std::string& options) {
  std::string id = key(source, options);
  {
    std::lock_guard lock(mutex_);
    if (auto known = programs_[id].lock()) return known;
  }
  std::string folder = cache_folder(), path = folder.empty() ? "" : text(folder, "/", id, ".bin");
  cl::OwnedProgram program = path.empty() ? nullptr : from_disk(path);
  if (!program) {
    program = compile(source, options);
    if (!path.empty()) to_disk(path, program.get());
  }
  auto made = std::make_shared<const OpenclBinary>(std::move(program));
  std::lock_guard lock(mutex_);
  programs_[id] = made;
  if (recent_.size() >= kept_programs) recent_.clear();
  return recent_[id] = made;
}

cl::OwnedProgram OpenclMachine::compile(const std::string& source, const std::string& options) const {
  int32_t code = 0;
  const char* data = source.data();
  size_t size = source.size();
  cl::OwnedProgram program(cl::api().create_program(context_, 1, &data, &size, &code));
  cl::check(code, "creating a program");
  StepTime time;
  // Some compilers print the number of warnings on stderr, without their text.
  bool warnings = options.find("-W") != options.npos;
  std::string quiet = warnings ? options : options + " -w";
  code = cl::api().build_program(program.get(), 1, &device_, quiet.c_str(), nullptr, nullptr);
  if (code != cl::success) {
    std::string log = with_places(build_log_of(program.get(), device_), source);
    throw Error(ErrorKind::user,
                text("the OpenCL source does not compile: ", log.empty() ? cl::error_name(code) : log));
  }
  log_debug("compiled an OpenCL program of ", source.size(), " characters", time.text());
  return program;
}

cl::OwnedProgram OpenclMachine::from_disk(const std::string& path) const {
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) return nullptr;
  auto bad = [&](std::string_view why) {
    log_warning("the compiled OpenCL program '", path, "' is damaged (", why, "); it is compiled again");
    return cl::OwnedProgram(nullptr);
  };
  try {
    auto file = MappedFile::open(path);
    std::string_view all = file->chars();
    if (!all.starts_with(magic) || all.size() < magic.size() + 16) return bad("not a program");
    std::string_view sum = all.substr(magic.size(), 16), binary = all.substr(magic.size() + 16);
    if (checksum(binary) != sum) return bad("wrong checksum");
    size_t size = binary.size();
    const auto* data = reinterpret_cast<const unsigned char*>(binary.data());
    int32_t status = 0, code = 0;
    cl::OwnedProgram program(cl::api().create_program_binary(context_, 1, &device_, &size, &data, &status, &code));
    if (code != cl::success || status != cl::success) return bad(cl::error_name(code ? code : status));
    code = cl::api().build_program(program.get(), 1, &device_, "", nullptr, nullptr);
    if (code != cl::success) return bad(cl::error_name(code));
    return program;
  } catch (const Error& e) {
    return bad(e.message());
  }
}

void OpenclMachine::to_disk(const std::string& path, cl::Program program) const {
  size_t size = 0;
  if (cl::api().get_program_info(program, cl::program_binary_sizes, sizeof size, &size, nullptr) != cl::success ||
      !size)
    return;
  std::string binary(size, '\0');
  auto* data = reinterpret_cast<unsigned char*>(binary.data());
  if (cl::api().get_program_info(program, cl::program_binaries, sizeof data, &data, nullptr) != cl::success) return;
  try {
    std::filesystem::create_directories(folder_of(path));
    OutputFile out(path);
    out.write(magic);
    out.write(checksum(binary));
    out.write(binary);
    out.commit();
  } catch (const std::exception& e) {
    log_warning("cannot keep a compiled OpenCL program: ", e.what());
  }
}

}  // namespace graft
