// The definitions of a library as the host keeps them: copies of its records, in the layout of this version of abi.h.
// A record may be shorter or longer than ours; fields that it does not have are zero in the copy.
#pragma once

#include <graft/abi_reader.h>

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace graft {

// Where definitions came from.
struct Source {
  enum Origin { built_ins, library, program };  // program: definitions of the application itself
  std::string name;
  std::string version;
  std::string path;  // of a library
  Origin origin = library;
  bool built_in() const { return origin == built_ins; }
  // For messages and lists: the path of a library, the name of what has none.
  const std::string& title() const { return path.empty() ? name : path; }
  // The same without folders.
  std::string_view short_title() const { return std::string_view(title()).substr(title().rfind('/') + 1); }
};

// A copy of a record that begins with its size; `least` is its size in the first release.
template <class Record>
Record copy_record(const Record* r, size_t least, std::string_view what) {
  if (!r) throw_user(what, " is null");
  if (r->size < least) throw_user("expected a record of at least ", least, " bytes for ", what, ", got ", r->size);
  Record copy{};
  std::memcpy(&copy, r, std::min<size_t>(r->size, sizeof copy));
  copy.size = sizeof copy;
  return copy;
}

struct Records {
  Source source;
  std::deque<graft_op> ops;
  std::deque<graft_kernel> kernels;
  std::deque<graft_rule> rules;
  std::deque<graft_pass> passes;
  std::deque<graft_raw_pass> raw_passes;
  std::deque<graft_source_kernel> source_kernels;
  std::deque<graft_reader> readers;

  // What the records above point to.
  std::deque<graft_attr> attrs;
  std::deque<graft_port> ports;
  std::deque<std::vector<const graft_attr*>> attr_lists;
  std::deque<std::vector<const graft_port*>> port_lists;
};

// Copies and checks the records of a library. Throws on malformed ones.
std::shared_ptr<const Records> read_records(const graft_extension& extension, Source::Origin origin,
                                            std::string path = {});

}  // namespace graft
