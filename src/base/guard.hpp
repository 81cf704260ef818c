// Signal handling around files: a mapped file that is truncated by another process, and temporary files when the user
// interrupts. Once a program has called guard_files (graft/app/files.hpp), reading a page of a mapped file that is no
// longer there gives zeros, and the file counts as lost.
#pragma once

#include <cstddef>
#include <graft/app/files.hpp>

namespace graft {

// While one exists, these signals wait: for renaming files that belong together.
class UninterruptedStep {
 public:
  UninterruptedStep();
  ~UninterruptedStep();
  UninterruptedStep(const UninterruptedStep&) = delete;
};

// Refuses when a mapped file became shorter while it was being read. Called where results leave the library.
void check_files();

// Mapped files and unfinished ones announce themselves here. Tables are of fixed size, because a signal handler reads
// them: what does not fit is not guarded.
void guard_mapping(const void* begin, size_t size, const std::string& path);
void release_mapping(const void* begin);
int guard_temporary(const std::string& path);  // -1: not guarded
void release_temporary(int slot);

}  // namespace graft
