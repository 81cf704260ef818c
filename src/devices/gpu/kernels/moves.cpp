// Operations that move elements without looking at them: boxes with strides on both sides.
#include "cl_kernel.hpp"

namespace graft {
namespace {

void emit_transpose(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), strides = cl_strides(in), order = cl_values(ctx, 1, "order"), dims;
  ClBox from;
  for (size_t i = 0; i < in.size(); ++i) {
    size_t axis = order.empty() ? in.size() - 1 - i : cl_axis(order[i], in.size());
    dims.push_back(in[axis]), from.strides.push_back(strides[axis]);
  }
  cl_move(ctx, dims, from);
}

void emit_concat(Emit& ctx) {
  std::vector<int64_t> out = ctx.output(0).shape.values(), strides = cl_strides(out);
  size_t axis = cl_axis(ctx.attr<int64_t>("axis"), out.size());
  int64_t at = 0;
  for (size_t i = 0; i < ctx.inputs(); ++i) {
    std::vector<int64_t> in = ctx.shape(i).values();
    cl_move(ctx, i, 0, in, cl_dense(in), {at * strides[axis], strides});
    at += in[axis];
  }
}

void emit_split(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), strides = cl_strides(in);
  size_t axis = cl_axis(cl_values(ctx, 1, "axis").at(0), in.size());
  int64_t at = 0;
  for (size_t i = 0; i < ctx.outputs(); ++i) {
    std::vector<int64_t> out = ctx.output(i).shape.values();
    cl_move(ctx, 0, i, out, {at * strides[axis], strides}, cl_dense(out));
    at += out[axis];
  }
}

// The first element of a slice: negative starts count from the end, those out of range are clamped.
int64_t first_of(int64_t n, int64_t start, int64_t step) {
  if (start < 0) start += n;
  return std::clamp<int64_t>(start, 0, std::max<int64_t>(step < 0 ? n - 1 : n, 0));
}

void emit_slice(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), out = ctx.output(0).shape.values();
  std::vector<int64_t> start = cl_values(ctx, 1, "start"), step = cl_values(ctx, 3, "step"), axes;
  if (ctx.has_input(4)) axes = cl_values(ctx, 4, "axes");
  else
    for (size_t i = 0; i < start.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  ClBox from = cl_dense(in);
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t a = cl_axis(axes[i], in.size());
    from.offset += first_of(in[a], start[i], step[i]) * from.strides[a];
    from.strides[a] *= out[a] > 1 ? step[i] : 1;
  }
  cl_move(ctx, out, from);
}

bool in_mask(Emit& ctx, std::string_view name, size_t i) {
  auto mask = ctx.attr<std::vector<int64_t>>(name);
  return i < mask.size() && mask[i] != 0;
}
void emit_strided_slice(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), out = ctx.output(0).shape.values(), strides = cl_strides(in);
  std::vector<int64_t> begin = cl_values(ctx, 1, "begin"), step(begin.size(), 1);
  if (ctx.has_input(3)) step = cl_values(ctx, 3, "strides");
  size_t used = 0, axis = 0, at = 0;
  for (size_t i = 0; i < begin.size(); ++i)
    used += !in_mask(ctx, "ellipsis_mask", i) && !in_mask(ctx, "new_axis_mask", i);
  ClBox from;
  auto whole = [&](size_t count) {
    for (; count > 0; --count, ++at) from.strides.push_back(strides[axis++]);
  };
  bool ellipsis = false;
  for (size_t i = 0; i < begin.size(); ++i) {
    if (in_mask(ctx, "ellipsis_mask", i)) {
      whole(in.size() - used);
      ellipsis = true;
    } else if (in_mask(ctx, "new_axis_mask", i)) {
      from.strides.push_back(0), ++at;
    } else if (in_mask(ctx, "shrink_axis_mask", i)) {
      from.offset += (begin[i] < 0 ? begin[i] + in[axis] : begin[i]) * strides[axis];
      ++axis;
    } else {
      int64_t first =
          in_mask(ctx, "begin_mask", i) ? (step[i] < 0 ? in[axis] - 1 : 0) : first_of(in[axis], begin[i], step[i]);
      from.offset += first * strides[axis];
      from.strides.push_back(strides[axis] * (out.at(at) > 1 ? step[i] : 1));
      ++axis, ++at;
    }
  }
  if (!ellipsis) whole(in.size() - axis);
  cl_move(ctx, out, from);
}

