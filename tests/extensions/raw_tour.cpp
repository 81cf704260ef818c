// Raw passes with graft/raw_pass.hpp: layers that are fused, replaced, rewired, and passes that break the model.
#include <graft/extension.hpp>

namespace {

using namespace graft;

// Mul(x, Tanh(Softplus(x)))  =>  Mish(x)
void fuse_mish(FrameworkModel& model) {
  for (FrameworkLayer mul : model.layers()) {
    if (!mul.is("Mul")) continue;
    FrameworkLayer tanh = model.producer(mul.input(1));
    FrameworkLayer plus = model.producer(tanh.input(0));
    if (!tanh.is("Tanh") || !plus.is("Softplus") || plus.input(0) != mul.input(0)) continue;
    if (!model.used_once(tanh.output()) || !model.used_once(plus.output())) continue;
    model.add_operation("Mish@4", mul.name() + "/mish", {mul.input(0)}, mul.outputs());
    for (const FrameworkLayer& l : {mul, tanh, plus}) model.remove(l);
  }
}

// Two layers of the framework become one of it: Scale after Scale.
void merge_gains(FrameworkModel& model) {
  for (FrameworkLayer second : model.layers()) {
    if (!second.is("Gain", "tour")) continue;
    FrameworkLayer first = model.producer(second.input(0));
    if (!first.is("Gain", "tour") || !model.used_once(first.output())) continue;
    second.set("by", first.get<double>("by", 1) * second.get<double>("by", 1));
    second.set_input(0, first.input(0));
    model.remove(first);
  }
  for (FrameworkLayer l : model.layers()) {
    if (!l.is("Gain", "tour")) continue;
    std::string factor = l.name() + "/by";
    double by = l.get<double>("by", 1);
    auto value = static_cast<float>(by);
    int64_t one = 1;
    graft_tensor t{sizeof(graft_tensor), GRAFT_F32, 1, 0, &one, nullptr, &value};
    model.add_constant(factor, TensorView(&t));
    l.set_type("Mul");
    l.set_inputs({l.input(0), factor});
    l.erase("by");
  }
}

// The fields of Caffe and TensorFlow.
void other_frameworks(FrameworkModel& model) {
  for (FrameworkLayer l : model.layers()) {
    if (model.framework() == "caffe" && l.is("Gain")) {
      FrameworkLayer power = model.add("Power", l.name() + "/power", l.inputs(), l.outputs());
      power.set("power_param.scale", l.get<double>("gain_param.by"));
      model.remove(l);
    }
    if (model.framework() == "tensorflow" && l.is("Gain")) model.replace(l.output(), l.input(0)), model.remove(l);
  }
}

// An entry of a replacement file names the layer that becomes unknown.
void configured(FrameworkModel& model) {
  for (FrameworkReplacement r : model.replacements()) {
    if (r.id() != "TourSwirl") continue;
    r.take();
    for (FrameworkLayer l : model.layers()) {
      if (l.name() != r.get<std::string>("layer", "")) continue;
      model.add_operation("Swirl", l.name(), l.inputs(), l.outputs(), {{"turns", r.get<int64_t>("turns", 1)}},
                          {Info{DType::f32, Shape{2, Dim()}}});
      model.remove(l);
    }
  }
}

// What must be refused, by the type of a layer.
void hostile(FrameworkModel& model) {
  for (FrameworkLayer l : model.layers()) {
    if (l.domain() != "hostile") continue;
    std::string type = l.type(), in = l.input(0), out = l.output();
    if (type == "Dangling") l.set_input(0, "nowhere");
    if (type == "Removed") model.remove(l);
    if (type == "Cycle") {
      model.add("Relu", "back", {out}, {"loop"});
      l.set_input(0, "loop");
    }
    if (type == "SameValue") model.add("Relu", "more", {in}, {out});
    if (type == "SameName") model.add("Relu", l.name(), {in}, {"other"});
    if (type == "Kind") l.get<int64_t>("text");
    if (type == "Missing") l.get<int64_t>("nothing");
    if (type == "Throws") throw std::runtime_error("out of ideas");
    if (type == "Fails") fail("expected another model");
    if (type == "Output") model.set_outputs({"nowhere"});
    if (type == "Gone") model.remove(l), l.rename("other");
    if (type == "Empty") model.add("", "n", {}, {});
  }
}

Value opaque_rule(Builder& layer) {
  Value x = layer.input(0);
  return layer.opaque("Whirl", {x}, {{"turns", layer.get<int64_t>("turns", 1)}}, {x.info()})[0];
}
// An extension defines it: the node becomes that operation.
Value known_rule(Builder& layer) {
  Value x = layer.input(0);
  return layer.opaque("TourTwice", {x}, {{"times", layer.get<std::string>("times", "2")}}, {x.info()})[0];
}

struct Twice {
  int64_t times = 2;
  static constexpr std::tuple schema{attr("times", &Twice::times, "factor").at_least(1)};
};

}  // namespace

GRAFT_EXTENSION("raw_tour", "1.0") {
  return {
      RawPass("tour_mish").frameworks({"onnx"}).doc("fuse the formula of Mish").apply(fuse_mish),
      RawPass("tour_gains").frameworks({"onnx"}).doc("merge gains").apply(merge_gains),
      RawPass("tour_others").frameworks({"caffe", "tensorflow"}).apply(other_frameworks),
      RawPass("tour_configured").apply(configured),
      RawPass("tour_hostile").frameworks({"onnx"}).apply(hostile).after_replacements(),
      onnx("Opaque").domain("tour").expand(opaque_rule),
      onnx("Known").domain("tour").expand(known_rule),
      op<Twice>("TourTwice", "tour")
          .inputs("x")
          .infer([](Infer& ctx, const Twice&) { ctx.output(0, ctx.input(0)); })
          .reference([](Run& ctx, const Twice& a) {
            std::vector<double> x = ctx.input(0).to<double>();
            for (double& v : x) v *= static_cast<double>(a.times);
            ctx.output(0).assign(x);
          }),
  };
}
