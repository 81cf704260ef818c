#include "readers/tensorflow/tables.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "base/tensor.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

bool is_table(const RawNode& n) {
  return n.type == "HashTable" || n.type == "HashTableV2" || n.type == "MutableHashTable" ||
         n.type == "MutableHashTableV2";
}
bool is_filled_from_tensors(const RawNode& n) {
  return n.type == "InitializeTable" || n.type == "InitializeTableV2" || n.type == "LookupTableImport" ||
         n.type == "LookupTableImportV2";
}
bool is_filled_from_file(const RawNode& n) {
  return n.type == "InitializeTableFromTextFile" || n.type == "InitializeTableFromTextFileV2";
}
bool is_call(const RawNode& n) { return n.type == "PartitionedCall" || n.type == "StatefulPartitionedCall"; }

template <class T>
T field_or(const RawNode& n, std::string_view name, T fallback) {
  const RawField* f = n.find(name);
  const T* v = f ? f->value.get_if<T>() : nullptr;
  return v ? *v : fallback;
}

using Index = std::unordered_map<std::string_view, const TensorFlowNode*>;
Index index_of(const std::vector<TensorFlowNode>& nodes) {
  Index index;
  for (const TensorFlowNode& n : nodes) index.emplace(n.name, &n);
  return index;
}

// One call of a function, or the graph itself.
struct CallFrame {
  const Index* nodes;
  const TensorFlowFunction* function = nullptr;
  const TensorFlowNode* call = nullptr;
  const CallFrame* caller = nullptr;
};
// An output of a node, and the frame of the node.
struct Origin {
  const TensorFlowNode* node = nullptr;
  size_t output = 0;
  const CallFrame* frame = nullptr;
};

// A text file as a table: which column is which.
class TextTable {
 public:
  static constexpr int64_t whole_line = -2, line_number = -1;

  TextTable(const RawNode& n, const RawNode& table)
      : key_(field_or<int64_t>(n, "key_index", 0)),
        value_(field_or<int64_t>(n, "value_index", 0)),
        lines_(field_or<int64_t>(n, "vocab_size", -1)),
        offset_(field_or<int64_t>(n, "offset", 0)),
        delimiter_(field_or<std::string>(n, "delimiter", "\t")),
        key_type_(field_or<DType>(table, "key_dtype", DType::undefined)),
        value_type_(field_or<DType>(table, "value_dtype", DType::undefined)) {
    if (key_ < whole_line || value_ < whole_line)
      throw_user("expected -2 (the line), -1 (its number) or a column for keys and values, got ", key_, " and ",
                 value_);
    if (delimiter_.size() != 1) throw_user("expected one character as column delimiter, got '", delimiter_, "'");
  }

  std::pair<Tensor, Tensor> read(std::string_view content) const {
    std::vector<std::string> keys, values;
    int64_t number = 0;
    while (!content.empty() && (lines_ < 0 || number < lines_)) {
      size_t end = std::min(content.find('\n'), content.size());
      std::string_view line = content.substr(0, end);
      content.remove_prefix(std::min(end + 1, content.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) throw_user("line ", number + 1, " is empty");
      keys.push_back(part(line, number, key_)), values.push_back(part(line, number, value_));
      ++number;
    }
    if (number < lines_) throw_user("expected ", lines_, " lines, got ", number);
    return {typed(std::move(keys), key_type_), typed(std::move(values), value_type_)};
  }

 private:
  std::string part(std::string_view line, int64_t number, int64_t column) const {
    if (column == whole_line) return std::string(line);
    if (column == line_number) return std::to_string(number + offset_);
    std::vector<std::string_view> parts = split(line, delimiter_[0]);
    if (column >= static_cast<int64_t>(parts.size()))
      throw_user("line ", number + 1, ": expected at least ", column + 1, " columns, got ", parts.size());
    return std::string(parts[static_cast<size_t>(column)]);
  }
  static Tensor typed(std::vector<std::string> texts, DType type) {
    std::vector<int64_t> dims{static_cast<int64_t>(texts.size())};
    if (type == DType::string) return Tensor::strings(dims, std::move(texts));
    auto number_of = [&](const std::string& s, auto parse) {
      auto v = parse(s);
      if (!v) throw_user("expected a number of type ", type, ", got '", s, "'");
      return *v;
    };
    if (type == DType::i64 || type == DType::i32) {
      std::vector<int64_t> numbers;
      for (const std::string& s : texts)
        numbers.push_back(number_of(s, [](const std::string& t) { return parse_int(t); }));
      return make_tensor<int64_t>(dims, numbers).to(type);
    }
    if (type != DType::f32 && type != DType::f64)
      throw_unsupported("expected a table of strings, integers, f32 or f64 in a text file, got ", type);
    std::vector<double> numbers;
    for (const std::string& s : texts)
      numbers.push_back(number_of(s, [](const std::string& t) { return parse_number(t); }));
    return make_tensor<double>(dims, numbers).to(type);
  }

  int64_t key_, value_, lines_, offset_;
  std::string delimiter_;
  DType key_type_, value_type_;
};

class Tables {
 public:
  Tables(TensorFlowGraph& graph, const TableSources& sources) : graph_(graph), sources_(sources) {}

