// Raw passes at the C border: wrong arguments, records of other sizes, and random changes.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/tensor.hpp"
#include "import/importer.hpp"
#include "import/raw_passes.hpp"
#include "readers/caffe/caffe.hpp"
#include "schema/host.hpp"
#include "toolkit/built_ins.hpp"

namespace graft {
namespace {

using Function = std::function<graft_status(graft_raw_model*)>;

graft_status call(graft_raw_model* m, void* user) { return (*static_cast<Function*>(user))(m); }

RawModel net() {
  return read_caffe(R"(
    input: "x" input_shape { dim: 1 dim: 2 }
    layer { name: "first" type: "ReLU" bottom: "x" top: "a" }
    layer { name: "left" type: "ReLU" bottom: "a" top: "l" }
    layer { name: "right" type: "Power" bottom: "a" top: "r" power_param { scale: 2 } }
    layer { name: "join" type: "Eltwise" bottom: "l" bottom: "r" top: "y" }
  )",
                    "net", {}, nullptr);
}

const Registry& built_ins() {
  static const Registry* registry = [] {
    auto* r = new Registry;
    add_built_ins(*r);
    return r;
  }();
  return *registry;
}

// Runs a pass over the model; the error, or nothing.
std::string run(RawModel& model, Function function, uint32_t size = sizeof(graft_raw_pass)) {
  graft_raw_pass pass{};
  pass.size = size;
  pass.name = str("p");
  pass.user = &function;
  pass.apply = call;
  const graft_raw_pass* passes[] = {&pass};
  graft_extension e{};
  e.size = sizeof e;
  e.abi_version = GRAFT_ABI_VERSION;
  e.name = str("unit");
  e.raw_passes = passes, e.raw_pass_count = 1;
  try {
    Registry registry;
    registry.add(read_records(e, Source::library, "unit.so"));
    std::vector<bool> taken;
    run_raw_passes(model, registry, {}, taken);
    return "";
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal) << error.message();
    return error.message();
  }
}
std::string run(Function function) {
  RawModel model = net();
  return run(model, std::move(function));
}

const graft_raw_host& h() { return *host_table().raw; }

graft_raw_layer layer_of(std::string_view type, std::string_view name) {
  graft_raw_layer l{};
  l.size = sizeof l;
  l.type = str(type), l.name = str(name);
  return l;
}

TEST(Raw, RecordsAreChecked) {
  RawModel model = net();
  EXPECT_EQ(run(model, [](graft_raw_model*) { return GRAFT_OK; }), "");
  EXPECT_NE(run(
                model, [](graft_raw_model*) { return GRAFT_OK; }, 8)
                .find("bytes for a raw pass, got 8"),
            std::string::npos);
  EXPECT_EQ(model.graph.nodes.size(), 4u);
}

TEST(Raw, WrongArgumentsAreRefused) {
  EXPECT_EQ(run([](graft_raw_model* m) { return h().remove_layer(m, 77); }), "there is no layer 77");
  EXPECT_EQ(run([](graft_raw_model* m) { return h().remove_layer(m, 0); }), "there is no layer 0");
  EXPECT_EQ(run([](graft_raw_model* m) { return h().remove_layer(m, -1); }), "there is no layer -1");
  EXPECT_EQ(run([](graft_raw_model* m) { return h().add_layer(m, nullptr, nullptr, 0, nullptr); }), "a layer is null");
  EXPECT_EQ(run([](graft_raw_model* m) { return h().layer(m, 1, nullptr); }),
            "expected an argument of a host function, got a null pointer");
  EXPECT_EQ(run([](graft_raw_model* m) { return h().take_replacement(m, 0); }),
            "there is no entry 0 of a replacement file");
  EXPECT_EQ(run([](graft_raw_model* m) {
              graft_value v{};
              v.kind = GRAFT_GRAPH;
              return h().set_field(m, 1, str("g"), &v);
            }),
            "field 'g' of 'first' (ReLU) cannot have a value of kind 12");
  EXPECT_EQ(run([](graft_raw_model* m) {
              graft_value v{};
              v.kind = GRAFT_TENSOR;
              return h().set_field(m, 1, str("t"), &v);
            }),
            "field 't' of 'first' (ReLU) has no tensor");
  // Functions without a status: reported when the pass ends, even if it goes on.
  EXPECT_EQ(run([](graft_raw_model* m) {
              h().fields(m, 99, nullptr);
              return GRAFT_OK;
            }),
            "there is no layer 99");
  EXPECT_EQ(run([](graft_raw_model*) { return GRAFT_UNSUPPORTED; }),
            "a callback failed with status 2 without an error message");
}

