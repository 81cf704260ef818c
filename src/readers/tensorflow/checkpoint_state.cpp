#include "readers/tensorflow/checkpoint_state.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "readers/proto_text.hpp"

namespace graft {
namespace fs = std::filesystem;
namespace {

constexpr size_t most_bytes = size_t{1} << 20;

std::string named_in(const std::string& path) {
  ProtoNode state = parse_proto_text(read_text_file(path, most_bytes), path);
  std::vector<const ProtoNode*> named = state.all("model_checkpoint_path");
  if (named.size() != 1) throw_user("expected one model_checkpoint_path, got ", named.size());
  if (named[0]->kind != ProtoNode::text || named[0]->value.empty())
    throw_user("line ", named[0]->line, ": expected the name of a checkpoint in quotes as model_checkpoint_path");
  if (named[0]->value.find('\0') != std::string::npos)
    throw_user("line ", named[0]->line, ": the name of the checkpoint has a zero byte");
  return named[0]->value;
}

// An absolute name as one relative to `folder`, where it is below it.
std::string below(const std::string& folder, const std::string& name) {
  std::error_code ec;
  fs::path root = fs::canonical(folder, ec), relative;
  if (!ec) relative = fs::weakly_canonical(name, ec).lexically_relative(root);
  if (ec || relative.empty() || *relative.begin() == "..") {
    fs::path beside = fs::path(folder) / fs::path(name).filename();
    bool there = fs::is_regular_file(beside.string() + ".index", ec);
    throw Error(ErrorKind::user, text("expected a checkpoint below the folder of the state file, got '", name, "'"),
                text("name the checkpoint itself: ", Remedy{"checkpoint", "", there ? beside.string() : name}));
  }
  return relative.string();
}

}  // namespace

std::string read_checkpoint_state(const std::string& path) {
  return with_context(
      [&] {
        std::string name = named_in(path), folder = folder_of(path);
        if (folder.empty()) folder = ".";
        if (fs::path(name).is_absolute()) name = below(folder, name);
        return open_below(folder, name + ".index")->path();
      },
      [&] { return text("reading '", path, "' as the state file of a folder of checkpoints"); });
}

}  // namespace graft
