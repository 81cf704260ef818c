// Loop and TensorIterator: run a body repeatedly, over slices of some inputs and with results fed back.
#include <cstring>
#include <graft/op.hpp>

namespace graft {
namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

// The number of iterations that a sliced port provides, and where slice `i` of it begins.
struct Parts {
  int64_t count, first, part, step;
  static Parts of(const graft_port_map& m, int64_t dim) {
    int64_t start = m.start < 0 ? m.start + dim : m.start, end = m.end < 0 ? m.end + dim : m.end;
    int64_t part = m.part_size < 1 ? 1 : m.part_size;
    if (dim == 0) return {0, 0, part, part};
    if (start < 0 || start > dim || end < -1 || end > dim)
      fail("slice ", m.start, " to ", m.end, " is out of range for an axis of ", dim);
    // Both ends are inclusive in TensorIterator files, so 0..-1 is everything; an end of `dim` means the same.
    int64_t low = std::min(start, end), high = std::min(std::max(start, end), dim - 1);
    int64_t count = (high - low + 1) / part;
    return m.stride < 0 ? Parts{count, high + 1 - part, part, -part} : Parts{count, low, part, part};
  }
  int64_t begin(int64_t i) const { return first + i * step; }
};

// A tensor owned by the kernel: a slice of an input, or a concatenated output.
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

// Copies `count` rows along `axis` from row `from` of one tensor to row `to` of another of otherwise equal shape.
void copy_rows(unsigned char* target, std::span<const int64_t> target_dims, int64_t to, const unsigned char* source,
               std::span<const int64_t> source_dims, int64_t from, int64_t count, size_t axis, size_t cell) {
  int64_t outer = count_of(source_dims.first(axis)),
          inner = count_of(source_dims.subspan(axis + 1)) * static_cast<int64_t>(cell);
  if (count * inner == 0) return;  // then there may be no memory at all
  for (int64_t o = 0; o < outer; ++o)
    std::memcpy(target + (o * target_dims[axis] + to) * inner, source + (o * source_dims[axis] + from) * inner,
                at(count * inner));
}
size_t cell_of(DType type) {
  if (is_packed(type)) unsupported("slicing tensors of type ", type, " is not supported");
  return static_cast<size_t>(bits_of(type)) / 8;
}

// What both operations keep from `prepare`.
struct Plan {
  size_t parameters, results;
  std::vector<graft_port_map> inputs, outputs;
  std::vector<graft_back_edge> back_edges;
  int64_t iteration_parameter = -1, condition_result = -1;
  Info iteration;                          // type and shape of the iteration number as the body expects it
  std::vector<std::optional<Info>> infos;  // of the node's outputs
  std::vector<DType> types;                // of the body's parameters, as far as they are known
  std::vector<Info> first;                 // of the body's results in its first iteration; empty if not needed
};

// Types and shapes of the body's parameters in the first iteration. `count` becomes the number of slices if known.
std::vector<Info> first_parameters(const NodeView& ctx, Dim& count) {
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
  return parameters;
}

// An output without slices has the shape that the first iteration would give it. Where the node's own shapes leave it
// open, it follows from those of this call.
std::vector<Info> first_results(Prepare& ctx, const Plan& p) {
  bool open = false;
  for (const graft_port_map& m : p.outputs) {
    if (!m.sliced || m.external < 0 || !p.infos[at(m.external)]) continue;
    const Shape& s = p.infos[at(m.external)]->shape;
    open |= !s.ranked();
    for (size_t i = 0; s.ranked() && i < s.rank(); ++i) open |= !s[i].known() && i != normalize_axis(m.axis, s.rank());
  }
  if (!open) return {};
  Dim count;
  try {
    return ctx.infer_body(0, first_parameters(ctx, count));
  } catch (const Failure&) {  // an error only if the body runs
    return {};
  }
}
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
         {},
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
  for (size_t i = 0; i < p.parameters; ++i) p.types.push_back(b.parameter(i).type);
  p.first = first_results(ctx, p);
  return p;
}
Plan loop_prepare(Prepare& ctx, const NoAttributes&) { return plan_of(ctx); }

// The shape of a sliced output if the body never ran.
std::vector<int64_t> shape_without_slices(const Plan& p, const graft_port_map& m) {
  Shape known = p.infos[at(m.external)] ? p.infos[at(m.external)]->shape : Shape::unknown();
  Shape first = p.first.empty() ? Shape::unknown() : p.first[at(m.internal)].shape;
  if (!known.ranked()) known = first;
  std::vector<int64_t> dims;
  for (size_t i = 0; known.ranked() && i < known.rank(); ++i) {
    bool better = first.ranked() && first.rank() == known.rank() && first[i].known() && !known[i].known();
    dims.push_back(better ? first[i].value() : known[i].min());
  }
  if (dims.empty()) dims.push_back(0);
  dims[normalize_axis(m.axis, dims.size())] = 0;
  return dims;
}

// Also holds for a body that never runs: its outputs have the types that were inferred.
void check_types(Run& ctx, const Plan& p) {
  for (const graft_port_map& m : p.inputs) {
    if (m.external < 0) continue;
    DType expected = p.types[at(m.internal)], type = ctx.input(at(m.external)).type();
    if (expected != DType::undefined && type != expected)
      fail("expected ", expected, " for parameter ", m.internal, " of the body, got ", type);
  }
}

