#include "readers/pytorch/pickle.hpp"

#include <bit>
#include <cstring>
#include <map>

#include "base/error.hpp"
#include "readers/pytorch/tensors.hpp"

namespace graft {
namespace {

using Kind = Pickled::Kind;

DType storage_type(std::string_view name) {
  constexpr std::pair<std::string_view, DType> types[] = {
      {"torch.FloatStorage", DType::f32},     {"torch.DoubleStorage", DType::f64}, {"torch.HalfStorage", DType::f16},
      {"torch.BFloat16Storage", DType::bf16}, {"torch.LongStorage", DType::i64},   {"torch.IntStorage", DType::i32},
      {"torch.ShortStorage", DType::i16},     {"torch.CharStorage", DType::i8},    {"torch.ByteStorage", DType::u8},
      {"torch.BoolStorage", DType::boolean}};
  for (const auto& [n, t] : types)
    if (n == name) return t;
  throw_unsupported("the pickle refers to '", name, "', which is not supported");
}

bool makes_tensor(std::string_view name) {
  return name == "torch._utils._rebuild_tensor_v2" || name == "torch._utils._rebuild_tensor";
}
bool passes_on_tensor(std::string_view name) {
  return name == "torch._utils._rebuild_parameter" || name == "torch._utils._rebuild_parameter_with_state" ||
         name == "torch._tensor._rebuild_from_type_v2";
}

// The functions and classes that a pickle may name.
void check_allowed(std::string_view name) {
  if (makes_tensor(name) || passes_on_tensor(name) || name == "collections.OrderedDict") return;
  storage_type(name);
}

class Machine {
 public:
  Machine(const ZipArchive& archive, std::string_view root, std::string_view code, const Limits& limits)
      : archive_(archive), root_(root), code_(code), limits_(limits) {}

  PickledRef run() {
    while (true) {
      auto op = static_cast<unsigned char>(bytes(1)[0]);
      if (op == '.') break;
      step(op);
    }
    if (stack_.size() != 1) throw_user("the pickle is corrupt: expected one value at its end, got ", stack_.size());
    return stack_[0];
  }

 private:
  std::string_view bytes(uint64_t n) {
    if (n > code_.size() - at_) throw_user("the pickle is truncated");
    std::string_view out = code_.substr(at_, n);
    at_ += n;
    return out;
  }
  uint64_t little(unsigned width) {
    uint64_t v = 0;
    std::memcpy(&v, bytes(width).data(), width);
    return v;
  }
  std::string line() {
    size_t end = code_.find('\n', at_);
    if (end == code_.npos) throw_user("the pickle is truncated");
    std::string out(bytes(end - at_));
    bytes(1);
    return out;
  }

  PickledRef made(Kind kind) {
    if (++values_ > limits_.nodes) throw_limit(&Limits::nodes, "the pickle has more than ", limits_.nodes, " values");
    auto v = std::make_shared<Pickled>();
    v->kind = kind;
    return v;
  }
  void push(PickledRef v) { stack_.push_back(std::move(v)); }
  void push_int(int64_t n) {
    push(made(Kind::integer));
    stack_.back()->whole = n;
  }
  void push_text(std::string_view s) {
    push(made(Kind::text));
    stack_.back()->chars = s;
  }
  PickledRef pop() {
    if (stack_.empty() || stack_.back()->kind == Kind::mark) throw_user("the pickle is corrupt: its stack is empty");
    PickledRef v = stack_.back();
    stack_.pop_back();
    return v;
  }
  std::vector<PickledRef> pop_to_mark() {
    size_t i = stack_.size();
    while (i > 0 && stack_[i - 1]->kind != Kind::mark) --i;
    if (i == 0) throw_user("the pickle is corrupt: a mark is missing");
    std::vector<PickledRef> out(stack_.begin() + static_cast<ptrdiff_t>(i), stack_.end());
    stack_.resize(i - 1);
    return out;
  }
  void push_tuple(std::vector<PickledRef> items) {
    push(made(Kind::list));
    stack_.back()->items = std::move(items);
  }
  void push_tuple_of(size_t n) {
    std::vector<PickledRef> items(n);
    for (size_t i = n; i-- > 0;) items[i] = pop();
    push_tuple(std::move(items));
  }
  // The list or dict below the items.
  Pickled& top(Kind kind) {
    if (stack_.empty() || stack_.back()->kind != kind)
      throw_user("the pickle is corrupt: expected a ", kind == Kind::dict ? "dict" : "list", " on its stack");
    return *stack_.back();
  }
  void add_to(Kind kind, std::vector<PickledRef> items) {
    Pickled& to = top(kind);
    if (kind == Kind::dict && items.size() % 2) throw_user("the pickle is corrupt: a dict has a key without a value");
    for (const PickledRef& v : items)
      if (v.get() == &to) throw_user("the pickle has a value that contains itself");
    to.items.insert(to.items.end(), items.begin(), items.end());
  }
  void memoize(uint64_t key) {
    if (stack_.empty()) throw_user("the pickle is corrupt: its stack is empty");
    memo_[key] = stack_.back();
  }
  void recall(uint64_t key) {
    auto it = memo_.find(key);
    if (it == memo_.end()) throw_user("the pickle is corrupt: it refers to value ", key, ", which does not exist");
    push(it->second);
  }

