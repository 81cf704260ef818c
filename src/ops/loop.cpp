// Loop and TensorIterator: a body runs again and again, over parts of some inputs and with results fed back.
#include <cstring>
#include <graft/op.hpp>

#include "onnx/sequence.hpp"

namespace graft {
namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

// How often a sliced port lets the body run, and where part `i` of it begins.
struct Parts {
  int64_t count, first, part, step;
  static Parts of(const graft_port_map& m, int64_t dim) {
    int64_t start = m.start < 0 ? m.start + dim : m.start, end = m.end < 0 ? m.end + dim : m.end;
    int64_t part = m.part_size < 1 ? 1 : m.part_size;
    if (dim == 0) return {0, 0, part, part};
    if (start < 0 || start > dim || end < -1 || end > dim)
      fail("a port is cut from ", m.start, " to ", m.end, " of ", dim);
    // Both ends count in TensorIterator files, so 0..-1 is everything; an end of `dim` means the same.
    int64_t low = std::min(start, end), high = std::min(std::max(start, end), dim - 1);
    int64_t count = (high - low + 1) / part;
    return m.stride < 0 ? Parts{count, high + 1 - part, part, -part} : Parts{count, low, part, part};
  }
  int64_t begin(int64_t i) const { return first + i * step; }
};

// A tensor of the kernel's own: a part of an input, or a collected output.
struct Held {
  std::vector<int64_t> dims;
  std::vector<unsigned char> bytes;
  graft_tensor raw{};
  TensorView view(DType type) {
    raw = {sizeof raw,  static_cast<graft_type>(type), static_cast<int32_t>(dims.size()), 0, dims.data(), nullptr,
           bytes.data()};
    return TensorView(&raw);
  }
};

// Copies `count` rows along `axis` from row `from` of one tensor to row `to` of another that is alike otherwise.
void copy_rows(unsigned char* target, std::span<const int64_t> target_dims, int64_t to, const unsigned char* source,
               std::span<const int64_t> source_dims, int64_t from, int64_t count, size_t axis, size_t cell) {
  int64_t outer = count_of(source_dims.first(axis)),
          inner = count_of(source_dims.subspan(axis + 1)) * static_cast<int64_t>(cell);
  for (int64_t o = 0; o < outer; ++o)
    std::memcpy(target + (o * target_dims[axis] + to) * inner, source + (o * source_dims[axis] + from) * inner,
                at(count * inner));
}
size_t cell_of(DType type) {
  if (is_packed(type)) unsupported("parts of ", type, " tensors");
  return static_cast<size_t>(bits_of(type)) / 8;
}

// What both operations keep from `prepare`.
struct Plan {
  size_t parameters, results;
  std::vector<graft_port_map> inputs, outputs;
  std::vector<graft_back_edge> back_edges;
  int64_t iteration_parameter = -1, condition_result = -1;
  Info iteration;                          // type and shape that the body wants for the iteration number
  std::vector<std::optional<Info>> infos;  // of the node's outputs
};
Plan plan_of(Prepare& ctx) {
  BodyView b = ctx.body(0);
  Plan p{b.parameters(),
         b.results(),
         {b.inputs().begin(), b.inputs().end()},
         {b.outputs().begin(), b.outputs().end()},
         {b.back_edges().begin(), b.back_edges().end()},
         -1,
         -1,
         {},
         {}};
  for (const graft_port_map& m : p.inputs)
    if (m.purpose == GRAFT_CURRENT_ITERATION) {
      p.iteration_parameter = m.internal;
      p.iteration = b.parameter(at(m.internal));
    }
  for (const graft_port_map& m : p.outputs)
    if (m.purpose == GRAFT_EXECUTION_CONDITION) p.condition_result = m.internal;
  for (size_t i = 0; i < ctx.outputs(); ++i) p.infos.push_back(ctx.output(i));
  return p;
}
Plan loop_prepare(Prepare& ctx, const NoAttributes&) { return plan_of(ctx); }

// Runs the body `count` times (-1: until its condition fails).
void iterate(Run& ctx, const Plan& p, int64_t count, bool going, std::span<const int64_t> iteration_dims) {
  std::vector<TensorView> parameters(p.parameters);
  std::vector<std::unique_ptr<Held>> parts(p.inputs.size());
  for (const graft_port_map& m : p.inputs)
    if (m.external >= 0 && !m.sliced) parameters[at(m.internal)] = ctx.input(at(m.external));

  struct Collected {
    std::vector<Held> pieces;
    DType type = DType::undefined;
  };
  std::vector<Collected> collected(p.outputs.size());
  std::vector<TensorView> results;
  std::vector<bool> fed(p.results, false);
  for (const graft_back_edge& e : p.back_edges) fed[at(e.result)] = true;

  int64_t done = 0;
  int64_t number = 0;
  graft_tensor number_raw{
      sizeof number_raw, GRAFT_I64, static_cast<int32_t>(iteration_dims.size()), 0, iteration_dims.data(),
      nullptr,           &number};
  for (; going && (count < 0 || done < count); ++done) {
    if (ctx.cancelled()) fail("the request was cancelled");
    for (size_t i = 0; i < p.inputs.size(); ++i) {
      const graft_port_map& m = p.inputs[i];
      if (!m.sliced) continue;
      TensorView whole = ctx.input(at(m.external));
      size_t axis = normalize_axis(m.axis, whole.rank()), cell = cell_of(whole.type());
      Parts cut = Parts::of(m, whole.dim(axis));
      if (!parts[i]) parts[i] = std::make_unique<Held>();
      parts[i]->dims.assign(whole.dims().begin(), whole.dims().end());
      parts[i]->dims[axis] = cut.part;
      parts[i]->bytes.resize(at(count_of(parts[i]->dims)) * cell);
      copy_rows(parts[i]->bytes.data(), parts[i]->dims, 0, static_cast<unsigned char*>(whole.bytes()), whole.dims(),
                cut.begin(done), cut.part, axis, cell);
      parameters[at(m.internal)] = parts[i]->view(whole.type());
    }
    if (p.iteration_parameter >= 0) {
      number = done;
      parameters[at(p.iteration_parameter)] = TensorView(&number_raw);
    }
    std::vector<TensorView> before = results;
    results = ctx.run_body(0, parameters, p.results);
    for (size_t i = 0; i < p.outputs.size(); ++i) {
      const graft_port_map& m = p.outputs[i];
      if (!m.sliced || m.external < 0) continue;
      TensorView r = results[at(m.internal)];
      Held& h = collected[i].pieces.emplace_back();
      h.dims.assign(r.dims().begin(), r.dims().end());
      collected[i].type = r.type();
      auto bytes = static_cast<unsigned char*>(r.bytes());
      h.bytes.assign(bytes, bytes + at(r.size()) * cell_of(r.type()));
    }
    for (const graft_back_edge& e : p.back_edges) parameters[at(e.parameter)] = results[at(e.result)];
    for (TensorView old : before) ctx.release(old);
    if (p.condition_result >= 0) going = results[at(p.condition_result)].scalar<bool>();
  }

  for (size_t i = 0; i < p.outputs.size(); ++i) {
    const graft_port_map& m = p.outputs[i];
    if (m.external < 0 || !ctx.wants(at(m.external))) continue;
    size_t o = at(m.external);
    if (m.sliced) {
      std::vector<Held>& pieces = collected[i].pieces;
      if (pieces.empty()) {
        // Nothing ran: the shape is what inference knows, with nothing along the axis.
        std::vector<int64_t> dims;
        if (p.infos[o] && p.infos[o]->shape.ranked())
          for (const Dim& d : p.infos[o]->shape) dims.push_back(d.known() ? d.value() : 0);
        if (dims.empty()) dims.push_back(0);
        dims[normalize_axis(m.axis, dims.size())] = 0;
        ctx.allocate(o, dims);
        continue;
      }
      std::vector<int64_t> dims = pieces[0].dims;
      size_t axis = normalize_axis(m.axis, dims.size());
      dims[axis] = 0;
      for (const Held& h : pieces) {
        std::vector<int64_t> alike = h.dims;
        if (alike.size() == dims.size()) alike[axis] = dims[axis];
        if (alike != dims) fail("output ", o, " was collected with ", pieces[0].dims, ", then with ", h.dims);
        dims[axis] += h.dims[axis];
      }
      TensorView out = ctx.allocate(o, dims);
      if (m.stride < 0) std::reverse(pieces.begin(), pieces.end());
      int64_t to = 0;
      for (const Held& h : pieces) {
        copy_rows(static_cast<unsigned char*>(out.bytes()), dims, to, h.bytes.data(), h.dims, 0, h.dims[axis], axis,
                  cell_of(out.type()));
        to += h.dims[axis];
      }
      continue;
    }
    TensorView last;
    if (done > 0) last = results[at(m.internal)];
    for (const graft_back_edge& e : p.back_edges)
      if (done == 0 && e.result == m.internal) last = parameters[at(e.parameter)];
    if (!last) fail("output ", o, " has no value: the body did not run");
    ctx.allocate(o, last.dims()).assign(last);
  }
}

void loop_run(Run& ctx, const NoAttributes&, const Plan& p) {
  // The body may want the number as a scalar or as a list of one; the inference has settled which.
  std::vector<int64_t> dims;
  if (p.iteration.shape.ranked() && p.iteration.shape.rank() == 1) dims.push_back(1);
  iterate(ctx, p, ctx.input(0).scalar<int64_t>(), ctx.input(1).scalar<bool>(), dims);
}

void iterator_run(Run& ctx, const NoAttributes&, const Plan& p) {
  int64_t count = -1;
  for (const graft_port_map& m : p.inputs) {
    if (!m.sliced) continue;
    TensorView whole = ctx.input(at(m.external));
    int64_t n = Parts::of(m, whole.dim(normalize_axis(m.axis, whole.rank()))).count;
    if (count >= 0 && n != count) fail("one input is cut into ", count, " parts, another into ", n);
    count = n;
  }
  iterate(ctx, p, count < 0 ? 1 : count, true, {});
}

// Shapes: a value that is fed back may change its shape; what differs after one pass counts as unknown.
void infer_iterations(Infer& ctx, Dim count) {
  BodyView b = ctx.body(0);
  std::vector<Info> parameters(b.parameters());
  for (const graft_port_map& m : b.inputs()) {
    if (m.external < 0) continue;
    Info& p = parameters[at(m.internal)];
    p = ctx.input(at(m.external));
    if (!m.sliced || !p.shape.ranked()) continue;
    size_t axis = normalize_axis(m.axis, p.shape.rank());
    if (p.shape[axis].known() && !count.known()) count = Dim(Parts::of(m, p.shape[axis].value()).count);
    p.shape[axis] = Dim(std::max<int64_t>(m.part_size, 1));
  }
  std::vector<Info> results;
  for (int round = 0;; ++round) {
    results = ctx.infer_body(0, parameters);
    bool changed = false;
    for (const graft_back_edge& e : b.back_edges()) {
      Info& p = parameters[at(e.parameter)];
      const Info& r = results[at(e.result)];
      if (p.type == DType::undefined) continue;
      Shape merged = round < 2 ? either(p.shape, r.shape)
                     : r.shape.ranked() && p.shape.ranked() && r.shape.rank() == p.shape.rank()
                         ? Shape::of_rank(r.shape.rank())
                         : Shape::unknown();
      if (!(p.shape == r.shape) && !(merged == p.shape)) p.shape = merged, changed = true;
    }
    if (!changed || round > 3) break;
  }
  for (const graft_port_map& m : b.outputs()) {
    if (m.external < 0) continue;
    Info out = results[at(m.internal)];
    if (m.sliced && out.shape.ranked()) {
      size_t axis = normalize_axis(m.axis, out.shape.rank());
      out.shape[axis] = count * out.shape[axis];
    }
    if (!m.sliced)
      for (const graft_back_edge& e : b.back_edges())
        if (e.result == m.internal && !(count.known() && count.value() > 0))
          out.shape = either(out.shape, parameters[at(e.parameter)].shape);
    ctx.output(at(m.external), out);
  }
}

// How often a Loop runs depends on what its body decides.
void loop_infer(Infer& ctx, const NoAttributes&) { infer_iterations(ctx, Dim()); }
void iterator_infer(Infer& ctx, const NoAttributes&) { infer_iterations(ctx, Dim()); }

// ---- ONNX ----

graft_port_map plain(int64_t external, int64_t internal) { return {external, internal, 0, 0, 0, 0, 0, 0, 0}; }
graft_port_map stacked(int64_t external, int64_t internal, int64_t axis, bool backwards) {
  return {external, internal, 1, 0, axis, backwards ? -1 : 0, backwards ? 0 : -1, backwards ? -1 : 1, 1};
}

// Imports the body anew with less certain shapes until values that are fed back keep theirs. `states` are pairs of
// parameter and result.
template <class Prologue, class Epilogue>
ImportedBody stable_body(Import& layer, std::vector<Info>& parameters,
                         const std::vector<std::pair<size_t, size_t>>& states, Prologue prologue, Epilogue epilogue) {
  for (int round = 0;; ++round) {
    ImportedBody body = layer.body("body", parameters, prologue, epilogue);
    bool changed = false;
    for (auto [parameter, result] : states) {
      Shape& p = parameters[parameter].shape;
      const Shape& r = body.results.at(result).shape;
      if (p == r) continue;
      Shape next = round < 1                                                       ? either(p, r)
                   : round < 2 && p.ranked() && r.ranked() && p.rank() == r.rank() ? Shape::of_rank(p.rank())
                                                                                   : Shape::unknown();
      if (!(next == p)) p = next, changed = true;
    }
    if (!changed || round >= 3) return body;
  }
}

// A state of a loop: one tensor; a sequence of fixed length, item by item; or a sequence that was empty or otherwise
// grows, whose new items are collected.
struct LoopState {
  enum Kind { tensor, items, growing } kind = tensor;
  size_t first = 0, count = 1;  // parameters
  std::vector<Value> before;    // of a sequence
};
std::vector<LoopState> loop_states(Import& layer, std::vector<Value>& inputs, std::vector<Info>& parameters) {
  std::vector<LoopState> states;
  for (size_t i = 2; i < layer.inputs(); ++i) {
    Value v = layer.input(i);
    LoopState s{LoopState::tensor, parameters.size(), 1, {v}};
    if (auto list = v.items()) {
      bool runs = std::any_of(list->begin(), list->end(), [](const Value& item) { return item.items().has_value(); });
      s.kind = list->empty() || runs ? LoopState::growing : LoopState::items;
      s.count = s.kind == LoopState::items ? list->size() : 0;
      s.before = *list;
    }
    if (s.kind != LoopState::growing)
      for (const Value& item : s.before) inputs.push_back(item), parameters.push_back(item.info());
    states.push_back(std::move(s));
  }
  return states;
}

std::vector<Value> import_loop(Import& layer) {
  Value trips = layer.has_input(0) ? convert(layer.input(0), DType::i64) : layer.scalar(int64_t{-1});
  Value condition = layer.has_input(1) ? layer.input(1) : layer.truth(true);
  std::vector<Info> parameters{{DType::i64, Shape()}, {DType::boolean, Shape()}};
  std::vector<Value> inputs{trips, condition, condition};
  std::vector<LoopState> states = loop_states(layer, inputs, parameters);
  size_t given = parameters.size();

  auto prologue = [&](Import& body) {
    body.output(0, body.input(0));
    body.output(1, body.input(1));
    for (size_t i = 0; i < states.size(); ++i) {
      const LoopState& s = states[i];
      std::vector<Value> items;
      for (size_t k = 0; k < s.count; ++k) items.push_back(body.input(s.first + k));
      if (s.kind == LoopState::growing) items.push_back(sequence_so_far(body));
      body.output(2 + i, s.kind == LoopState::tensor ? items[0] : body.list(items));
    }
  };
  // Values collected over the iterations get an axis of their own to be joined along.
  auto epilogue = [&](Import& body) {
    if (body.inputs() < 1 + states.size())
      fail("the body has ", body.inputs(), " outputs, at least ", 1 + states.size(), " are wanted");
    for (size_t i = 0; i < body.inputs(); ++i) {
      Value v = body.input(i);
      const LoopState* s = i > 0 && i <= states.size() ? &states[i - 1] : nullptr;
      if (s && s->kind == LoopState::items && (!v.items() || v.items()->size() != s->count))
        unsupported("a sequence of ", s->count, " items whose length changes in a loop");
      if (s && s->kind == LoopState::growing) body.output(i, unsqueeze(sequence_growth(v), {0}));
      else body.output(i, i <= states.size() ? v : unsqueeze(v, {0}));
    }
  };
  // Results follow the body's outputs: the condition, the states, what is collected.
  std::vector<std::pair<size_t, size_t>> fed;
  std::vector<bool> collected{false};
  for (const LoopState& s : states) {
    if (s.kind == LoopState::growing) collected.push_back(true);
    for (size_t k = 0; k < s.count; ++k) fed.emplace_back(s.first + k, collected.size()), collected.push_back(false);
  }
  bool plain_states = given == 2 + states.size() && fed.size() == states.size();
  ImportedBody body = plain_states ? stable_body(layer, parameters, fed, nullptr, epilogue)
                                   : stable_body(layer, parameters, fed, prologue, epilogue);
  collected.resize(body.results.size(), true);

  BodyUse use{body.id, {}, {}, {}};
  graft_port_map iteration = plain(-1, 0);
  iteration.purpose = GRAFT_CURRENT_ITERATION;
  for (size_t i = 1; i < given; ++i) use.inputs.push_back(plain(static_cast<int64_t>(i + 1), static_cast<int64_t>(i)));
  for (size_t i = 0; i < body.captured.size(); ++i) {
    use.inputs.push_back(plain(static_cast<int64_t>(inputs.size()), static_cast<int64_t>(given + i)));
    inputs.push_back(body.captured[i]);
  }
  use.inputs.push_back(iteration);
  for (size_t i = 1; i < body.results.size(); ++i) {
    auto external = static_cast<int64_t>(i - 1), internal = static_cast<int64_t>(i);
    use.outputs.push_back(collected[i] ? stacked(external, internal, 0, false) : plain(external, internal));
  }
  graft_port_map going = plain(-1, 0);
  going.purpose = GRAFT_EXECUTION_CONDITION;
  use.outputs.push_back(going);
  use.back_edges.push_back({0, 1});
  for (auto [parameter, result] : fed)
    use.back_edges.push_back({static_cast<int64_t>(result), static_cast<int64_t>(parameter)});
  std::vector<Value> results = layer.make("Loop", inputs, {}, body.results.size() - 1, {use}), outputs;

  auto next = results.begin();
  for (const LoopState& s : states) {
    if (s.kind == LoopState::tensor) {
      outputs.push_back(*next++);
      continue;
    }
    std::vector<Value> items = s.kind == LoopState::growing ? s.before : std::vector<Value>();
    for (size_t k = 0; k < s.count; ++k) items.push_back(*next++);
    if (s.kind == LoopState::growing) items.push_back(sequence_run(*next++));
    outputs.push_back(layer.list(items));
  }
  outputs.insert(outputs.end(), next, results.end());
  return outputs;
}

// Scan: states go round, scan inputs are cut and scan outputs stacked, each along its own axis and in its own
// direction.
std::vector<Value> import_scan(Import& layer) {
  bool old = layer.version() < 9;  // with a batch in front, and sequence lengths as input 0
  size_t skip = old ? 1 : 0, given = layer.inputs() - skip;
  auto scans = static_cast<size_t>(layer.get<int64_t>("num_scan_inputs"));
  if (old && layer.has_input(0)) unsupported("Scan with sequence lengths");
  if (scans == 0 || scans > given) fail("num_scan_inputs is ", scans, " with ", given, " inputs");
  size_t states = given - scans;
  auto list = [&](const char* name) { return layer.get<std::vector<int64_t>>(name, {}); };
  std::vector<int64_t> in_axes = list("scan_input_axes"),
                       in_directions = list(old ? "directions" : "scan_input_directions");
  std::vector<int64_t> out_axes = list("scan_output_axes"), out_directions = list("scan_output_directions");
  auto pick = [](const std::vector<int64_t>& v, size_t i) { return i < v.size() ? v[i] : 0; };

  std::vector<Value> inputs;
  std::vector<Info> parameters;
  std::vector<int64_t> axes(scans);
  for (size_t i = 0; i < given; ++i) {
    Value v = layer.input(skip + i);
    if (old) {
      if (!v.shape()[0].can_be(1)) unsupported("Scan of opset 8 over a batch of ", v.shape()[0]);
      v = squeeze(v, {0});
    }
    inputs.push_back(v);
    Info info = v.info();
    if (i >= states) {
      size_t axis = normalize_axis(pick(in_axes, i - states), v.rank());
      axes[i - states] = static_cast<int64_t>(axis);
      info.shape[axis] = Dim(1);
    }
    parameters.push_back(info);
  }
  auto prologue = [&](Import& body) {
    for (size_t i = 0; i < given; ++i)
      body.output(i, i < states ? body.input(i) : squeeze(body.input(i), {axes[i - states]}));
  };
  auto epilogue = [&](Import& body) {
    for (size_t i = 0; i < body.inputs(); ++i) {
      if (i < states) body.output(i, body.input(i));
      else body.output(i, unsqueeze(body.input(i), {pick(out_axes, i - states)}));
    }
  };
  std::vector<std::pair<size_t, size_t>> fed;
  for (size_t i = 0; i < states; ++i) fed.emplace_back(i, i);
  ImportedBody body = stable_body(layer, parameters, fed, prologue, epilogue);
  BodyUse use{body.id, {}, {}, {}};
  for (size_t i = 0; i < given; ++i) {
    auto k = static_cast<int64_t>(i);
    use.inputs.push_back(i < states ? plain(k, k)
                                    : stacked(k, k, axes[i - states], pick(in_directions, i - states) == 1));
    if (i < states) use.back_edges.push_back({k, k});
  }
  for (size_t i = 0; i < body.captured.size(); ++i) {
    use.inputs.push_back(plain(static_cast<int64_t>(inputs.size()), static_cast<int64_t>(given + i)));
    inputs.push_back(body.captured[i]);
  }
  for (size_t i = 0; i < body.results.size(); ++i) {
    auto k = static_cast<int64_t>(i);
    // An axis counted from the end counts in the stacked result.
    use.outputs.push_back(
        i < states ? plain(k, k) : stacked(k, k, pick(out_axes, i - states), pick(out_directions, i - states) == 1));
  }
  std::vector<Value> out = layer.make("TensorIterator", inputs, {}, body.results.size(), {use});
  if (old)
    for (Value& v : out) v = unsqueeze(v, {0});
  return out;
}

}  // namespace

Ops define_loop() {
  return {
      op("Loop", 5)
          .doc("Runs the body while its condition holds, at most trip_count times (-1: no limit).")
          .inputs("trip_count, execution_condition, inputs...")
          .outputs("outputs...")
          .body("")
          .infer(loop_infer)
          .reference(loop_prepare, loop_run)
          .import(onnx("Loop").expand(import_loop))
          .import(tensorflow("Loop").domain("graft").expand(import_loop)),
      op("TensorIterator", 1)
          .doc("Runs the body once for each part of the inputs that are cut.")
          .inputs("inputs...")
          .outputs("outputs...")
          .body("")
          .infer(iterator_infer)
          .reference(loop_prepare, iterator_run)
          .import(onnx("Scan").expand(import_scan)),
  };
}

}  // namespace graft
