// Definitions added to a Core and removed from it, by one thread and by several.
#include <atomic>
#include <filesystem>
#include <graft/reader.hpp>
#include <mutex>
#include <set>
#include <thread>

#include "toolkit.hpp"

// A program that is an extension, too.
GRAFT_EXTENSION("unit", "1.0") { return graft::scaled_relu<5>(); }

namespace graft {
namespace {

using Toolkit = ToolkitTest;

std::string message_of(const std::function<void()>& f, ErrorKind kind) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.report();
    return e.message();
  }
  return "nothing was thrown";
}

TEST_F(Toolkit, DefinitionsOfTheProgramTakeTheBuiltInsPlaceUntilRemoved) {
  Core core;
  EXPECT_EQ(run_relu(core), (Values{0, 3}));
  ExtensionId id = core.add_extension(relu_times_2());
  Model read = core.read_model(relu());
  CompiledModel compiled = core.compile_model(read);
  EXPECT_EQ(run(compiled), (Values{-2, 6}));
  ASSERT_EQ(core.extensions().size(), 1u);
  EXPECT_EQ(core.extensions()[0].name, "two");
  EXPECT_EQ(core.extensions()[0].path, "");
  EXPECT_EQ(core.extensions()[0].operations, 1u);
  EXPECT_EQ(read.report().overridden.size(), 1u);

  core.remove_extension(id);
  EXPECT_TRUE(core.extensions().empty());
  EXPECT_EQ(run_relu(core), (Values{0, 3}));
  // What was made before stays as it was.
  EXPECT_EQ(run(compiled), (Values{-2, 6}));
  EXPECT_EQ(run(core.compile_model(read)), (Values{-2, 6}));
}

// In the place of the reader of Kaldi: y = x, and options as the names of the layers.
bool is_other_kaldi(const ModelFile& f) {
  EXPECT_EQ(f.option<std::string>("counts", "none"), "none");
  return f.content() == "other kaldi";
}
void read_other_kaldi(FrameworkModel& model, std::span<const ModelFile> files) {
  model.set_inputs({{"x", Info{DType::f32, Shape{2}}}});
  std::string name = files[0].option<std::string>("counts", "none");
  if (files[0].option<bool>("streaming")) name += " streaming";
  for (const std::string& pass : files[0].option<std::vector<std::string>>("disabled_passes")) name += " -" + pass;
  model.add_operation("Relu", name, {"x"}, {"y"});
  model.set_outputs({"y"});
}
Definitions other_kaldi() { return graft::Reader("kaldi").recognize(is_other_kaldi).read(read_other_kaldi); }

TEST_F(Toolkit, AReaderSeesTheOptionsOfItsFramework) {
  Core core;
  core.add_extension(definitions("other_kaldi", "1", other_kaldi));
  std::string path = file("net.kaldi", "other kaldi");
  auto layer = [&](const ReadOptions& options) {
    std::string all = core.read_model(std::vector{path}, options).to_text();
    size_t from = all.find("Relu");
    return all.substr(from == all.npos ? 0 : from);
  };
  EXPECT_NE(layer({}).find("none"), std::string::npos) << layer({});
  ReadOptions options;
  options.counts = file("prior.counts", "[ 1 2 ]"), options.streaming = true, options.disabled_passes = {"all"};
  EXPECT_NE(layer(options).find("/prior.counts streaming -all"), std::string::npos) << layer(options);
}

TEST_F(Toolkit, ExtensionsAreListedInBraces) {
  Core core;
  EXPECT_EQ(message_of(
                [&] {
                  core.add_extensions({"absent.so", "b.so"});
                },
                ErrorKind::io)
                    .find("absent.so") != std::string::npos,
            true);
  EXPECT_EQ(core.add_extensions({relu_times_2(), relu_times_3()}).size(), 2u);
  EXPECT_EQ(core.add_extensions({GRAFT_TEST_EXTENSIONS "/ngraph.so", GRAFT_TEST_EXTENSIONS "/traits.so"}).size(), 2u);
}

TEST_F(Toolkit, LaterDefinitionsGoBeforeEarlierOnes) {
  Core core;
  ExtensionId two = core.add_extension(relu_times_2()), three = core.add_extension(relu_times_3());
  EXPECT_EQ(run_relu(core), (Values{-3, 9}));
  core.remove_extension(two);
  EXPECT_EQ(run_relu(core), (Values{-3, 9}));
  core.add_extension(relu_times_2());
  EXPECT_EQ(run_relu(core), (Values{-2, 6}));
  core.remove_extension(three);
  EXPECT_EQ(run_relu(core), (Values{-2, 6}));
  EXPECT_EQ(message_of([&] { core.remove_extension(three); }, ErrorKind::request),
            "no extension with id 2 is added to this Core");
}