  void step(unsigned char op) {
    switch (op) {
      case 0x80: bytes(1); break;               // PROTO
      case 0x95: bytes(8); break;               // FRAME
      case '(': push(made(Kind::mark)); break;  // MARK
      case 'N': push(made(Kind::none)); break;  // NONE
      case 0x88: push(made(Kind::boolean)), stack_.back()->whole = 1; break;
      case 0x89: push(made(Kind::boolean)); break;
      case 'K': push_int(static_cast<int64_t>(little(1))); break;  // BININT1
      case 'M': push_int(static_cast<int64_t>(little(2))); break;  // BININT2
      case 'J': push_int(static_cast<int32_t>(little(4))); break;  // BININT
      case 0x8a: push_long(); break;                               // LONG1
      case 'G': push_double(); break;                              // BINFLOAT
      case 'X': push_text(bytes(little(4))); break;                // BINUNICODE
      case 0x8c: push_text(bytes(little(1))); break;               // SHORT_BINUNICODE
      case 0x8d: push_text(bytes(little(8))); break;               // BINUNICODE8
      case '}': push(made(Kind::dict)); break;                     // EMPTY_DICT
      case ']':
      case ')': push(made(Kind::list)); break;     // EMPTY_LIST, EMPTY_TUPLE
      case 't': push_tuple(pop_to_mark()); break;  // TUPLE
      case 0x85: push_tuple_of(1); break;
      case 0x86: push_tuple_of(2); break;
      case 0x87: push_tuple_of(3); break;
      case 'u': {
        auto items = pop_to_mark();
        add_to(Kind::dict, std::move(items));
        break;
      }  // SETITEMS
      case 'e': {
        auto items = pop_to_mark();
        add_to(Kind::list, std::move(items));
        break;
      }  // APPENDS
      case 's': {
        PickledRef v = pop(), k = pop();
        add_to(Kind::dict, {k, v});
        break;
      }  // SETITEM
      case 'a': {
        PickledRef v = pop();
        add_to(Kind::list, {v});
        break;
      }                                         // APPEND
      case 'q': memoize(little(1)); break;      // BINPUT
      case 'r': memoize(little(4)); break;      // LONG_BINPUT
      case 0x94: memoize(memo_.size()); break;  // MEMOIZE
      case 'h': recall(little(1)); break;       // BINGET
      case 'j': recall(little(4)); break;       // LONG_BINGET
      case 'c': {
        std::string module = line(), name = line();
        push_name(module + "." + name);
        break;
      }                                        // GLOBAL
      case 0x93: push_stack_name(); break;     // STACK_GLOBAL
      case 'Q': push(storage(*pop())); break;  // BINPERSID
      case 'R': reduce(); break;               // REDUCE
      case 'b': pop(); break;                  // BUILD: state of an OrderedDict
      default:
        throw_unsupported("the pickle uses opcode ", static_cast<int>(op),
                          ", which is not supported: only data is read");
    }
  }
  void push_name(std::string name) {
    check_allowed(name);
    push(made(Kind::name));
    stack_.back()->chars = std::move(name);
  }
  void push_stack_name() {
    PickledRef name = pop(), module = pop();
    if (name->kind != Kind::text || module->kind != Kind::text) throw_user("the pickle is corrupt: expected a name");
    push_name(module->chars + "." + name->chars);
  }
  void push_long() {
    auto n = little(1);
    if (n > 8) throw_unsupported("the pickle has an integer of ", n, " bytes, expected at most 8");
    std::string_view b = bytes(n);
    uint64_t v = n && static_cast<signed char>(b.back()) < 0 ? ~uint64_t{0} : 0;
    std::memcpy(&v, b.data(), n);
    push_int(static_cast<int64_t>(v));
  }
  void push_double() {
    uint64_t v = 0;
    for (char c : bytes(8)) v = v << 8 | static_cast<unsigned char>(c);
    push(made(Kind::number));
    stack_.back()->real = std::bit_cast<double>(v);
  }

