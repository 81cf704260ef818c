// Signal handling around files: a mapped file that is truncated by another process, and temporary files when the user
// interrupts. The library installs no handlers by itself; a program calls `guard_files` once.
#pragma once

#include <cstddef>
#include <string>

namespace graft {

// From now on in this process:
// - Reading a page of a mapped file that is no longer there gives zeros instead of SIGBUS, and the file counts as lost:
//   `check_files` then refuses.
// - SIGINT, SIGTERM and SIGHUP remove files that are not written to their end, and then do what they did before.
void guard_files();

// Refuses when a mapped file became shorter while it was being read. Called where results leave the library.
void check_files();

// Mapped files and unfinished ones announce themselves here. Tables are of fixed size, because a signal handler reads
// them: what does not fit is not guarded.
void guard_mapping(const void* begin, size_t size, const std::string& path);
void release_mapping(const void* begin);
int guard_temporary(const std::string& path);  // -1: not guarded
void release_temporary(int slot);

}  // namespace graft
