// Reads a TensorFlow checkpoint: an index (a sorted table of names) and shards of data.
#pragma once

#include <optional>

#include "readers/raw.hpp"

namespace graft {

class TensorBundle {
 public:
  // `prefix` below `folder`: "variables/variables" has "variables/variables.index" beside its shards.
  TensorBundle(std::string folder, std::string prefix, const Limits& limits = {});
  // From the bytes of an index alone; its shards are in `folder`.
  TensorBundle(std::string_view index, std::string folder, std::string prefix, const Limits& limits = {});

  bool has(const std::string& name) const { return entries_.count(name) != 0; }
  // A view of the shard's bytes; texts are copied.
  Tensor tensor(const std::string& name);
  // The bytes of a scalar string, valid for the lifetime of the bundle.
  std::string_view text_of(const std::string& name);
  std::vector<std::string> names() const;

 private:
  struct Entry {
    int64_t type = 0;
    Shape shape;
    int64_t shard = 0;
    uint64_t offset = 0, size = 0;
    bool sliced = false;
  };
  void read_index(std::string_view bytes);
  void add(const std::string& key, std::string_view value);
  Tensor texts(const Entry& e, std::vector<int64_t> dims);
  const Entry& entry(const std::string& name) const;
  std::shared_ptr<const MappedFile> shard(int64_t number);
  // The entry's bytes, checked to lie within the shard.
  std::string_view bytes_of(const Entry& e, std::shared_ptr<const MappedFile>& file);

  std::string folder_, prefix_;
  Limits limits_;
  int64_t shards_ = 1;
  std::map<std::string, Entry> entries_;
  std::map<int64_t, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace graft