// One registry is made for all of them, or none if one is refused.
TEST_F(Toolkit, SeveralExtensionsAtOnce) {
  Core core;
  std::vector<ExtensionId> ids = core.add_extensions({relu_times_2(), relu_times_3()});
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(run_relu(core), (Values{-3, 9}));
  core.remove_extension(ids[1]);
  EXPECT_EQ(run_relu(core), (Values{-2, 6}));
  core.remove_extension(ids[0]);

  const std::string library = GRAFT_TEST_EXTENSIONS "/override_relu.so", folder = folder_.path();
  EXPECT_EQ(message_of(
                [&] {
                  core.add_extensions(std::vector<std::string>{library, folder + "/none.so"});
                },
                ErrorKind::io),
            "cannot open '" + folder + "/none.so': No such file or directory");
  EXPECT_TRUE(core.extensions().empty());
  std::vector<ExtensionId> same = core.add_extensions(std::vector<std::string>{library, library});
  EXPECT_EQ(same[0], same[1]);
  EXPECT_EQ(core.extensions().size(), 1u);
}

TEST_F(Toolkit, KindsOfExtensions) {
  namespace fs = std::filesystem;
  const fs::path folder = folder_.path();
  EXPECT_EQ(extension_kind(GRAFT_TEST_EXTENSIONS "/override_relu.so"), ExtensionKind::library);
  for (const char* name : {"a.py", "b.xml", "c", "project/CMakeLists.txt", "cpu/user_ie_extensions/cpu/CMakeLists.txt",
                           "optimizer/front/tf/d.py", "other/e.txt"}) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << "nothing";
  }
  for (auto [name, kind] : {std::pair{"a.py", ExtensionKind::python},
                            {"b.xml", ExtensionKind::custom_layers},
                            {"c", ExtensionKind::library},
                            {"project", ExtensionKind::project},
                            {"cpu", ExtensionKind::project},
                            {"optimizer", ExtensionKind::model_optimizer}})
    EXPECT_EQ(extension_kind(folder / name), kind) << name;
  EXPECT_EQ(message_of([&] { extension_kind(folder / "other"); }, ErrorKind::user),
            "expected a folder with ops/, front/, middle/ or back/ as an extension, got one with e.txt");
}

TEST_F(Toolkit, DefinitionsOfTheProgramGoBeforeALibrary) {
  Core core;
  ExtensionId library = core.add_extension(GRAFT_TEST_EXTENSIONS "/override_relu.so");
  EXPECT_EQ(run_relu(core), (Values{100, 103}));
  EXPECT_EQ(core.add_extension(GRAFT_TEST_EXTENSIONS "/../extensions/override_relu.so"), library);
  ExtensionId two = core.add_extension(relu_times_2());
  EXPECT_EQ(run_relu(core), (Values{-2, 6}));
  core.remove_extension(two);
  EXPECT_EQ(run_relu(core), (Values{100, 103}));
  core.remove_extension(library);
  EXPECT_EQ(run_relu(core), (Values{0, 3}));
  core.add_extension(GRAFT_TEST_EXTENSIONS "/override_relu.so");
  EXPECT_EQ(run_relu(core), (Values{100, 103}));
}

// The file that is there is loaded; what was compiled before keeps the code it had, also if its file is overwritten.
TEST_F(Toolkit, AReplacedLibraryIsLoadedAnew) {
  namespace fs = std::filesystem;
  const fs::path hot = folder_.path() + "/hot.so", relu_100 = GRAFT_TEST_EXTENSIONS "/override_relu.so",
                 passes = GRAFT_TEST_EXTENSIONS "/passes_tour.so";
  auto overwrite = [&](const fs::path& from) {  // the same file, with other content
    std::ofstream(hot, std::ios::binary | std::ios::trunc) << std::ifstream(from, std::ios::binary).rdbuf();
  };
  fs::copy_file(relu_100, hot);
  Core core, other;
  ExtensionId first = core.add_extension(hot.string());
  CompiledModel kept = core.compile_model(core.read_model(relu()));
  EXPECT_EQ(run(kept), (Values{100, 103}));
  EXPECT_EQ(core.extensions()[0].path, fs::canonical(hot).string());

  fs::remove(hot);
  fs::copy_file(passes, hot);
  core.remove_extension(first);
  ExtensionId second = core.add_extension(hot.string());
  EXPECT_EQ(core.extensions()[0].name, "passes_tour");
  EXPECT_EQ(run_relu(core), (Values{0, 3}));
  other.add_extension(hot.string());
  EXPECT_EQ(other.extensions()[0].name, "passes_tour");
  EXPECT_EQ(run(kept), (Values{100, 103}));

  overwrite(relu_100);
  core.remove_extension(second);
  core.add_extension(hot.string());
  EXPECT_EQ(run_relu(core), (Values{100, 103}));
  CompiledModel again = core.compile_model(core.read_model(relu()));
  overwrite(passes);
  EXPECT_EQ(run(kept), (Values{100, 103}));
  EXPECT_EQ(run(again), (Values{100, 103}));
  fs::resize_file(hot, 100);
  EXPECT_EQ(run(again), (Values{100, 103}));
  EXPECT_EQ(
      message_of([&] { other.add_extension(hot.string()); }, ErrorKind::user).find("the shared library is truncated"),
      0u);
  std::vector<std::string> warnings;
  set_log_listener([&](LogLevel, std::string_view m) { warnings.emplace_back(m); }, LogLevel::warning);
  overwrite(passes);
  core.add_extension(hot.string());
  set_log_listener({}, LogLevel::warning);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("its file has changed since"), std::string::npos);
}

