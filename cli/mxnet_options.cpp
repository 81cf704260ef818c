#include "mxnet_options.hpp"

#include <algorithm>
#include <filesystem>

namespace graft::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view symbol_ending = "-symbol.json";

bool is_file(const std::string& path) {
  std::error_code ec;
  return fs::is_regular_file(path, ec);
}

// "model-0000.params", or the same without the extension, or without extension and number if only one file fits.
std::string pretrained_file(const std::string& given) {
  if (is_file(given)) return given;
  if (is_file(given + ".params")) return given + ".params";
  fs::path path(given), folder = path.parent_path();
  std::string start = path.filename().string() + "-";
  std::vector<std::string> found;
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(folder.empty() ? fs::path(".") : folder, ec)) {
    std::string name = e.path().filename().string();
    if (name.starts_with(start) && name.ends_with(".params")) found.push_back((folder / name).string());
  }
  std::sort(found.begin(), found.end());
  if (found.size() == 1) return found[0];
  throw UsageError(text("--pretrained_model_name: expected the name of one .params file, got '", given, "'"),
                   found.empty() ? "" : "use one of " + join(found, ", "));
}

// "0012" of "model-0012.params"
std::string number_of(const std::string& params) {
  std::string stem = fs::path(params).stem().string();
  size_t dash = stem.rfind('-');
  return dash == stem.npos ? "0000" : stem.substr(dash + 1);
}

}  // namespace

void MxnetOptions::add(CLI::App& app) {
  auto option = [&](const char* name, std::string& target, const char* what, const char* type) {
    app.add_option(name, target, what)->type_name(type)->group("Model");
  };
  option("--input_symbol", symbol, "MXNet symbol (default: PREFIX-symbol.json beside PREFIX-0000.params)", "FILE");
  option("--nd_prefix_name", nd_prefix, "prefix of the files PREFIX_args.nd and PREFIX_auxs.nd of an MXNet model",
         "PREFIX");
  option("--pretrained_model_name", pretrained, "MXNet parameters that those of --nd_prefix_name are added to", "FILE");
  app.add_flag("--save_params_from_nd", save, "write the parameters of --nd_prefix_name as one .params file")
      ->group("Model");
}

void MxnetOptions::add_to(ModelOptions& model, ReadOptions& read) const {
  if (!symbol.empty()) {
    if (!is_file(symbol)) throw UsageError(text("--input_symbol: file not found: '", symbol, "'"));
    model.files.insert(model.files.begin(), symbol);
  }
  if (!nd_prefix.empty() || !pretrained.empty()) return add_arrays(model, read);
  if (save)
    throw UsageError("--save_params_from_nd requires --nd_prefix_name, --pretrained_model_name and --input_symbol");
}

void MxnetOptions::add_arrays(ModelOptions& model, ReadOptions& read) const {
  if (nd_prefix.empty() || pretrained.empty() || symbol.empty())
    throw UsageError("--nd_prefix_name, --pretrained_model_name and --input_symbol must be given together");
  std::string base = pretrained_file(pretrained), prefix = (fs::path(base).parent_path() / nd_prefix).string();
  if (!is_file(prefix + "_args.nd")) throw UsageError(text("--nd_prefix_name: file not found: '", prefix, "_args.nd'"));
  model.weights.push_back(base);
  model.weights.push_back(prefix + "_args.nd");
  // A model without moving averages has no such file.
  if (is_file(prefix + "_auxs.nd")) model.weights.push_back(prefix + "_auxs.nd");
  if (!save) return;
  std::string stem = symbol.ends_with(symbol_ending)
                         ? symbol.substr(0, symbol.size() - symbol_ending.size())
                         : (fs::path(symbol).parent_path() / fs::path(symbol).stem()).string();
  read.save_parameters = stem + "-" + number_of(base) + ".params";
  std::error_code ec;
  if (fs::equivalent(read.save_parameters, base, ec))
    throw UsageError(text("--save_params_from_nd would overwrite '", base, "'"), "rename the symbol or that file");
}

}  // namespace graft::cli