// Runs the body `count` times (-1: until its condition fails).
void iterate(Run& ctx, const Plan& p, int64_t count, bool going, std::span<const int64_t> iteration_dims) {
  check_types(ctx, p);
  std::vector<TensorView> parameters(p.parameters);
  std::vector<std::unique_ptr<Held>> parts(p.inputs.size());
  for (const graft_port_map& m : p.inputs)
    if (m.external >= 0 && !m.sliced) parameters[at(m.internal)] = ctx.input(at(m.external));

  struct Collected {
    std::vector<Held> pieces;
    DType type = DType::undefined;
    int64_t elements = 0, asked = int64_t{1} << 24;
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
      if (done >= cut.count)
        fail("input ", m.external, " has ", cut.count, " parts along axis ", m.axis, ", the body runs once more");
      copy_rows(parts[i]->bytes.data(), parts[i]->dims, 0, static_cast<const unsigned char*>(whole.bytes()),
                whole.dims(), cut.begin(done), cut.part, axis, cell);
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
      if (!m.sliced || m.external < 0 || !ctx.output_used(at(m.external))) continue;
      TensorView r = results[at(m.internal)];
      if (!collected[i].pieces.empty() && collected[i].type != r.type())
        fail("expected slices of output ", m.external, " with the same type, got ", collected[i].type, " and then ",
             r.type());
      Held& h = collected[i].pieces.emplace_back();
      h.dims.assign(r.dims().begin(), r.dims().end());
      collected[i].type = r.type();
      auto bytes = static_cast<const unsigned char*>(r.bytes());
      h.bytes.assign(bytes, bytes + at(r.size()) * cell_of(r.type()));
      // The host knows how large an output may become: ask it now and then, instead of collecting without an end.
      if (Collected& c = collected[i]; (c.elements += r.size()) > c.asked) {
        ctx.allocate(at(m.external), {c.elements});
        c.asked = 2 * c.elements;
      }
    }
    for (const graft_back_edge& e : p.back_edges) parameters[at(e.parameter)] = results[at(e.result)];
    for (TensorView old : before) ctx.release(old);
    if (p.condition_result >= 0) going = results[at(p.condition_result)].scalar<bool>();
  }

  for (size_t i = 0; i < p.outputs.size(); ++i) {
    const graft_port_map& m = p.outputs[i];
    if (m.external < 0 || !ctx.output_used(at(m.external))) continue;
    size_t o = at(m.external);
    if (m.sliced) {
      std::vector<Held>& pieces = collected[i].pieces;
      if (pieces.empty()) {
        ctx.allocate(o, shape_without_slices(p, m));
        continue;
      }
      std::vector<int64_t> dims = pieces[0].dims;
      size_t axis = normalize_axis(m.axis, dims.size());
      dims[axis] = 0;
      for (const Held& h : pieces) {
        std::vector<int64_t> alike = h.dims;
        if (alike.size() == dims.size()) alike[axis] = dims[axis];
        if (alike != dims)
          fail("expected slices of output ", o, " with the same shape, got ", pieces[0].dims, " and then ", h.dims);
        dims[axis] += h.dims[axis];
      }
      OutputView out = ctx.allocate(o, dims);
      if (collected[i].type != out.type())
        fail("expected slices of type ", out.type(), " for output ", o, ", got ", collected[i].type);
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
    if (!last) fail("output ", o, " has no value because the body did not run");
    ctx.allocate(o, last.dims()).assign(last);
  }
}

void loop_run(Run& ctx, const NoAttributes&, const Plan& p) {
  // The body may take the iteration number as a scalar or as a 1-D tensor; inference has determined which.
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
    if (count >= 0 && n != count)
      fail("expected sliced inputs with the same number of slices, got ", count, " and ", n);
    count = n;
  }
  iterate(ctx, p, count < 0 ? 1 : count, true, {});
}

// Shapes: a value fed back may change its shape; dimensions that differ after one iteration are treated as unknown.
void infer_iterations(Infer& ctx, Dim count) {
  BodyView b = ctx.body(0);
  std::vector<Info> parameters = first_parameters(ctx, count), results;
  std::vector<bool> given(b.parameters(), false);
  for (const graft_port_map& m : b.inputs()) given[at(m.internal)] = m.external >= 0;
  for (int round = 0;; ++round) {
    results = ctx.infer_body(0, parameters);
    bool changed = false;
    for (const graft_back_edge& e : b.back_edges()) {
      Info& p = parameters[at(e.parameter)];
      const Info& r = results[at(e.result)];
      if (!given[at(e.parameter)]) continue;
      Shape merged = round < 2 ? either(p.shape, r.shape)
                     : r.shape.ranked() && p.shape.ranked() && r.shape.rank() == p.shape.rank()
                         ? Shape::of_rank(r.shape.rank())
                         : Shape::unknown();
      if (!(p.shape == r.shape) && !(merged == p.shape)) p.shape = merged, changed = true;
    }
    if (!changed) break;  // soon: from the third round on, a shape loses its dimensions and then its rank
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

// The number of iterations of a Loop depends on its body.
void loop_infer(Infer& ctx, const NoAttributes&) { infer_iterations(ctx, Dim()); }
void iterator_infer(Infer& ctx, const NoAttributes&) { infer_iterations(ctx, Dim()); }

}  // namespace

Definitions define_loop() {
  return {
      op("Loop", 5)
          .doc("Run the body while its condition holds, at most trip_count times (-1: no limit)")
          .inputs("trip_count, execution_condition, inputs...")
          .outputs("outputs...")
          .body("")
          .infer(loop_infer)
          .reference(loop_prepare, loop_run),
      op("TensorIterator", 1)
          .doc("Run the body once per slice of the sliced inputs")
          .inputs("inputs...")
          .outputs("outputs...")
          .body("")
          .infer(iterator_infer)
          .reference(loop_prepare, iterator_run),
  };
}

}  // namespace graft