// Every axis becomes two: the repetitions, and the axis itself.
void emit_tile(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), out = ctx.output(0).shape.values(), dims;
  in.insert(in.begin(), out.size() - in.size(), 1);
  std::vector<int64_t> strides = cl_strides(in);
  ClBox from;
  for (size_t i = 0; i < out.size(); ++i) {
    dims.insert(dims.end(), {in[i] ? out[i] / in[i] : 0, in[i]});
    from.strides.insert(from.strides.end(), {0, strides[i]});
  }
  cl_move(ctx, dims, from);
}

void emit_broadcast(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), out = ctx.output(0).shape.values(), strides = cl_strides(in);
  auto mode = ctx.attr<std::string>("mode");
  ClBox from{0, std::vector<int64_t>(out.size(), 0)};
  if (mode == "explicit" || mode == "none") {
    std::vector<int64_t> axes = cl_values(ctx, 2, "axes_mapping");
    for (size_t i = 0; i < axes.size() && i < in.size(); ++i)
      from.strides[cl_axis(axes[i], out.size())] = in[i] == 1 ? 0 : strides[i];
  } else if (mode == "pdpd") {
    unsupported("expected numpy broadcasting, got pdpd");
  } else {
    from.strides = cl_broadcast(in, out);
  }
  cl_move(ctx, out, from);
}

// The input's dimensions split into finer ones, which are permuted.
void reordered(Emit& ctx, const std::vector<int64_t>& finer, const std::vector<size_t>& order) {
  std::vector<int64_t> strides = cl_strides(finer), dims;
  ClBox from;
  for (size_t i : order) dims.push_back(finer[i]), from.strides.push_back(strides[i]);
  cl_move(ctx, dims, from);
}
void emit_depth_to_space(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values();
  auto block = ctx.attr<int64_t>("block_size");
  bool depth_first = ctx.attr<std::string>("mode") == "depth_first";
  size_t n = in.size() - 2;
  std::vector<int64_t> finer{in[0]};
  int64_t depth = in[1];
  for (size_t i = 0; i < n; ++i) depth /= block;
  if (depth_first) finer.push_back(depth);
  for (size_t i = 0; i < n; ++i) finer.push_back(block);
  if (!depth_first) finer.push_back(depth);
  for (size_t i = 0; i < n; ++i) finer.push_back(in[2 + i]);
  std::vector<size_t> order{0, depth_first ? 1 : n + 1};
  for (size_t i = 0; i < n; ++i) order.insert(order.end(), {n + 2 + i, depth_first ? 2 + i : 1 + i});
  reordered(ctx, finer, order);
}
void emit_space_to_depth(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values();
  auto block = ctx.attr<int64_t>("block_size");
  bool depth_first = ctx.attr<std::string>("mode") == "depth_first";
  size_t n = in.size() - 2;
  std::vector<int64_t> finer{in[0], in[1]};
  for (size_t i = 0; i < n; ++i) finer.insert(finer.end(), {in[2 + i] / block, block});
  std::vector<size_t> order{0};
  if (depth_first) order.push_back(1);
  for (size_t i = 0; i < n; ++i) order.push_back(3 + 2 * i);
  if (!depth_first) order.push_back(1);
  for (size_t i = 0; i < n; ++i) order.push_back(2 + 2 * i);
  reordered(ctx, finer, order);
}
void emit_shuffle_channels(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values();
  auto group = ctx.attr<int64_t>("group");
  size_t axis = cl_axis(ctx.attr<int64_t>("axis"), in.size());
  int64_t outer = cl_count(std::span(in).first(axis)), inner = cl_count(std::span(in).subspan(axis + 1));
  reordered(ctx, {outer, group, in[axis] / group, inner}, {0, 2, 1, 3});
}

