#include "build.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "command.hpp"

extern char** environ;

namespace graft::cli {
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

void must_succeed(const std::string& what, const std::vector<std::string>& words) {
  Ended e = run_tool(words);
  if (e.status == 0) return;
  std::vector<std::string> shown;
  for (const std::string& w : words) shown.push_back(quoted_for_shell(w));
  std::fflush(stdout);
  std::fprintf(stderr, "%s", e.output.c_str());
  throw Error(ErrorKind::user, what, text("the command was: ", join(shown, " ")));
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

}  // namespace

namespace {

// Two folders above the program: the prefix of an installation, or a build tree.
fs::path home() {
  std::error_code ec;
  return fs::read_symlink("/proc/self/exe", ec).parent_path().parent_path();
}

}  // namespace

// Next to the program in a build tree, under lib/cmake in an installation.
std::string cmake_folder() {
  std::error_code ec;
  for (const char* place : {"cmake", "lib/cmake/Graft", "lib/x86_64-linux-gnu/cmake/Graft"})
    if (fs::exists(home() / place / "GraftConfig.cmake", ec)) return (home() / place).string();
  throw Error(ErrorKind::user, text("GraftConfig.cmake not found in ", home().string()));
}

// A build tree has a link to the folder of the sources.
std::string include_folder() {
  std::error_code ec;
  if (!fs::exists(home() / "include/graft/abi.h", ec))
    throw Error(ErrorKind::user, text("include/graft not found in ", home().string()));
  return (home() / "include").string();
}

std::optional<std::string> extension_project(const std::string& folder) {
  std::error_code ec;
  for (const char* inside : {"", "user_ie_extensions/cpu", "cpu"}) {
    fs::path project = *inside ? fs::path(folder) / inside : fs::path(folder);
    if (fs::is_regular_file(project / "CMakeLists.txt", ec)) return project.string();
  }
  return std::nullopt;
}

std::vector<std::string> build_extension(const std::string& project) {
  fs::path build = fs::path(project) / "build";
  make_folder((build / ".cmake/api/v1/query").string());
  FolderLock lock(build.string());
  write_file((build / ".cmake/api/v1/query/codemodel-v2").string(), "");
  must_succeed(text("cannot configure '", project, "'"),
               {"cmake", "-S", project, "-B", build.string(), "-DGraft_DIR=" + cmake_folder()});
  must_succeed(text("cannot build '", project, "'"), {"cmake", "--build", build.string()});
  std::vector<std::string> out = libraries(build);
  if (out.empty())
    throw Error(ErrorKind::user, text("'", project, "' builds no shared library"),
                "add one with add_library(NAME MODULE SOURCE...)");
  return out;
}

void add_build(CLI::App& app) {
  auto folder = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("build", "build an extension from its sources");
  c->add_option("folder", *folder, "directory of a CMake project, such as graft new and graft extgen generate")
      ->type_name("DIR")
      ->required();
  c->add_flag("--json", *json, "print JSON");
  c->callback([=] {
    if (!fs::is_directory(*folder)) throw UsageError(text("expected a directory, got '", *folder, "'"));
    auto project = extension_project(*folder);
    if (!project)
      throw UsageError(text("'", *folder, "' has no CMakeLists.txt"), "graft new generates an extension skeleton");
    std::vector<std::string> built = build_extension(*project);
    if (*json) return print_json({{"libraries", built}});
    for (const std::string& library : built) std::printf("%s\n", library.c_str());
  });
}

}  // namespace graft::cli
