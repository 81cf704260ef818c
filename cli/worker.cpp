#include "worker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <graft/text.hpp>

extern char** environ;

namespace graft::cli {
namespace {

std::string status_name(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = ::sigdescr_np(WTERMSIG(status));
    return name ? name : "unknown signal";
  }
  return text("exit status ", WEXITSTATUS(status));
}

// The environment, with 8 threads unless the user has chosen.
std::vector<std::string> worker_environment(const std::vector<std::string>& variables) {
  std::vector<std::string> out = variables;
  for (char** e = environ; *e; ++e) {
    std::string name(*e, std::string_view(*e).find('=') + 1);
    if (std::none_of(variables.begin(), variables.end(), [&](const std::string& v) { return v.starts_with(name); }))
      out.emplace_back(*e);
  }
  if (!::getenv("GRAFT_NUM_THREADS")) out.emplace_back("GRAFT_NUM_THREADS=8");
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& t : texts) out.push_back(t.data());
  out.push_back(nullptr);
  return out;
}

// That a process has used so far.
double processor_seconds(pid_t process) {
  clockid_t clock;
  timespec t;
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Tells a process that hangs, whether it waits forever or loops, from one that a busy machine has hardly let run.
class Patience {
 public:
  Patience(pid_t process, double seconds) : process_(process), seconds_(seconds) { renew(); }
  void renew() { used_ = processor_seconds(process_), periods_ = 0; }
  // After another `seconds` without a word.
  bool ended() {
    constexpr int most_periods = 10;
    double used = processor_seconds(process_) - used_;
    bool starved = used > 0.001 * seconds_ && used < 0.5 * seconds_;
    return !starved || ++periods_ >= most_periods;
  }

 private:
  pid_t process_;
  double seconds_, used_ = 0;
  int periods_ = 0;
};

}  // namespace

WorkerEnd run_worker(const std::vector<std::string>& arguments, double seconds,
                     const std::function<void(const std::string&)>& line, const std::vector<std::string>& variables) {
  std::vector<std::string> args{"graft"}, environment = worker_environment(variables);
  args.insert(args.end(), arguments.begin(), arguments.end());
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) throw Error(ErrorKind::io, text("cannot create a pipe: ", ::strerror(errno)));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  // The parent reports; warnings about definitions would otherwise repeat for each operation.
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  int failed =
      ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, pointers(args).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  if (failed) {
    ::close(pipe[0]);
    throw Error(ErrorKind::io, text("cannot start a process: ", ::strerror(failed)));
  }
  WorkerEnd end;
  Patience patience(child, seconds);
  std::string buffer;
  char block[1 << 16];
  for (;;) {
    pollfd p{pipe[0], POLLIN, 0};
    int ready = ::poll(&p, 1, static_cast<int>(seconds * 1000));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && !patience.ended()) continue;
    if (ready == 0) {
      end.how = WorkerEnd::timed_out;
      ::kill(child, SIGKILL);
      break;
    }
    ssize_t n = ::read(pipe[0], block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    patience.renew();
    buffer.append(block, static_cast<size_t>(n));
    size_t begin = 0;
    for (size_t nl; (nl = buffer.find('\n', begin)) != buffer.npos; begin = nl + 1)
      line(buffer.substr(begin, nl - begin));
    buffer.erase(0, begin);
  }
  ::close(pipe[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (end.how == WorkerEnd::finished && status != 0) end = {WorkerEnd::crashed, status_name(status)};
  return end;
}

}  // namespace graft::cli