void emit_reverse(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), given = cl_values(ctx, 1, "axes");
  std::vector<bool> axes(in.size(), false);
  if (ctx.attr<std::string>("mode") == "index") axes = cl_axes(given, in.size());
  else
    for (size_t i = 0; i < in.size() && i < given.size(); ++i) axes[i] = given[i] != 0;
  ClBox from = cl_dense(in);
  for (size_t i = 0; i < in.size(); ++i)
    if (axes[i]) from.offset += (in[i] - 1) * from.strides[i], from.strides[i] = -from.strides[i];
  cl_move(ctx, in, from);
}

void emit_roll(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), strides = cl_strides(in);
  std::vector<int64_t> shift = cl_values(ctx, 1, "shift"), axes = cl_values(ctx, 2, "axes"), by(in.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i)
    by[cl_axis(axes[i], in.size())] += shift.size() == 1 ? shift[0] : shift.at(i);
  ClKernel k(ctx, "roll");
  k.cells_in(0, "x").cells_out(0, "y");
  std::string body = "  int i = get_global_id(0), from = i, c;\n";
  for (size_t a = 0; a < in.size(); ++a) {
    if (in[a] == 0 || by[a] % in[a] == 0) continue;
    std::string n = std::to_string(a);
    k.number("n" + n, in[a]).number("s" + n, strides[a]).number("b" + n, (in[a] - by[a] % in[a]) % in[a]);
    body += "  c = i / s" + n + " % n" + n + "; from += ((c + b" + n + ") % n" + n + " - c) * s" + n + ";\n";
  }
  k.run(body + "  y[i] = x[from];", {cl_count(in)});
}

// Blocks of positions move between the batch and the other axes; what is padded or cropped has its own bounds.
void emit_space_to_batch(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), out = ctx.output(0).shape.values(), strides = cl_strides(in);
  std::vector<int64_t> block = cl_values(ctx, 1, "block_shape"), begin = cl_values(ctx, 2, "pads_begin");
  ClKernel k(ctx, "space_to_batch");
  k.cells_in(0, "x").cells_out(0, "y");
  k.numbers("n", in).numbers("o", out).numbers("s", strides).numbers("b", begin).numbers("m", block);
  std::string body = "  int i = get_global_id(0), rest = i, from = 0, inside = 1, c;\n";
  for (size_t a = in.size(); a-- > 1;) {
    std::string n = std::to_string(a);
    body += "  int c" + n + " = rest % o" + n + "; rest /= o" + n + ";\n";
  }
  // The batch of the result: [blocks..., batch].
  body += "  from += rest % n0 * s0; rest /= n0;\n";
  for (size_t a = in.size(); a-- > 1;) {
    std::string n = std::to_string(a);
    body += "  c = c" + n + " * m" + n + " + rest % m" + n + " - b" + n + "; rest /= m" + n +
            "; inside = inside && c >= 0 && c < n" + n + "; from += c * s" + n + ";\n";
  }
  k.run(body + "  y[i] = inside ? x[from] : (E_y)0;", {cl_count(out)});
}
void emit_batch_to_space(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), out = ctx.output(0).shape.values(), strides = cl_strides(in);
  std::vector<int64_t> block = cl_values(ctx, 1, "block_shape"), begin = cl_values(ctx, 2, "crops_begin");
  ClKernel k(ctx, "batch_to_space");
  k.cells_in(0, "x").cells_out(0, "y");
  k.numbers("o", out).numbers("s", strides).numbers("b", begin).numbers("m", block);
  std::string body = "  int i = get_global_id(0), rest = i, from = 0, batch = 0, step = o0, c;\n";
  for (size_t a = in.size(); a-- > 1;) {
    std::string n = std::to_string(a);
    body += "  c = rest % o" + n + " + b" + n + "; rest /= o" + n + "; from += c / m" + n + " * s" + n +
            "; batch += c % m" + n + " * step; step *= m" + n + ";\n";
  }
  k.run(body + "  y[i] = x[from + (batch + rest) * s0];", {cl_count(out)});
}