  void fill() {
    if (std::none_of(graph_.nodes.begin(), graph_.nodes.end(), is_table)) return;
    for (const TensorFlowFunction& f : graph_.functions) functions_.emplace(f.name, &f);
    nodes_ = index_of(graph_.nodes);
    for (const TensorFlowNode& n : graph_.nodes)
      if ((n.type == "AssignVariableOp" || n.type == "Assign") && n.inputs.size() > 1)
        assigned_.emplace(n.inputs[0], n.inputs[1]);
    CallFrame frame{&nodes_};
    visit(graph_.nodes, frame, 0);
    for (TensorFlowNode& n : graph_.nodes)
      if (auto it = content_.find(n.name); it != content_.end()) {
        RawField keys, values;
        keys.value = it->second.first, values.value = it->second.second;
        n.fields.emplace_back("keys", std::move(keys));
        n.fields.emplace_back("values", std::move(values));
      }
  }

 private:
  // Every initializer of these nodes and of the functions that they call.
  void visit(const std::vector<TensorFlowNode>& nodes, const CallFrame& frame, int depth) {
    spend(nodes.size());
    if (depth > 32) throw_unsupported("the calls that fill the lookup tables are nested too deeply");
    for (const TensorFlowNode& n : nodes) {
      if (is_filled_from_tensors(n) || is_filled_from_file(n)) use(n, frame);
      const TensorFlowFunction* f = is_call(n) ? find_function(field_or<std::string>(n, "f", "")) : nullptr;
      if (!f || !fills_tables(*f, 0)) continue;
      auto [it, fresh] = indices_.try_emplace(f);
      if (fresh) it->second = index_of(f->nodes);
      visit(f->nodes, CallFrame{&it->second, f, &n, &frame}, depth + 1);
    }
  }
  // Calls inside calls may be more than a small file shows.
  void spend(size_t steps) const {
    work_ += steps;
    if (work_ > 20'000'000) throw_unsupported("too many calls fill the lookup tables");
  }
  const TensorFlowFunction* find_function(const std::string& name) const {
    auto it = functions_.find(name);
    return it == functions_.end() ? nullptr : it->second;
  }
  bool fills_tables(const TensorFlowFunction& f, int depth) {
    auto [it, fresh] = fills_.try_emplace(&f, false);
    if (!fresh || depth > 32) return it->second;
    bool fills = false;
    for (const TensorFlowNode& n : f.nodes) {
      fills |= is_filled_from_tensors(n) || is_filled_from_file(n);
      const TensorFlowFunction* inner = is_call(n) ? find_function(field_or<std::string>(n, "f", "")) : nullptr;
      fills |= inner && fills_tables(*inner, depth + 1);
    }
    return fills_[&f] = fills;
  }

  void use(const TensorFlowNode& n, const CallFrame& frame) {
    if (n.inputs.empty()) return;
    Origin table = origin(n.inputs[0], &frame);
    if (!table.node || !is_table(*table.node) || table.frame->caller || content_.count(table.node->name)) return;
    with_context(
        [&] {
          if (is_filled_from_file(n)) {
            from_file(n, *table.node, frame);
          } else if (n.inputs.size() > 2) {
            Tensor keys = constant(n.inputs[1], &frame, 0), values = constant(n.inputs[2], &frame, 0);
            if (keys && values) add(*table.node, std::move(keys), std::move(values));
          }
        },
        [&] { return text("filling the lookup table '", table.node->name, "'"); });
  }
  void add(const TensorFlowNode& table, Tensor keys, Tensor values) {
    if (keys.size() != values.size())
      throw_user("expected as many values as keys (", keys.size(), "), got ", values.size());
    auto flat = [](Tensor t) { return t.dims().size() == 1 ? t : t.reshaped({t.size()}); };
    content_.emplace(table.name, std::pair{flat(std::move(keys)), flat(std::move(values))});
  }

