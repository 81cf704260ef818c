#include "schema/registry.hpp"

#include <algorithm>
#include <deque>
#include <graft/traits.hpp>
#include <map>
#include <set>

#include "base/error.hpp"

namespace graft {
namespace {

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

FrameworkTraits traits_of(const graft_reader& r) {
  FrameworkTraits out;
  out.name = view(r.framework), out.title = view(r.title.size ? r.title : r.framework), out.files = view(r.files);
  for (size_t i = 0; i < r.alias_count; ++i) out.aliases.emplace_back(view(r.aliases[i]));
  for (size_t i = 0; i < r.ending_count; ++i) out.endings.push_back(lower(view(r.endings[i])));
  out.conventions = {.domains = (r.flags & GRAFT_READER_DOMAINS) != 0,
                     .open_outputs = (r.flags & GRAFT_READER_OPEN_OUTPUTS) != 0,
                     .shared_names = (r.flags & GRAFT_READER_SHARED_NAMES) != 0,
                     .channels_last = (r.flags & GRAFT_READER_CHANNELS_LAST) != 0};
  return out;
}

int opset_number(std::string_view opset) {
  if (!opset.starts_with("opset") || opset.size() == 5 || opset.size() > 9) return -1;
  int n = 0;
  for (char c : opset.substr(5)) {
    if (c < '0' || c > '9') return -1;
    n = n * 10 + (c - '0');
  }
  return n;
}

struct Registry::State {
  std::vector<std::shared_ptr<const Records>> libraries;
  std::deque<OpDef> defs;
  std::map<std::pair<std::string, std::string>, const OpDef*> by_key;  // (type, opset)
  std::unordered_map<std::string, std::vector<const OpDef*>> by_type;  // numbered opsets ascending, then others
  std::unordered_map<std::string, std::vector<std::string>> ir_types;  // lower-case IR spelling -> types
  std::unordered_map<std::string, std::vector<RuleDef>> rules;         // "onnx||Add"
  std::unordered_map<std::string, std::vector<RuleDef>> common_rules;  // of every framework, by type
  std::map<std::string, FrameworkTraits, std::less<>> known;           // frameworks whose files can be read
  std::vector<ReaderDef> readers;
  std::set<std::string_view> frameworks;                                         // that have rules
  std::unordered_map<std::string, std::vector<KernelDef>> kernels;               // by type
  std::unordered_map<std::string, std::vector<SourceKernelDef>> source_kernels;  // by type, but for the next ones
  std::vector<SourceKernelDef> configured;                                       // that files of custom layers name
  std::vector<PassDef> passes;
  std::vector<RawPassDef> raw_passes;

  // Rules are tried in this order: those of extensions, the last one first, but weak ones after all others, then
  // built-in ones; those of one source in their own order.
  void enter(const graft_rule& rule, size_t index, const Source& source) {
    enum : uint64_t { of_extension, weak, built_in };
    uint64_t tier = source.built_in() ? built_in : rule.flags & GRAFT_RULE_WEAK ? weak : of_extension;
    constexpr uint64_t most_sources = 1u << 24;
    uint64_t earlier = source.built_in() ? libraries.size() : most_sources - libraries.size();
    RuleDef def{&rule, &source, tier << 60 | earlier << 32 | index};
    bool common = view(rule.framework) == every_framework_name;
    auto& list = common ? common_rules[std::string(view(rule.type))]
                        : rules[rule_key(view(rule.framework), view(rule.domain), view(rule.type))];
    if (!common) frameworks.insert(view(rule.framework));
    list.insert(std::upper_bound(list.begin(), list.end(), def, before), def);
  }
  static bool before(const RuleDef& a, const RuleDef& b) { return a.place < b.place; }

  // The rules of one key and those of every framework that are for the same layers.
  std::vector<const RuleDef*> matching(std::string_view framework, std::string_view domain,
                                       std::string_view type) const {
    std::vector<const RuleDef*> out;
    if (auto it = rules.find(rule_key(framework, domain, type)); it != rules.end())
      for (const RuleDef& r : it->second) out.push_back(&r);
    auto common = common_rules.find(std::string(type));
    if (common == common_rules.end() || framework == replacement_framework) return out;
    auto traits = known.find(framework);
    bool domains = traits != known.end() && traits->second.conventions.domains;
    auto earlier = [](const RuleDef* a, const RuleDef* b) { return before(*a, *b); };
    for (const RuleDef& r : common->second)
      if (view(r.record->domain) == domain || (!domains && domain.empty()))
        out.insert(std::upper_bound(out.begin(), out.end(), &r, earlier), &r);
    return out;
  }