// Every sequence of a batch has a length of its own, up to which it is reversed.
void emit_reverse_sequence(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), strides = cl_strides(in);
  size_t batch = cl_axis(ctx.attr<int64_t>("batch_axis"), in.size()),
         seq = cl_axis(ctx.attr<int64_t>("seq_axis"), in.size());
  ClKernel k(ctx, "reverse_sequence");
  k.cells_in(0, "x").input(1, "lengths").cells_out(0, "y");
  k.number("sb", strides[batch]).number("nb", in[batch]).number("ss", strides[seq]).number("ns", in[seq]);
  k.run(R"(  int i = get_global_id(0), b = i / sb % nb, at = i / ss % ns, length = (int)LOAD_lengths(b);
  y[i] = at < length ? x[i + (length - 1 - 2 * at) * ss] : x[i];)",
        {cl_count(in)});
}

// ---- Pad: positions outside of the data are mapped into it, or filled ----

void emit_pad(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), out = ctx.output(0).shape.values(), strides = cl_strides(in);
  std::vector<int64_t> begin = cl_values(ctx, 1, "pads");
  auto mode = ctx.attr<std::string>("pad_mode");
  // Beyond the ends there is nothing to copy, however far; reflections are within bounds.
  for (size_t a = 0; a < std::min(in.size(), begin.size()) && (mode == "constant" || mode == "edge"); ++a)
    begin[a] = std::clamp(begin[a], -in[a], out[a]);
  bool constant = mode == "constant", value = constant && ctx.has_input(3);
  ClKernel k(ctx, "pad");
  k.cells_in(0, "x").cells_out(0, "y");
  if (value) k.cells_in(3, "value");
  k.numbers("n", in).numbers("b", begin).numbers("s", strides).numbers("o", out);
  std::string body = "  int i = get_global_id(0), rest = i, from = 0, inside = 1, c;\n";
  for (size_t a = in.size(); a-- > 0;) {
    std::string t = std::to_string(a);
    body += "  c = rest % o" + t + " - b" + t + "; rest /= o" + t + ";\n";
    if (constant) body += "  inside = inside && c >= 0 && c < n" + t + ";\n";
    else if (mode == "edge") body += "  c = clamp(c, 0, n" + t + " - 1);\n";
    else if (mode == "reflect") body += "  c = c < 0 ? -c : c >= n" + t + " ? 2 * (n" + t + " - 1) - c : c;\n";
    else body += "  c = c < 0 ? -c - 1 : c >= n" + t + " ? 2 * n" + t + " - 1 - c : c;\n";
    body += "  from += c * s" + t + ";\n";
  }
  body += std::string("  y[i] = inside ? x[from] : ") + (value ? "value[0]" : "(E_y)0") + ";";
  k.run(body, {cl_count(out)});
}

}  // namespace

Definitions gpu_moves() {
  Definitions all;
  auto add = [&](const char* op, void (*f)(Emit&)) { all += SourceKernel("GPU", "move").of(op).emit(f); };
  add("Transpose", emit_transpose);
  add("Concat", emit_concat);
  add("Split", emit_split);
  add("VariadicSplit", emit_split);
  add("Slice", emit_slice);
  add("StridedSlice", emit_strided_slice);
  add("Roll", emit_roll);
  add("SpaceToBatch", emit_space_to_batch);
  add("BatchToSpace", emit_batch_to_space);
  add("Reverse", emit_reverse);
  add("ReverseSequence", emit_reverse_sequence);
  add("Tile", emit_tile);
  add("Broadcast", emit_broadcast);
  add("DepthToSpace", emit_depth_to_space);
  add("SpaceToDepth", emit_space_to_depth);
  add("ShuffleChannels", emit_shuffle_channels);
  all += SourceKernel("GPU", "pad").of("Pad").emit(emit_pad);
  return all;
}

}  // namespace graft
