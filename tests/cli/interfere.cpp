// Loaded with LD_PRELOAD: interferes with a system call of a program under test.
//
//   INTERFERE="rename 3 kill"   the third call of rename: SIGKILL before it; also "term", "int", "fail" (with EIO)
//   INTERFERE="reopen 1 spoil"  a temporary .xml that is opened for reading: one of its bytes changes before
//   INTERFERE="create 1 cut"    when a temporary file is created: INTERFERE_FILE is cut to one page
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

// Whether this call is to be interfered with, and how.
const char* interference(const char* call) {
  static int count = 0;
  static char name[32], action[32];
  int number = 0;
  const char* given = getenv("INTERFERE");
  if (!given || sscanf(given, "%31s %d %31s", name, &number, action) != 3 || strcmp(name, call) != 0) return "";
  return ++count == number ? action : "";
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

bool interfere(const char* call) {
  const char* action = interference(call);
  if (!strcmp(action, "kill")) raise(SIGKILL);
  if (!strcmp(action, "term")) raise(SIGTERM);
  if (!strcmp(action, "int")) raise(SIGINT);
  if (strcmp(action, "fail") != 0) return false;
  errno = EIO;
  return true;
}

void spoil(const char* path) {
  int fd = next<int (*)(const char*, int, ...)>("open")(path, O_RDWR);
  off_t middle = lseek(fd, 0, SEEK_END) / 2;
  if (pwrite(fd, "?", 1, middle) != 1) abort();
  close(fd);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int rename(const char* from, const char* to) noexcept {
  if (interfere("rename")) return -1;
  return next<int (*)(const char*, const char*)>("rename")(from, to);
}

extern "C" __attribute__((visibility("default"))) int fsync(int fd) {
  if (interfere("fsync")) return -1;
  return next<int (*)(int)>("fsync")(fd);
}

extern "C" __attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  if (strstr(path, ".xml.tmp") && !(flags & O_CREAT) && !strcmp(interference("reopen"), "spoil")) spoil(path);
  if (strstr(path, ".tmp") && flags & O_CREAT && !strcmp(interference("create"), "cut") &&
      truncate(getenv("INTERFERE_FILE"), 4096) != 0)
    abort();
  return next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}