  static std::string rule_key(std::string_view framework, std::string_view domain, std::string_view type) {
    return text(framework, '|', domain, '|', type);
  }

  void enter(const graft_op* record, const Source& source) {
    std::string type(view(record->name)), opset(view(record->opset));
    const OpDef*& slot = by_key[{type, opset}];
    if (slot && source.built_in()) throw_internal("operation '", type, "' of ", opset, " is built in twice");
    if (slot && slot->source == &source)
      throw_user("operation '", type, "' of ", opset, " is defined twice by '", source.title(), "'");
    if (slot && record->flags & GRAFT_OP_WEAK && !slot->source->built_in()) return;
    bool replaces_weak = slot && slot->has(GRAFT_OP_WEAK);
    if (slot && !replaces_weak && slot->source->origin == Source::library && source.origin == Source::library)
      throw Error(ErrorKind::user,
                  text("operation '", type, "' of ", opset, " is defined by '", slot->source->title(), "' and by '",
                       source.title(), "'"),
                  "load only one of the two");
    defs.push_back({record, &source, slot});
    slot = &defs.back();
    auto& versions = by_type[type];
    std::erase_if(versions, [&](const OpDef* d) { return d->opset() == opset; });
    auto older = [](const OpDef* a, const OpDef* b) {
      return static_cast<unsigned>(opset_number(a->opset())) < static_cast<unsigned>(opset_number(b->opset()));
    };
    versions.insert(std::upper_bound(versions.begin(), versions.end(), slot, older), slot);
    for (const std::string& spelling : {lower(type), lower(slot->ir_name())}) {
      auto& types = ir_types[spelling];
      if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
    }
  }
};

Registry::Registry() : s_(std::make_unique<State>()) {}
Registry::~Registry() = default;

void Registry::add(std::shared_ptr<const Records> records) {
  const Source& source = records->source;
  s_->libraries.push_back(records);
  for (const graft_op& op : records->ops) s_->enter(&op, source);
  // Definitions of extensions go before existing ones, keeping their own order.
  auto place = [&](auto& list, size_t& front) {
    return source.built_in() ? list.end() : list.begin() + static_cast<ptrdiff_t>(front++);
  };
  for (size_t i = 0; i < records->rules.size(); ++i) s_->enter(records->rules[i], i, source);
  for (const graft_reader& r : records->readers) {
    s_->readers.push_back({&r, &source});
    FrameworkTraits& traits = s_->known[std::string(view(r.framework))];
    traits = traits_of(r), traits.from = source.title();
  }
  std::unordered_map<std::string, size_t> front_kernel;
  for (const graft_kernel& k : records->kernels) {
    std::string type(view(k.op));
    auto& list = s_->kernels[type];
    list.insert(place(list, front_kernel[type]), KernelDef{&k, &source});
  }
  std::unordered_map<std::string, size_t> front_source;
  size_t front_configured = 0;
  for (const graft_source_kernel& k : records->source_kernels) {
    if (k.flags & GRAFT_SOURCE_KERNEL_CONFIGURED) {
      s_->configured.insert(place(s_->configured, front_configured), SourceKernelDef{&k, &source});
      continue;
    }
    std::string type(view(k.op));
    auto& list = s_->source_kernels[type];
    list.insert(place(list, front_source[type]), SourceKernelDef{&k, &source});
  }
  for (const graft_pass& p : records->passes) {
    for (const PassDef& d : s_->passes)
      if (view(d.record->name) == view(p.name) && !(p.phase == GRAFT_WRITE && d.record->phase == GRAFT_WRITE))
        throw Error(ErrorKind::user, text("duplicate pass '", p.name, "'"), "choose a name that no other pass has");
    s_->passes.push_back({&p, &source});
  }
  for (const graft_raw_pass& p : records->raw_passes) {
    auto same = [&](const auto& d) { return view(d.record->name) == view(p.name); };
    if (std::any_of(s_->raw_passes.begin(), s_->raw_passes.end(), same) ||
        std::any_of(s_->passes.begin(), s_->passes.end(), same))
      throw Error(ErrorKind::user, text("duplicate pass '", p.name, "'"), "choose a name that no other pass has");
    s_->raw_passes.push_back({&p, &source});
  }
}

std::span<const PassDef> Registry::passes() const { return s_->passes; }
std::span<const RawPassDef> Registry::raw_passes() const { return s_->raw_passes; }

const OpDef* Registry::find(std::string_view type, std::string_view opset) const {
  auto exact = s_->by_key.find({std::string(type), std::string(opset)});
  if (exact != s_->by_key.end()) return exact->second;
  int wanted = opset_number(opset);
  if (wanted < 0) return nullptr;
  auto it = s_->by_type.find(std::string(type));
  if (it == s_->by_type.end()) return nullptr;
  const OpDef* best = nullptr;
  for (const OpDef* d : it->second) {
    int n = opset_number(d->opset());
    if (n >= 0 && n <= wanted) best = d;
  }
  return best;
}

const OpDef* Registry::find_in_ir(std::string_view type, std::string_view opset) const {
  if (const OpDef* d = find(type, opset)) return d;
  auto it = s_->ir_types.find(lower(type));
  if (it == s_->ir_types.end()) return nullptr;
  for (const std::string& t : it->second)
    if (const OpDef* d = find(t, opset)) return d;
  return nullptr;
}

const OpDef* Registry::newest(std::string_view type) const {
  auto it = s_->by_type.find(std::string(type));
  if (it == s_->by_type.end() || it->second.empty()) return nullptr;
  const OpDef* best = nullptr;
  for (const OpDef* d : it->second)
    if (!best || opset_number(d->opset()) >= 0) best = d;
  return best;
}

std::vector<const RuleDef*> Registry::rules(std::string_view framework, std::string_view domain,
                                            std::string_view type) const {
  std::vector<const RuleDef*> out = s_->matching(framework, domain, type);
  if (out.empty() && !domain.empty()) out = s_->matching(framework, domain, "*");
  if (out.empty() && !domain.empty()) out = s_->matching(framework, "*", type);
  return out;
}

void Registry::add(FrameworkTraits framework) {
  std::string name = framework.name;
  s_->known.emplace(std::move(name), std::move(framework));
}
std::vector<ReaderDef> Registry::readers() const { return {s_->readers.rbegin(), s_->readers.rend()}; }
std::vector<const FrameworkTraits*> Registry::frameworks() const {
  std::vector<const FrameworkTraits*> out;
  for (const auto& [name, traits] : s_->known) out.push_back(&traits);
  return out;
}

namespace {
// Kernels come with a definition: those of the source that another one takes the place of belong to that one.
bool belongs_to_overridden(const OpDef& op, const Source& kernels) {
  for (const OpDef* d = op.overrides; d; d = d->overrides)
    if (d->has(GRAFT_OP_WEAK)) continue;
    else if (d->source == &kernels || (d->source->built_in() && kernels.built_in())) return true;
  return false;
}
// A range of versions is about the operation that the author knows: a built-in one, or one of the same extension.
bool knows(const KernelDef& kernel, const OpDef& op) { return op.source->built_in() || op.source == kernel.source; }
bool runs_version(const KernelDef& kernel, const OpDef& op) {
  const graft_kernel& k = *kernel.record;
  if (view(k.opset) == op.opset()) return true;
  int version = opset_number(op.opset());
  return version >= 0 && version >= opset_number(view(k.opset)) && version < k.until && knows(kernel, op);
}
}  // namespace

std::vector<KernelDef> Registry::kernels(const OpDef& op, std::string_view device) const {
  std::vector<KernelDef> out;
  auto it = s_->kernels.find(std::string(op.name()));
  if (it == s_->kernels.end()) return out;
  for (const KernelDef& k : it->second)
    if (view(k.record->device) == device && runs_version(k, op) && !belongs_to_overridden(op, *k.source))
      out.push_back(k);
  return out;
}

std::vector<SourceKernelDef> Registry::source_kernels(const OpDef& op, std::string_view device) const {
  std::vector<SourceKernelDef> out;
  auto add = [&](const SourceKernelDef& k) {
    if (view(k.record->device) == device && (!k.record->opset.size || view(k.record->opset) == op.opset()) &&
        !belongs_to_overridden(op, *k.source))
      out.push_back(k);
  };
  for (const SourceKernelDef& k : s_->configured)
    if (goes_by(op, view(k.record->op))) add(k);
  auto add_all = [&](const std::string& key) {
    auto it = s_->source_kernels.find(key);
    if (it == s_->source_kernels.end()) return;
    for (const SourceKernelDef& k : it->second) add(k);
  };
  add_all(std::string(op.name()));
  for (const TraitInfo& t : trait_table)
    if (op.has(static_cast<uint32_t>(t.trait))) add_all(text('*', t.word));
  return out;
}

bool Registry::goes_by(const OpDef& op, std::string_view name) const {
  std::string wanted = lower(name);
  if (lower(op.name()) == wanted || lower(op.ir_name()) == wanted) return true;
  if (auto types = s_->ir_types.find(wanted); types != s_->ir_types.end())
    for (const std::string& type : types->second)
      for (const OpDef* d : s_->by_type.at(type))
        if (!d->has(GRAFT_OP_WEAK)) return false;  // the name of another operation
  auto is_of = [&](const RuleDef& r) { return r.record->op.size && view(r.record->op) == op.name(); };
  for (std::string_view framework : s_->frameworks) {
    auto found = s_->rules.find(State::rule_key(framework, "", name));
    if (found != s_->rules.end() && std::any_of(found->second.begin(), found->second.end(), is_of)) return true;
  }
  auto common = s_->common_rules.find(std::string(name));
  return common != s_->common_rules.end() && std::any_of(common->second.begin(), common->second.end(), is_of);
}

bool Registry::is_configured(const OpDef& op, std::string_view device) const {
  for (const SourceKernelDef& k : s_->configured)
    if (view(k.record->device) == device && goes_by(op, view(k.record->op))) return true;
  return false;
}

std::vector<SourceKernelDef> Registry::source_kernels(std::string_view device) const {
  std::vector<SourceKernelDef> out;
  auto add = [&](const std::vector<SourceKernelDef>& list) {
    for (const SourceKernelDef& k : list)
      if (view(k.record->device) == device) out.push_back(k);
  };
  add(s_->configured);
  for (const auto& [type, list] : s_->source_kernels) add(list);
  return out;
}

bool Registry::has_kernel(const OpDef& op, std::string_view device) const {
  return !kernels(op, device).empty() || !source_kernels(op, device).empty();
}

bool Registry::runs_other_versions(const OpDef& op, std::string_view device) const {
  auto it = s_->kernels.find(std::string(op.name()));
  if (it == s_->kernels.end() || !kernels(op, device).empty()) return false;
  return std::any_of(it->second.begin(), it->second.end(),
                     [&](const KernelDef& k) { return view(k.record->device) == device && knows(k, op); });
}

bool Registry::is_built_in_name(std::string_view type) const {
  auto it = s_->by_type.find(std::string(type));
  if (it == s_->by_type.end()) return false;
  for (const OpDef* d : it->second)
    for (; d; d = d->overrides)
      if (d->source->built_in()) return true;
  return false;
}

const graft_kernel* Registry::reference(const OpDef& op) const {
  auto list = kernels(op, reference_device);
  return list.empty() ? nullptr : list[0].record;
}

std::vector<const OpDef*> Registry::ops() const {
  std::vector<const OpDef*> out;
  for (const auto& [key, def] : s_->by_key) out.push_back(def);
  std::sort(out.begin(), out.end(), [](const OpDef* a, const OpDef* b) {
    if (a->name() != b->name()) return a->name() < b->name();
    int x = opset_number(a->opset()), y = opset_number(b->opset());
    return x != y ? x < y : a->opset() < b->opset();
  });
  return out;
}

std::vector<const RuleDef*> Registry::all_rules() const {
  std::vector<const RuleDef*> out;
  for (const auto* rules : {&s_->rules, &s_->common_rules})
    for (const auto& [key, list] : *rules)
      for (const RuleDef& r : list) out.push_back(&r);
  std::stable_sort(out.begin(), out.end(), [](const RuleDef* a, const RuleDef* b) {
    auto key = [](const RuleDef* r) {
      return std::tuple(view(r->record->framework), view(r->record->domain), view(r->record->type), r->record->since);
    };
    return key(a) < key(b);
  });
  return out;
}

std::vector<const Source*> Registry::sources() const {
  std::vector<const Source*> out;
  for (const auto& library : s_->libraries) out.push_back(&library->source);
  return out;
}

bool takes_plain(const graft_kernel& kernel) {
  auto plain = [](const int32_t* list, size_t count) {
    return std::all_of(list, list + count, [](int32_t l) { return l == GRAFT_PLAIN || l == GRAFT_ANY_LAYOUT; });
  };
  bool found = kernel.layout_count == 0;
  for (size_t i = 0; i < kernel.layout_count; ++i) {
    const graft_layouts& form = kernel.layouts[i];
    found = found || (plain(form.inputs, form.input_count) && plain(form.outputs, form.output_count));
  }
  return found;
}

}  // namespace graft
