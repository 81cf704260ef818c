#include "place.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "command.hpp"

namespace graft::cli::extgen {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const fs::path& path, const std::string& reason) {
  throw Error(ErrorKind::io, text("cannot write '", path.string(), "': ", reason), "choose another --output_dir");
}
std::string system_message() { return ::strerror(errno); }

bool holds(const fs::path& file, const std::string& content) {
  std::error_code ec;
  return fs::file_size(file, ec) == content.size() && !ec && read_text_file(file.string()) == content;
}

// Creates folders and removes the ones it created, unless all went well.
class NewFolders {
 public:
  ~NewFolders() {
    std::error_code ec;
    if (!done_)
      for (auto it = made_.rbegin(); it != made_.rend(); ++it) fs::remove(*it, ec);
  }
  void make(const fs::path& folder) {
    if (folder.empty() || fs::exists(fs::symlink_status(folder))) return;
    make(folder.parent_path());
    std::error_code ec;
    if (fs::create_directory(folder, ec)) made_.push_back(folder);
    if (ec) cannot_write(folder, ec.message());
  }
  void keep() { done_ = true; }

 private:
  std::vector<fs::path> made_;
  bool done_ = false;
};

// A folder beside the results, so that moving them is a matter of names.
class Stage {
 public:
  explicit Stage(const fs::path& folder) {
    std::string pattern = (folder / ".graft-extgen-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) cannot_write(folder, system_message());
    path_ = pattern;
  }
  ~Stage() {
    std::error_code ec;
    fs::remove_all(path_, ec);
  }
  fs::path file(const char* kind, size_t i) const { return path_ / text(kind, i); }

 private:
  fs::path path_;
};

// Moves files to their names and back if one of them fails.
class Moves {
 public:
  explicit Moves(const Stage& stage) : stage_(stage) {}
  ~Moves() {
    std::error_code ec;
    if (!done_)
      for (auto it = moved_.rbegin(); it != moved_.rend(); ++it) {
        fs::remove(it->to, ec);
        if (it->replaced) fs::rename(stage_.file("old", it->number), it->to, ec);
      }
  }
  void move(size_t number, const fs::path& to) {
    std::error_code ec;
    bool replaced = fs::exists(fs::symlink_status(to));
    if (replaced) fs::rename(to, stage_.file("old", number), ec);
    if (ec) cannot_write(to, ec.message());
    moved_.push_back({number, to, replaced});
    fs::rename(stage_.file("new", number), to, ec);
    if (ec) cannot_write(to, ec.message());
  }
  void keep() { done_ = true; }

 private:
  struct Move {
    size_t number;
    fs::path to;
    bool replaced;
  };
  const Stage& stage_;
  std::vector<Move> moved_;
  bool done_ = false;
};

void require_folder(const fs::path& folder) {
  std::error_code ec;
  fs::file_status s = fs::status(folder, ec);
  if (fs::exists(s) && !fs::is_directory(s))
    throw UsageError(text("expected a directory, got the file '", folder.string(), "'"), "choose another --output_dir");
}

}  // namespace

std::vector<std::string> existing_files(const Generated& g, const std::string& folder) {
  std::vector<std::string> out;
  fs::path root(folder);
  for (fs::path p = root; !p.empty() && p != p.root_path(); p = p.parent_path()) require_folder(p);
  for (const std::string& f : g.folders)
    for (fs::path p = f; !p.empty(); p = p.parent_path()) require_folder(root / p);
  for (const GeneratedFile& f : g.files) {
    fs::path to = root / f.path;
    fs::file_status s = fs::status(to);
    if (!fs::exists(s)) {
      if (fs::is_symlink(fs::symlink_status(to))) out.push_back(f.path);
      continue;
    }
    if (!fs::is_regular_file(s))
      throw UsageError(text("expected a file, got the directory '", to.string(), "'"), "choose another --output_dir");
    if (!holds(to, f.content)) out.push_back(f.path);
  }
  return out;
}

void place(const Generated& g, const std::string& folder, const std::vector<std::string>& kept) {
  fs::path root(folder);
  NewFolders folders;
  folders.make(root);
  Stage stage(root);
  std::vector<size_t> wanted;
  for (size_t i = 0; i < g.files.size(); ++i) {
    const GeneratedFile& f = g.files[i];
    bool keep = std::find(kept.begin(), kept.end(), f.path) != kept.end() || holds(root / f.path, f.content);
    if (keep) continue;
    wanted.push_back(i);
    write_file(stage.file("new", i).string(), f.content);
  }
  for (const std::string& f : g.folders) folders.make(root / f);
  Moves moves(stage);
  for (size_t i : wanted) moves.move(i, root / g.files[i].path);
  moves.keep();
  folders.keep();
}

}  // namespace graft::cli::extgen