  // ("storage", type, key, device, number of elements)
  PickledRef storage(const Pickled& id) {
    bool fits = id.kind == Kind::list && id.items.size() >= 5 && id.items[0]->chars == "storage" &&
                id.items[1]->kind == Kind::name && id.items[2]->kind == Kind::text &&
                id.items[4]->kind == Kind::integer;
    if (!fits) throw_user("the pickle is corrupt: expected a reference to a storage");
    const std::string& key = id.items[2]->chars;
    const ZipEntry* e = archive_.find(std::string(root_) + "data/" + key);
    if (!e) throw_user("storage '", key, "' is missing in the archive");
    ZipContent c = archive_.content(*e);
    DType type = storage_type(id.items[1]->chars);
    auto cell = static_cast<uint64_t>(bits_of(type)) / 8;
    int64_t n = id.items[4]->whole;
    if (n < 0 || static_cast<uint64_t>(n) > c.bytes.size() / cell)
      throw_user("storage '", key, "' has ", c.bytes.size(), " bytes, expected ", n, " elements of ", type);
    PickledRef out = made(Kind::storage);
    out->data = Tensor::wrap(type, {n}, const_cast<char*>(c.bytes.data()), c.keeper);
    return out;
  }

  std::vector<int64_t> ints(const Pickled& v) {
    std::vector<int64_t> out;
    if (v.kind != Kind::list) throw_user("the pickle is corrupt: expected a tuple of integers");
    for (const PickledRef& i : v.items) {
      if (i->kind != Kind::integer) throw_user("the pickle is corrupt: expected integers as sizes and strides");
      out.push_back(i->whole);
    }
    return out;
  }
  void reduce() {
    PickledRef args = pop(), f = pop();
    if (f->kind != Kind::name || args->kind != Kind::list) throw_user("the pickle is corrupt: expected a function");
    const std::vector<PickledRef>& a = args->items;
    if (f->chars == "collections.OrderedDict") return push(made(Kind::dict));
    if (makes_tensor(f->chars)) {
      if (a.size() < 4 || a[0]->kind != Kind::storage || a[1]->kind != Kind::integer)
        throw_user("the pickle is corrupt: expected a storage, an offset, sizes and strides of a tensor");
      PickledRef t = made(Kind::tensor);
      const Tensor& s = a[0]->data;
      t->data = strided_tensor({static_cast<const char*>(s.data()), s.bytes()}, std::make_shared<Tensor>(s), s.type(),
                               ints(*a[2]), ints(*a[3]), a[1]->whole, limits_);
      return push(t);
    }
    if (f->chars == "torch._tensor._rebuild_from_type_v2")
      throw_unsupported("the pickle has tensors of a class of their own, which is not supported");
    if (passes_on_tensor(f->chars) && !a.empty() && a[0]->kind == Kind::tensor) return push(a[0]);
    throw_user("the pickle is corrupt: '", f->chars, "' is not called with what it takes");
  }

  const ZipArchive& archive_;
  std::string_view root_, code_;
  const Limits& limits_;
  size_t at_ = 0;
  uint64_t values_ = 0;
  std::vector<PickledRef> stack_;
  std::map<uint64_t, PickledRef> memo_;
};

}  // namespace

PickledRef read_torch_save(const ZipContent& saved, const Limits& limits) {
  ZipArchive archive(saved.bytes, saved.keeper, limits);
  const ZipEntry* code = archive.ending("data.pkl");
  if (!code) throw_user("expected a pickle 'data.pkl' in the archive of tensors");
  if (const ZipEntry* order = archive.ending("byteorder"); order && archive.content(*order).bytes != "little")
    throw_unsupported("expected tensors in little-endian byte order, got ", archive.content(*order).bytes);
  std::string_view root = std::string_view(code->name).substr(0, code->name.size() - 8);
  return Machine(archive, root, archive.content(*code).bytes, limits).run();
}

}  // namespace graft
