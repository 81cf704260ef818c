// Runs the cases of cases.json manifests in this process and compares the results.
#include <cstdio>
#include <fstream>
#include <map>
#include <regex>

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "compare.hpp"
#include "import/importer.hpp"
#include "infer/evaluate.hpp"
#include "readers/onnx.hpp"
#include "schema/host.hpp"

namespace graft {
const graft_extension* enter_built_ins(const graft_host*);
}
using namespace graft;

int main(int argc, char** argv) {
  Registry registry;
  registry.add(*enter_built_ins(&host_table()), "");
  std::string only;
  bool verbose = false;
  int pass = 0, fail = 0;
  std::map<std::string, int> unknown;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--only") {
      only = argv[++i];
      continue;
    }
    if (arg == "-v") {
      verbose = true;
      continue;
    }
    std::string folder = folder_of(arg), group = stem_of(folder);
    auto manifest = nlohmann::json::parse(std::ifstream(arg));
    int gp = 0, gf = 0;
    std::regex filter(only);
    for (auto& c : manifest) {
      std::string name = c["name"];
      if (!only.empty() && !std::regex_search(group + "/" + name, filter)) continue;
      std::string why;
      try {
        if (c["framework"] != "onnx") throw_unsupported("framework ", c["framework"].get<std::string>());
        RawModel raw = read_onnx(folder + "/" + c["model"][0].get<std::string>());
        Imported im = import_model(raw, registry);
        for (auto& u : im.report.unknown) {
          ++unknown[u.domain + "::" + u.type];
          why += "unknown " + u.domain + "::" + u.type + " ";
        }
        if (why.empty() && !im.report.problems.empty()) why = im.report.problems[0].error.what();
        if (why.empty()) {
          Graph& g = im.graph;
          std::vector<Tensor> inputs(g.parameters().size());
          size_t at = 0;
          for (auto& in : c["inputs"]) {
            std::string n = in.value("name", "");
            size_t index = at++;
            for (size_t k = 0; k < inputs.size(); ++k)
              for (auto& tn : g[g.parameters()[k]].outputs[0].names)
                if (tn == n) index = k;
            auto d = cases::load(folder, in);
            if (index < inputs.size() && !d.tensors.empty()) inputs[index] = d.tensors[0];
          }
          auto out = evaluate_graph(Evaluation{registry}, g, inputs);
          size_t o = 0;
          for (auto& spec : c["outputs"]) {
            std::string n = spec.value("name", "");
            size_t index = spec.value("index", o++);
            for (size_t k = 0; k < g.results().size(); ++k) {
              ValueId v = g[g.results()[k]].inputs[0];
              if (g[g.results()[k]].name == n + "/sink_port_0") index = k;
              (void)v;
            }
            if (index >= out.size()) {
              why = "no output";
              break;
            }
            why = cases::compare(cases::load(folder, spec), {{out[index]}, true}, c, spec);
            if (!why.empty()) {
              why = "output " + n + ": " + why;
              break;
            }
          }
        }
      } catch (const std::exception& e) {
        why = std::string("error: ") + e.what();
      }
      why.empty() ? ++gp : ++gf;
      if (!why.empty() && verbose)
        std::printf("FAIL %s/%s: %s\n", group.c_str(), name.c_str(), why.substr(0, 300).c_str());
    }
    std::printf("%s: %d passed, %d failed\n", group.c_str(), gp, gf);
    pass += gp, fail += gf;
  }
  for (auto& [n, k] : unknown) std::printf("unknown %s %d\n", n.c_str(), k);
  std::printf("%d passed, %d failed\n", pass, fail);
}