TEST_F(Toolkit, AProgramMayBeAnExtension) {
  Core core, other;
  core.add_extension(graft_extension_entry);
  EXPECT_EQ(run_relu(core), (Values{-5, 15}));
  EXPECT_EQ(run_relu(other), (Values{0, 3}));
  EXPECT_EQ(core.extensions()[0].name, "unit");
}

TEST_F(Toolkit, RefusedDefinitionsLeaveEverythingAsItWas) {
  Core core;
  core.add_extension(relu_times_2());
  auto twice = definitions("twice", "1", [] { return Definitions{scaled_relu<2>(), scaled_relu<3>()}; });
  EXPECT_EQ(message_of([&] { core.add_extension(twice); }, ErrorKind::user),
            "operation 'Relu' of opset1 is defined twice by 'twice'");
  EXPECT_EQ(core.extensions().size(), 1u);
  EXPECT_EQ(run_relu(core), (Values{-2, 6}));
  EXPECT_EQ(message_of([&] { core.add_extension(Core::Entry()); }, ErrorKind::request),
            "expected an entry function, got an empty one");
  auto none = [](const graft_host*) -> const graft_extension* { return nullptr; };
  EXPECT_EQ(message_of([&] { core.add_extension(none); }, ErrorKind::user),
            "the extension requires a newer version of Graft");
}

TEST_F(Toolkit, AModelOutlivesItsCore) {
  auto core = std::make_unique<Core>();
  core->add_extension(relu_times_3());
  Model model = core->read_model(relu());
  CompiledModel compiled = core->compile_model(model);
  core.reset();
  EXPECT_EQ(run(compiled), (Values{-3, 9}));
  EXPECT_EQ(model.outputs().size(), 1u);
}

// ---- several threads ----

TEST_F(Toolkit, ThreadsReadCompileAndRunWhileDefinitionsComeAndGo) {
  Core core;
  std::string path = relu();
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, runs{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!stop) {
        Model model = core.read_model(path);
        Values first = run(core.compile_model(model)), again = run(core.compile_model(model, "REFERENCE"));
        bool known = first == Values{0, 3} || first == Values{-2, 6} || first == Values{-3, 9};
        wrong += !known || first != again;
        core.operations();
        core.extensions();
        ++runs;
      }
    });
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        ExtensionId id = core.add_extension(t ? relu_times_2() : relu_times_3());
        core.read_model(path);
        core.remove_extension(id);
      }
    });
  threads[3].join(), threads[4].join();
  while (runs < 3) std::this_thread::yield();
  stop = true;
  for (int t = 0; t < 3; ++t) threads[static_cast<size_t>(t)].join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(core.extensions().empty());
}

TEST_F(Toolkit, AModelIsChangedWhileOthersUseIt) {
  Core core;
  Model model = core.read_model(file("chain.graph", R"(graph (x: f32[?]) {
    a = Abs(x)
    b = Relu(a)
    return y = b
  })"));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        model.reshape({{"x", Shape{Dim(2 + t)}}});
        model.add_output("a");
      }
    });
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        CompiledModel compiled = core.compile_model(model);
        wrong += compiled.outputs().empty() || compiled.outputs().size() > 2;
        model.to_text();
        model.report();
        wrong += compiled.explain().choices.empty();
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(model.outputs().size(), 2u);
}

TEST_F(Toolkit, ListenersMayBeReplacedWhileOthersLog) {
  std::atomic<int> heard{0};
  std::thread logging([&] {
    for (int i = 0; i < 2000; ++i) log(LogLevel::warning, "x");
  });
  for (int i = 0; i < 200; ++i)
    set_log_listener([&](LogLevel, std::string_view) { ++heard; }, i % 2 ? LogLevel::warning : LogLevel::error);
  logging.join();
  set_log_listener({}, LogLevel::warning);
  int before = heard;
  log(LogLevel::error, "dropped");
  EXPECT_EQ(heard, before);
}

}  // namespace
}  // namespace graft