TEST(Raw, LengthsWithoutMemoryAreRefused) {
  const int64_t dims[] = {3};
  auto constant = [](const graft_tensor& t) {
    return run([t](graft_raw_model* m) { return h().add_constant(m, str("c"), &t); });
  };
  EXPECT_EQ(constant({sizeof(graft_tensor), GRAFT_F32, 1, 0, dims, nullptr, nullptr}),
            "expected 3 elements of a tensor, got a null pointer");
  EXPECT_EQ(constant({sizeof(graft_tensor), GRAFT_F32, 1, 0, nullptr, nullptr, nullptr}),
            "expected 1 dimensions of a tensor, got a null pointer");
  EXPECT_EQ(constant({sizeof(graft_tensor), GRAFT_F32, -1, 0, nullptr, nullptr, nullptr}),
            "expected a tensor of known rank, got rank -1");
  graft_str words[3] = {str("a"), {nullptr, 2}, str("b")};
  EXPECT_EQ(constant({sizeof(graft_tensor), GRAFT_STRING, 1, 0, dims, nullptr, words}),
            "expected a string of a tensor of 2 bytes, got a null pointer");
  EXPECT_EQ(run([](graft_raw_model* m) {
              return h().remove_constant(m, {nullptr, 5});
            }),
            "expected a name of 5 bytes, got a null pointer");
  EXPECT_EQ(run([](graft_raw_model* m) { return h().set_inputs(m, nullptr, 2); }),
            "expected 2 inputs, got a null pointer");
  EXPECT_EQ(run([](graft_raw_model* m) { return h().set_outputs(m, nullptr, 1); }),
            "expected 1 outputs, got a null pointer");
  EXPECT_EQ(run([](graft_raw_model* m) {
              const graft_str missing{nullptr, 4};
              return h().set_outputs(m, &missing, 1);
            }),
            "expected the name of an output of 4 bytes, got a null pointer");
  EXPECT_EQ(run([](graft_raw_model* m) {
              graft_layer id;
              graft_raw_layer l = layer_of("ReLU", "new");
              l.input_count = 2;
              return h().add_layer(m, &l, nullptr, 0, &id);
            }),
            "expected 2 names, got a null pointer");
  EXPECT_EQ(run([](graft_raw_model* m) {
              graft_value v{};
              v.kind = GRAFT_INTS, v.count = 3;
              return h().set_field(m, 1, str("f"), &v);
            }),
            "expected 3 values, got a null pointer");
  EXPECT_EQ(run([](graft_raw_model* m) {
              graft_info i{};
              i.type = GRAFT_F32, i.shape.rank = 2;
              return h().set_value_info(m, str("x"), &i);
            }),
            "expected 2 dimensions, got a null pointer");
}

TEST(Raw, AShorterLayerRecordIsFilledAsFarAsItGoes) {
  EXPECT_EQ(run([](graft_raw_model* m) {
              graft_raw_layer l{};
              l.size = offsetof(graft_raw_layer, domain);
              l.version = -5;
              EXPECT_EQ(h().layer(m, 3, &l), GRAFT_OK);
              EXPECT_EQ(view(l.type), "Power");
              EXPECT_EQ(l.version, -5);
              return GRAFT_OK;
            }),
            "");
}

TEST(Raw, TensorsOutliveThePassIfTheyAreKept) {
  void* kept = nullptr;
  const float* data = nullptr;
  RawModel model = net();
  Tensor t(DType::f32, {2});
  t.data<float>()[0] = 7, t.data<float>()[1] = 8;
  model.graph.constants.emplace_back("c", t);
  t = {};
  EXPECT_EQ(run(model,
                [&](graft_raw_model* m) {
                  const graft_tensor* c = h().constant(m, str("c"));
                  data = static_cast<const float*>(c->data);
                  kept = h().keep_tensor(m, c);
                  graft_tensor other = *c;
                  EXPECT_EQ(h().keep_tensor(m, &other), nullptr);
                  return h().remove_constant(m, str("c"));
                }),
            "");
  model = {};
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(data[1], 8);
  h().release_tensor(kept);
}

TEST(Raw, TheLastFailureCanBeAskedFor) {
  EXPECT_EQ(run([](graft_raw_model* m) {
              EXPECT_EQ(h().remove_layer(m, 77), GRAFT_USER);
              graft_str message{}, hint{};
              EXPECT_EQ(host_table().last_failure(&message, &hint), GRAFT_USER);
              EXPECT_EQ(view(message), "there is no layer 77");
              return GRAFT_OK;  // handled
            }),
            "");
}

