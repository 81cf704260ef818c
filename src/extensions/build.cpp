#include "extensions/build.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <graft/app/files.hpp>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

extern char** environ;

namespace graft {
namespace {

namespace fs = std::filesystem;

struct Ended {
  int status = 0;
  std::string output;  // stdout and stderr
};

Ended run_tool(const std::vector<std::string>& words) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) throw Error(ErrorKind::io, text("cannot create a pipe: ", ::strerror(errno)));
  std::vector<char*> arguments;
  for (const std::string& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDERR_FILENO);
  pid_t child = 0;
  int failed = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  Ended out;
  char block[1 << 14];
  for (ssize_t n; !failed && (n = ::read(pipe[0], block, sizeof block)) != 0;) {
    if (n < 0 && errno != EINTR) break;
    if (n > 0) out.output.append(block, static_cast<size_t>(n));
  }
  ::close(pipe[0]);
  if (failed)
    throw Error(ErrorKind::io, text("cannot run ", words[0], ": ", ::strerror(failed)),
                "building extensions requires CMake and a C++20 compiler");
  while (::waitpid(child, &out.status, 0) < 0 && errno == EINTR) {
  }
  return out;
}

void must_succeed(const std::string& what, const std::vector<std::string>& words, const ToolOutput& output) {
  Ended e = run_tool(words);
  if (e.status == 0) return;
  std::vector<std::string> shown;
  for (const std::string& w : words) shown.push_back(quoted_for_shell(w));
  if (output) output(e.output);
  throw Error(ErrorKind::user, output ? what : text(what, ":\n", trim(e.output)),
              text("the command was: ", join(shown, " ")));
}

// One build of a folder at a time.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FolderLock(const FolderLock&) = delete;

 private:
  int fd_;
};

nlohmann::json reply_file(const fs::path& path) { return nlohmann::json::parse(read_text_file(path.string())); }

// The shared libraries of a project, as CMake lists them:
// https://cmake.org/cmake/help/latest/manual/cmake-file-api.7.html
std::vector<std::string> libraries(const fs::path& build) {
  fs::path replies = build / ".cmake/api/v1/reply", index;
  for (const fs::directory_entry& e : fs::directory_iterator(replies))
    if (e.path().filename().string().starts_with("index-")) index = std::max(index, e.path());
  std::vector<std::string> out;
  nlohmann::json model =
      reply_file(replies / reply_file(index)["reply"]["codemodel-v2"]["jsonFile"].get<std::string>());
  for (const nlohmann::json& t : model["configurations"][0]["targets"]) {
    nlohmann::json target = reply_file(replies / t["jsonFile"].get<std::string>());
    std::string type = target["type"];
    if (type != "SHARED_LIBRARY" && type != "MODULE_LIBRARY") continue;
    for (const nlohmann::json& a : target["artifacts"])
      out.push_back((build / a["path"].get<std::string>()).lexically_normal().string());
  }
  return out;
}

// The folder of this library and those above it: of an installation, or of a build tree.
std::vector<fs::path> surroundings() {
  constexpr int levels = 3;
  std::vector<fs::path> out;
  Dl_info here{};
  std::error_code ec;
  if (!::dladdr(reinterpret_cast<void*>(&find_cmake_folder), &here) || !here.dli_fname) return out;
  fs::path folder = fs::canonical(here.dli_fname, ec).parent_path();
  for (int i = 0; i < levels && folder.has_relative_path(); ++i, folder = folder.parent_path()) out.push_back(folder);
  return out;
}

// The first of these folders beside the library that has the file.
std::string find_beside(std::initializer_list<const char*> folders, const char* file) {
  std::vector<fs::path> places = surroundings();
  std::error_code ec;
  for (const fs::path& place : places)
    for (const char* folder : folders)
      if (fs::exists(place / folder / file, ec)) return (place / folder).string();
  throw Error(ErrorKind::user, text(file, " not found near ", places.empty() ? "the library" : places[0].string()),
              "install the headers and CMake files of Graft beside its library");
}

}  // namespace

// `cmake` in a build tree, `lib/cmake/Graft` in an installation.
std::string find_cmake_folder() {
  return find_beside({"cmake", "cmake/Graft", "lib/cmake/Graft"}, "GraftConfig.cmake");
}

// A build tree has a link to the folder of the sources.
std::string find_include_folder() { return find_beside({"include"}, "graft/abi.h"); }

std::optional<std::string> project_in(const std::string& folder) {
  std::error_code ec;
  for (const char* inside : {"", "user_ie_extensions/cpu", "cpu"}) {
    fs::path project = *inside ? fs::path(folder) / inside : fs::path(folder);
    if (fs::is_regular_file(project / "CMakeLists.txt", ec)) return project.string();
  }
  return std::nullopt;
}

std::vector<std::string> build_project(const std::string& project, const ToolOutput& output) {
  StepTime time;
  fs::path build = fs::path(project) / "build";
  make_folder((build / ".cmake/api/v1/query").string());
  FolderLock lock(build.string());
  write_file((build / ".cmake/api/v1/query/codemodel-v2").string(), "");
  must_succeed(text("cannot configure '", project, "'"),
               {"cmake", "-S", project, "-B", build.string(), "-DGraft_DIR=" + find_cmake_folder()}, output);
  must_succeed(text("cannot build '", project, "'"), {"cmake", "--build", build.string()}, output);
  std::vector<std::string> out = libraries(build);
  if (out.empty())
    throw Error(ErrorKind::user, text("'", project, "' builds no shared library"),
                "add one with add_library(NAME MODULE SOURCE...)");
  log_info("built the extension '", project, "'", time.text());
  return out;
}

}  // namespace graft
