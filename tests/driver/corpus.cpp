#include "corpus.hpp"

#include "base/file.hpp"
#include "base/temporary.hpp"
#include "base/text.hpp"
#include "ir/ir.hpp"
#include "readers/npy.hpp"

namespace graft::testing {
namespace {

void write_seed(const std::string& folder, size_t number, std::string_view first, std::string_view second = {}) {
  make_folder(folder);
  OutputFile f(text(folder, "/", number));
  f.write(first);
  if (!second.empty()) f.write(std::string(1, '\0')), f.write(second);
  f.commit();
}

// An IR in one file: the .xml, a zero byte, the .bin.
void write_ir_seed(const Graph& g, const Registry& registry, const std::string& folder, size_t number) {
  TemporaryFolder temporary;
  std::string bin = write_ir(g, registry, temporary.path() + "/m.xml");
  write_seed(folder, number, read_text_file(temporary.path() + "/m.xml"), read_text_file(bin));
}

}  // namespace

void write_corpus(const std::vector<Case>& cases, const Registry& registry, const std::string& folder) {
  size_t number = 0;
  for (const Case& c : cases) {
    Test t = read_test(c, registry);
    bool graph = t.kind == "graph", two = t.kind == "caffe" || t.kind == "mxnet" || t.kind == "ir";
    write_seed(text(folder, "/", graph ? "text" : t.kind), number, graph ? print(t.graph) : t.source,
               two ? std::string_view(t.weights) : std::string_view());
    if (graph && t.refusal.empty()) write_ir_seed(t.graph, registry, folder + "/ir", number);
    if (!t.mapping.empty()) write_seed(folder + "/mapping", number, t.mapping);
    if (!t.replacements.empty()) write_seed(folder + "/replacement", number, t.replacements);
    ++number;
  }
}

void write_models(const std::vector<Case>& cases, const Registry& registry, const std::string& folder) {
  size_t number = 0;
  for (const Case& c : cases) {
    Test t = read_test(c, registry);
    if (t.expected.empty()) continue;
    std::string place = text(folder, "/", number++);
    make_folder(place);
    write_ir(t.graph, registry, place + "/model.xml");
    std::vector<Tensor> in = ordered_inputs(t, t.graph);
    for (size_t i = 0; i < in.size(); ++i) write_npy(text(place, "/in", i, ".npy"), in[i]);
    for (size_t i = 0; i < t.expected.size(); ++i) write_npy(text(place, "/out", i, ".npy"), t.expected[i]);
    OutputFile f(place + "/name.txt");
    f.write(text(c.file, ": ", c.name, "\n", t.tolerance, "\n"));
    f.commit();
  }
}

}  // namespace graft::testing