TEST(Raw, TheNumberOfLayersIsLimited) {
  RawModel model = net();
  Limits limits;
  limits.nodes = 5;
  Function add = [](graft_raw_model* m) {
    graft_status s = GRAFT_OK;
    for (int i = 0; i < 10 && s == GRAFT_OK; ++i) {
      std::string name = "n" + std::to_string(i);
      graft_str in = str("x"), out = str(name);
      graft_raw_layer l = layer_of("ReLU", name);
      l.inputs = &in, l.input_count = 1, l.outputs = &out, l.output_count = 1;
      graft_layer id = 0;
      s = h().add_layer(m, &l, nullptr, 0, &id);
    }
    return s;
  };
  graft_raw_pass pass{};
  pass.size = sizeof pass;
  pass.name = str("p"), pass.user = &add, pass.apply = call;
  const graft_raw_pass* passes[] = {&pass};
  graft_extension e{};
  e.size = sizeof e;
  e.abi_version = GRAFT_ABI_VERSION;
  e.name = str("unit");
  e.raw_passes = passes, e.raw_pass_count = 1;
  Registry registry;
  registry.add(read_records(e, Source::library, "unit.so"));
  std::vector<bool> taken;
  try {
    run_raw_passes(model, registry, {false, nullptr, {}, limits}, taken);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "the model has more than 5 layers");
    EXPECT_NE(error.hint().find("`limits[nodes]="), std::string::npos);
  }
}

// Any sequence of changes ends in a model that can be imported or in an error, never in a crash.
class RandomChanges {
 public:
  explicit RandomChanges(unsigned seed) : random_(seed) {}

  graft_status run(graft_raw_model* m) {
    for (int i = below(12); i >= 0; --i) change(m);
    return GRAFT_OK;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  graft_layer any_layer() { return below(8); }
  std::string_view any_value() {
    constexpr std::string_view names[] = {"x", "a", "l", "r", "y", "n0", "n1", "", "c"};
    return names[below(9)];
  }
  std::string_view any_type() {
    constexpr std::string_view types[] = {"ReLU", "Eltwise", "Power", "Elu@1", "Nobody", ""};
    return types[below(6)];
  }
  void change(graft_raw_model* m) {
    std::string_view one = any_value(), two = any_value(), name = any_value();
    graft_str in[] = {str(one), str(any_value())}, out[] = {str(two), str(any_value())};
    graft_raw_layer l = layer_of(any_type(), name);
    l.flags = static_cast<uint32_t>(below(2));
    l.inputs = in, l.input_count = static_cast<size_t>(below(3));
    l.outputs = out, l.output_count = static_cast<size_t>(below(3));
    l.weight_count = static_cast<size_t>(below(3));
    graft_info info = infos_[0].raw();
    graft_layer id = 0;
    graft_value v{};
    v.kind = below(5);
    v.i = below(3), v.s = str("word");
    switch (below(12)) {
      case 0: h().add_layer(m, &l, &info, static_cast<size_t>(below(2)), &id); break;
      case 1: h().remove_layer(m, any_layer()); break;
      case 2: h().set_layer(m, any_layer(), &l); break;
      case 3: h().set_field(m, any_layer(), str(one), &v); break;
      case 4: h().copy_field(m, any_layer(), str("power_param.scale"), any_layer(), str("k")); break;
      case 5: h().add_constant(m, str(one), constant_.raw()); break;
      case 6: h().remove_constant(m, str(one)); break;
      case 7:
      case 8: h().replace_value(m, str(one), str(two)); break;
      case 9: h().set_outputs(m, out, l.output_count); break;
      case 10: {
        graft_raw_value values[] = {{str(one), {}, info}, {str(two), {}, info}};
        h().set_inputs(m, values, static_cast<size_t>(below(3)));
        break;
      }
      default: look(m);
    }
  }
  void look(graft_raw_model* m) {
    const graft_layer* list = nullptr;
    size_t n = h().layers(m, &list);
    std::vector<graft_layer> all(list, list + n);
    for (graft_layer id : all) {
      graft_raw_layer l{};
      l.size = sizeof l;
      EXPECT_EQ(h().layer(m, id, &l), GRAFT_OK);
      const graft_named_value* fields = nullptr;
      for (size_t i = h().fields(m, id, &fields); i-- > 0;) h().field(m, id, fields[i].name);
      for (size_t i = 0; i < l.output_count; ++i) {
        const graft_layer* users = nullptr;
        h().consumers(m, l.outputs[i], &users);
        h().producer(m, l.outputs[i]);
      }
    }
  }

  std::mt19937 random_;
  std::vector<Info> infos_{Info{DType::f32, Shape{1, 2}}};
  Tensor constant_ = make_tensor<float>({2}, {1, 2});
};

TEST(Raw, RandomChangesNeverCrash) {
  size_t imported = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    RandomChanges changes(seed);
    RawModel model = net();
    if (!run(model, [&](graft_raw_model* m) { return changes.run(m); }).empty()) continue;
    try {
      import_model(model, built_ins());
      ++imported;
    } catch (const Error& e) {
      EXPECT_NE(e.kind(), ErrorKind::internal) << "seed " << seed << ": " << e.message();
    }
  }
  EXPECT_GT(imported, 100u);
}

}  // namespace
}  // namespace graft