  void from_file(const TensorFlowNode& n, const TensorFlowNode& table, const CallFrame& frame) {
    Origin name = n.inputs.size() > 1 ? origin(n.inputs[1], &frame) : Origin{};
    auto it = name.node ? sources_.assets.find(name.node->name) : sources_.assets.end();
    if (it == sources_.assets.end() || name.frame->caller) return;  // refused when the table is needed
    auto file = open_below(sources_.folder, "assets/" + it->second);
    with_context(
        [&] {
          auto [keys, values] = TextTable(n, table).read(file->chars());
          add(table, std::move(keys), std::move(values));
        },
        [&] { return text("reading '", file->path(), "'"); });
  }

  // The node that makes a value, seen through Identity, arguments of calls, and variables that are written once.
  Origin origin(std::string value, const CallFrame* frame, bool through_variables = true) const {
    for (size_t steps = 0; steps < 10'000; ++steps) {
      auto [name, output] = tensorflow_reference(value);
      spend(1);
      if (frame->function) {
        const std::vector<RawValue>& arguments = frame->function->inputs;
        spend(arguments.size());
        auto a = std::find_if(arguments.begin(), arguments.end(), [&](const RawValue& v) { return v.name == name; });
        if (a != arguments.end()) {
          auto i = static_cast<size_t>(a - arguments.begin());
          if (i >= frame->call->inputs.size()) return {};
          value = frame->call->inputs[i];
          frame = frame->caller;
          continue;
        }
      }
      auto it = frame->nodes->find(name);
      if (it == frame->nodes->end()) return {};
      const TensorFlowNode& n = *it->second;
      if (n.type == "Identity" && !n.inputs.empty()) {
        value = n.inputs[0];
        continue;
      }
      if (n.type == "ReadVariableOp" && !n.inputs.empty() && through_variables) {
        Origin variable = origin(n.inputs[0], frame, false);
        auto given = variable.node ? assigned_.find(variable.node->name) : assigned_.end();
        if (given == assigned_.end() || variable.frame->caller) return {};
        value = given->second;
        frame = variable.frame;
        continue;
      }
      return {&n, output, frame};
    }
    return {};
  }

  // A tensor that is known without running the model; none where it is not.
  Tensor constant(const std::string& value, const CallFrame* frame, int depth) {
    Origin o = origin(value, frame);
    if (!o.node || depth > 8) return {};
    const TensorFlowNode& n = *o.node;
    auto input = [&](size_t i) { return i < n.inputs.size() ? constant(n.inputs[i], o.frame, depth + 1) : Tensor(); };
    if (n.type == "Const") return field_or<Tensor>(n, "value", {});
    if (n.type == "RestoreV2" && sources_.checkpoint) {
      Tensor names = input(1);
      if (!names || names.type() != DType::string || o.output >= static_cast<size_t>(names.size())) return {};
      std::string key(names.text_at(static_cast<int64_t>(o.output)));
      return sources_.checkpoint->has(key) ? sources_.checkpoint->tensor(key) : Tensor();
    }
    if (n.type == "Cast") {
      Tensor x = input(0);
      DType to = field_or<DType>(n, "DstT", DType::undefined);
      bool numbers = x && x.type() != DType::string && to != DType::undefined && to != DType::string;
      return numbers ? x.to(to) : Tensor();
    }
    if (n.type == "Range") return counted(input(0), input(1), input(2));
    return {};
  }
  static Tensor counted(const Tensor& start, const Tensor& stop, const Tensor& step) {
    for (const Tensor* t : {&start, &stop, &step})
      if (!*t || t->size() != 1 || is_real(t->type()) || t->type() == DType::string) return {};
    int64_t from = values_of<int64_t>(start)[0], to = values_of<int64_t>(stop)[0], by = values_of<int64_t>(step)[0];
    constexpr int64_t most = 1 << 22;
    if (by < 1 || from < -most || to > most) return {};
    std::vector<int64_t> numbers;
    for (int64_t i = from; i < to; i += by) numbers.push_back(i);
    return make_tensor<int64_t>({static_cast<int64_t>(numbers.size())}, numbers).to(start.type());
  }

  TensorFlowGraph& graph_;
  const TableSources& sources_;
  Index nodes_;
  std::unordered_map<std::string_view, const TensorFlowFunction*> functions_;
  std::unordered_map<const TensorFlowFunction*, Index> indices_;
  std::unordered_map<const TensorFlowFunction*, bool> fills_;
  std::unordered_map<std::string, std::string> assigned_;  // variable -> the value it is given
  std::unordered_map<std::string, std::pair<Tensor, Tensor>> content_;
  mutable size_t work_ = 0;
};

}  // namespace

void fill_tables(TensorFlowGraph& graph, const TableSources& sources) { Tables(graph, sources).fill(); }

}  // namespace graft
