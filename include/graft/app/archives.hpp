// Kaldi archives and script files: utterances by name, each a vector or a matrix.
//
//   graft::ArchiveReader feats("scp:feats.scp");
//   graft::ArchiveWriter post("ark:post.ark");
//   while (feats.next()) post.write(feats.key(), score(feats.value()));
//   post.close();
//
// A table is named as for Kaldi's own programs: "ark:FILE", "scp:FILE", "ark,t:FILE"; "-" is the standard input or
// output. Matrices may be text, binary (float or double) or compressed. Commands ("gunzip -c x.gz |") are not run.
//
// Errors are thrown as graft::Error. A reader or writer is used by one thread at a time.
#pragma once

#include "limits.hpp"
#include "memory.hpp"

namespace graft {

// Whether a value of the command line names a table: "ark:..." or "scp:...", with options such as "ark,t:...".
GRAFT_API bool is_archive_name(std::string_view name);

class GRAFT_API ArchiveReader {
 public:
  explicit ArchiveReader(const std::string& table, const LimitChanges& limits = {});
  ~ArchiveReader();
  ArchiveReader(ArchiveReader&&) noexcept;

  // Advances to the next utterance; false at the end. Fails if the table itself is broken.
  bool next();
  const std::string& key() const;
  // The vector or matrix of this utterance, as f32. Fails if only this one cannot be read, for example because its file
  // is missing.
  Tensor value();

  // The value of any utterance; empty if there is none of this name. The first call reads the names of all utterances,
  // and of an archive also their values.
  Tensor find(const std::string& key);

 private:
  struct State;
  std::unique_ptr<State> s_;
};

class GRAFT_API ArchiveWriter {
 public:
  explicit ArchiveWriter(const std::string& table);
  ~ArchiveWriter();
  ArchiveWriter(ArchiveWriter&&) noexcept;

  void write(const std::string& key, const Tensor& value);
  // The file appears under its name only now; without the call, nothing is left of it.
  void close();

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace graft
