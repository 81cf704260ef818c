// The files of an MXNet model, in any order; missing ones are found by their names.
#include "readers/framework.hpp"

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "base/text.hpp"
#include "readers/mxnet/mxnet.hpp"

namespace graft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view symbol_ending = "-symbol.json", params_ending = ".params", arrays_ending = ".nd";

bool is_number(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "folder/prefix" of "folder/prefix-0000.params"; empty: the name has another form.
std::string prefix_of(const std::string& params) {
  if (!params.ends_with(params_ending)) return {};
  std::string stem = params.substr(0, params.size() - params_ending.size());
  size_t dash = stem.rfind('-');
  return dash != stem.npos && is_number(std::string_view(stem).substr(dash + 1)) ? stem.substr(0, dash) : std::string();
}

std::string symbol_beside(const std::string& params) {
  std::string prefix = prefix_of(params), symbol = prefix + std::string(symbol_ending);
  std::error_code ec;
  if (!prefix.empty() && fs::is_regular_file(symbol, ec)) return symbol;
  throw Error(ErrorKind::user,
              text("'", params, "' contains the parameters of an MXNet model, but not its symbol",
                   prefix.empty() ? "" : text(": file not found: '", symbol, "'")),
              "pass the -symbol.json file too");
}

std::vector<std::string> params_beside(const std::string& symbol) {
  if (!symbol.ends_with(symbol_ending)) return {};
  std::string prefix = symbol.substr(0, symbol.size() - symbol_ending.size());
  std::vector<std::string> found;
  fs::path folder = fs::path(prefix).parent_path();
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(folder.empty() ? fs::path(".") : folder, ec)) {
    std::string path = (folder / e.path().filename()).string();
    if (prefix_of(path) == prefix) found.push_back(std::move(path));
  }
  std::sort(found.begin(), found.end());
  if (found.size() > 1)
    throw Error(ErrorKind::user, text("expected one parameters file of '", symbol, "' beside it, got ", found.size()),
                "pass one of " + join(found, ", "));
  return found;
}

// The symbol, and files of arrays. If one kind is absent, it is looked for beside the other: a symbol alone needs the
// only file prefix-NNNN.params there, arrays alone need prefix-symbol.json.
RawModel read_mxnet_files(const std::vector<std::string>& files, const ReadOptions& request, const Limits& limits) {
  std::string symbol;
  std::vector<std::string> params;
  for (const std::string& f : files) {
    bool arrays = looks_like_mxnet_params(MappedFile::open(f)->chars()) || f.ends_with(params_ending) ||
                  f.ends_with(arrays_ending);
    if (arrays) params.push_back(f);
    else if (symbol.empty()) symbol = f;
    else throw_user("expected one MXNet symbol, got '", symbol, "' and '", f, "'");
  }
  if (symbol.empty()) symbol = symbol_beside(params[0]);
  if (params.empty()) params = params_beside(symbol);
  return read_mxnet(symbol, params, request, limits);
}

}  // namespace

Framework mxnet_framework() {
  return {
      .traits = {.name = "mxnet",
                 .title = "MXNet",
                 .aliases = {},
                 .files = "-symbol.json with .params",
                 .endings = {std::string(symbol_ending), std::string(params_ending), std::string(arrays_ending)},
                 .conventions = {}},
      .recognize =
          [](const ModelCandidate& c) { return looks_like_mxnet_symbol(c.bytes) || looks_like_mxnet_params(c.bytes); },
      .read = read_mxnet_files};
}

}  // namespace graft
