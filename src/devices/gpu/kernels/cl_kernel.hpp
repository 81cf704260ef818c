// Writing kernels for the GPU: a ClKernel collects arguments, and composes the source around the body of a kernel.
//
//   ClKernel k(ctx, "scale");
//   k.input(0, "x").output(0, "y").number("n", count);
//   k.run("int i = get_global_id(0); STORE_y(i, LOAD_x(i) * 2);", {count});
//
// LOAD_x(i) gives an element in the type T_x that the kernel computes with: float (double for f64), long, ulong, or int
// for booleans. STORE_y(i, v) converts back; floating-point numbers saturate where the output has integers.
// Dimensions are arguments, not macros, so that one program serves all shapes.
#pragma once

#include <graft/kit/cl_types.hpp>
#include <graft/op.hpp>
#include <map>

namespace graft {

inline std::vector<int64_t> cl_strides(std::span<const int64_t> dims) {
  std::vector<int64_t> out(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) out[i - 1] = out[i] * dims[i];
  return out;
}
inline int64_t cl_count(std::span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

class ClKernel {
 public:
  ClKernel(Emit& ctx, std::string_view entry) : ctx_(ctx) { l_.entry = entry; }

  ClKernel& input(size_t i, const std::string& name) {
    access(name, ctx_.type(i), true);
    check_count(ctx_.shape(i));
    return l_.arguments.push_back(Argument::input(i)), *this;
  }
  ClKernel& output(size_t i, const std::string& name) {
    access(name, ctx_.output(i).type, false);
    check_count(ctx_.output(i).shape);
    return l_.arguments.push_back(Argument::output(i)), *this;
  }
  // Elements that are only moved: E_x[i] without regard to what they mean.
  ClKernel& cells_in(size_t i, const std::string& name) {
    parameter("__global const " + cell(name, ctx_.type(i)) + "* " + name);
    check_count(ctx_.shape(i));
    return l_.arguments.push_back(Argument::input(i)), *this;
  }
  ClKernel& cells_out(size_t i, const std::string& name) {
    parameter("__global " + cell(name, ctx_.output(i).type) + "* " + name);
    check_count(ctx_.output(i).shape);
    return l_.arguments.push_back(Argument::output(i)), *this;
  }
  // Scratch memory from Emit::scratch, to be read and written.
  ClKernel& scratch(size_t index, const std::string& name, DType type) {
    access(name, type, false);
    return l_.arguments.push_back(Argument::scratch(index)), *this;
  }
  ClKernel& number(const std::string& name, int64_t v) {
    if (v > INT32_MAX || v < INT32_MIN) unsupported("the GPU kernels count with 32 bits, got ", v);
    parameter("int " + name);
    return l_.arguments.push_back(Argument::number(static_cast<int32_t>(v))), *this;
  }
  ClKernel& numbers(const std::string& name, std::span<const int64_t> list) {
    for (size_t i = 0; i < list.size(); ++i) number(name + std::to_string(i), list[i]);
    return *this;
  }
  ClKernel& real(const std::string& name, double v) {
    parameter("float " + name);
    return l_.arguments.push_back(Argument::real(static_cast<float>(v))), *this;
  }
  ClKernel& define(std::string name, std::string value) {
    return l_.defines.emplace_back(std::move(name), std::move(value)), *this;
  }
  // Functions in front of the kernel.
  ClKernel& with(std::string_view functions) { return functions_ += functions, *this; }

  void run(std::string_view body, std::vector<int64_t> global, std::vector<size_t> local = {}) {
    std::string source(cl_preamble);
    source += macros_ + functions_ + "__kernel void " + l_.entry + "(" + parameters_ + ") {\n";
    source += body;
    source += "\n}\n";
    l_.sources = {{source, ""}};
    for (int64_t g : global) l_.global.push_back(static_cast<size_t>(g));
    l_.local = std::move(local);
    l_.options = "-w";
    ctx_.launch(l_);
  }

 private:
  static void check_count(const Shape& s) {
    if (cl_count(s.values()) > INT32_MAX) unsupported("the GPU kernels count with 32 bits, got shape ", s);
  }
  std::string cell(const std::string& name, DType t) {
    static constexpr const char* words[] = {"uchar", "ushort", "uint", "ulong"};
    std::string word = words[bits_of(t) == 8 ? 0 : bits_of(t) == 16 ? 1 : bits_of(t) == 32 ? 2 : 3];
    macros_ += "#define E_" + name + " " + word + "\n";
    return word;
  }
  void parameter(const std::string& p) { parameters_ += (parameters_.empty() ? "" : ", ") + p; }
  void access(const std::string& name, DType t, bool constant) {
    std::string storage(cl_storage(t)), type(cl_compute(t));
    parameter((constant ? "__global const " : "__global ") + storage + "* " + name);
    macros_ +=
        "#define T_" + name + " " + type + "\n#define E_" + name + " " + storage + "\n#define LOAD_" + name + "(i) ";
    if (t == DType::f16) macros_ += "vload_half((i), " + name + ")";
    else if (t == DType::bf16) macros_ += "as_float((uint)" + name + "[i] << 16)";
    else macros_ += "((" + type + ")" + name + "[i])";
    macros_ += "\n";
    if (constant) return;
    macros_ += "#define STORE_" + name + "(i, v) ";
    if (t == DType::f16) macros_ += "vstore_half_rte((float)(v), (i), " + name + ")";
    else if (t == DType::bf16) macros_ += name + "[i] = to_bf16((float)(v))";
    else if (t == DType::boolean) macros_ += name + "[i] = (v) != 0";
    else macros_ += name + "[i] = (" + storage + ")(v)";
    macros_ += "\n#define STORE_REAL_" + name + "(i, v) ";
    if (is_integer(t)) macros_ += name + "[i] = convert_" + storage + "_sat_rtz(v)";
    else macros_ += "STORE_" + name + "(i, v)";
    macros_ += "\n";
  }

  Emit& ctx_;
  Launch l_;
  std::string parameters_, macros_, functions_;
};

// How the elements of several tensors are found from a position in the output: strides of 0 where a tensor is repeated.
// Neighboring dimensions are merged, so that most nodes need one or two.
struct ClWalk {
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> strides;  // per tensor

  // `shapes`: strides for the dimensions of the output.
  ClWalk(std::span<const int64_t> out, const std::vector<std::vector<int64_t>>& all) {
    strides.resize(all.size());
    for (size_t k = 0; k < out.size(); ++k) {
      if (out[k] == 1) continue;
      bool merge = !dims.empty();
      for (size_t t = 0; t < all.size() && merge; ++t) merge = strides[t].back() == all[t][k] * out[k];
      if (merge) {
        dims.back() *= out[k];
        for (size_t t = 0; t < all.size(); ++t) strides[t].back() = all[t][k];
      } else {
        dims.push_back(out[k]);
        for (size_t t = 0; t < all.size(); ++t) strides[t].push_back(all[t][k]);
      }
    }
    if (dims.empty()) {
      dims = {1};
      for (auto& s : strides) s = {1};
    }
  }
  // Declares `int at_0, at_1, ...`, the positions of the tensors, from `int i`; adds the arguments that it needs.
  std::string code(ClKernel& k) const {
    std::string out;
    if (dims.size() == 1) {
      for (size_t t = 0; t < strides.size(); ++t) {
        std::string at = "  int at_" + std::to_string(t) + " = ";
        int64_t s = strides[t][0];
        if (s == 0 || s == 1) out += at + (s ? "i" : "0") + ";\n";
        else k.number("s" + std::to_string(t) + "_0", s), out += at + "i * s" + std::to_string(t) + "_0;\n";
      }
      return out;
    }
    k.numbers("d", dims);
    out = "  int walk_rest = i, walk_at;\n";
    for (size_t t = 0; t < strides.size(); ++t) {
      k.numbers("s" + std::to_string(t) + "_", strides[t]);
      out += "  int at_" + std::to_string(t) + " = 0;\n";
    }
    for (size_t a = dims.size(); a-- > 0;) {
      std::string n = std::to_string(a);
      out += a ? "  walk_at = walk_rest % d" + n + "; walk_rest /= d" + n + ";\n" : "  walk_at = walk_rest;\n";
      for (size_t t = 0; t < strides.size(); ++t) {
        std::string tensor = std::to_string(t);
        out += "  at_" + tensor + " += walk_at * s" + tensor + "_" + n + ";\n";
      }
    }
    return out;
  }
};

inline size_t cl_axis(int64_t axis, size_t rank) {
  auto n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n) unsupported("expected an axis of a tensor of rank ", rank, ", got ", axis);
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

// Some axes of a tensor belong together: a work item per set of positions on the other axes loops over them, or a team
// of work items where there are enough elements.
struct ClSlots {
  static constexpr int64_t team = 64;
  std::vector<int64_t> dims;   // of the other axes
  std::vector<int64_t> inner;  // of the axes of a slot
  std::vector<int64_t> outer_strides, inner_strides;

  // `teams`: the elements of a slot may be shared among work items.
  ClSlots(std::span<const int64_t> all, const std::vector<bool>& together, bool teams = false) : teams_(teams) {
    std::vector<int64_t> strides = cl_strides(all);
    for (size_t i = 0; i < all.size(); ++i) {
      (together[i] ? inner : dims).push_back(all[i]);
      (together[i] ? inner_strides : outer_strides).push_back(strides[i]);
    }
  }
  int64_t count() const { return cl_count(dims); }
  int64_t share() const { return cl_count(inner); }
  bool has_team() const { return teams_ && share() >= 2 * team; }
  // Declares `int at_0`, the first element of slot `i`; and `i` itself.
  std::string begin(ClKernel& k) const {
    std::string n = std::to_string(team);
    std::string who = has_team()
                          ? "  int i = get_group_id(0), lane = get_local_id(0);\n  __local SUM members[" + n + "];\n"
                          : "  int i = get_global_id(0);\n";
    return who + ClWalk(dims, {outer_strides}).code(k);
  }
  // The value of all members in place of each one's own; `both` combines `a` and `b`.
  std::string joined(const std::string& value, const std::string& both) const {
    if (!has_team()) return "";
    return "  members[lane] = " + value +
           ";\n  barrier(CLK_LOCAL_MEM_FENCE);\n  for (int width = " + std::to_string(team / 2) +
           "; width > 0; width /= 2) {\n    SUM a = members[lane], b = members[lane + width < " + std::to_string(team) +
           " ? lane + width : lane];\n    barrier(CLK_LOCAL_MEM_FENCE);\n    if (lane < width) members[lane] = " +
           both + ";\n    barrier(CLK_LOCAL_MEM_FENCE);\n  }\n  " + value +
           " = members[0];\n  barrier(CLK_LOCAL_MEM_FENCE);\n";
  }
  void run(ClKernel& k, const std::string& body) const {
    if (has_team()) k.run(body, {count() * team}, {static_cast<size_t>(team)});
    else k.run(body, {count()});
  }
  // `body` for every element of the slot, at `int p`.
  std::string each(ClKernel& k, const std::string& body) {
    ClWalk walk(inner, {inner_strides});
    if (!declared_) k.numbers("q", walk.dims).numbers("r", walk.strides[0]);
    declared_ = true;
    std::string loops, at = "at_0";
    for (size_t i = 0; i < walk.dims.size(); ++i) {
      std::string n = std::to_string(i);
      bool shared = has_team() && i + 1 == walk.dims.size();
      loops += "  for (int j" + n + (shared ? " = lane; j" : " = 0; j") + n + " < q" + n + "; j" + n +
               (shared ? " += " + std::to_string(team) : std::string(" += 1")) + ")\n";
      at += " + j" + n + " * r" + n;
    }
    return loops + "  { int p = " + at + "; " + body + " }\n";
  }

 private:
  bool teams_, declared_ = false;
};
inline std::vector<bool> cl_axes(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<bool> out(rank, false);
  for (int64_t a : axes) out[cl_axis(a, rank)] = true;
  return out;
}

// Copies a box of these dimensions from input `in` to output `out`, each with its own offset and strides.
struct ClBox {
  int64_t offset = 0;
  std::vector<int64_t> strides;
};
inline ClBox cl_dense(std::span<const int64_t> dims) { return {0, cl_strides(dims)}; }
inline void cl_move(Emit& ctx, size_t in, size_t out, std::span<const int64_t> dims, const ClBox& from,
                    const ClBox& to) {
  ClKernel k(ctx, "move");
  k.cells_in(in, "x").cells_out(out, "y").number("from", from.offset).number("to", to.offset);
  std::string at = ClWalk(dims, {from.strides, to.strides}).code(k);
  k.run("  int i = get_global_id(0);\n" + at + "  y[to + at_1] = x[from + at_0];", {cl_count(dims)});
}
// A whole output from a box of the input.
inline void cl_move(Emit& ctx, std::span<const int64_t> dims, const ClBox& from) {
  cl_move(ctx, 0, 0, dims, from, cl_dense(dims));
}

// Integers that are needed to compile the node.
inline std::vector<int64_t> cl_values(Emit& ctx, size_t input, std::string_view what) {
  auto v = ctx.values<int64_t>(input);
  if (!v) unsupported("expected constant ", what);
  return *v;
}

// Strides of a tensor that is broadcast to `out`, aligned at the last dimension.
inline std::vector<int64_t> cl_broadcast(std::span<const int64_t> dims, std::span<const int64_t> out) {
  std::vector<int64_t> own = cl_strides(dims), strides(out.size(), 0);
  if (dims.size() > out.size()) unsupported("expected at most ", out.size(), " dimensions, got ", dims.size());
  for (size_t i = 0; i < dims.size(); ++i) strides[out.size() - dims.size() + i] = dims[i] == 1 ? 0 : own[i];
  return strides;
}

}  // namespace graft
