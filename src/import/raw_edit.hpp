// A framework's model while raw passes change it: the host's side of graft::FrameworkModel.
#pragma once

#include <deque>
#include <unordered_map>

#include "import/field_value.hpp"
#include "import/mapping.hpp"
#include "import/replace_config.hpp"
#include "readers/raw.hpp"
#include "schema/raw_host.hpp"

namespace graft {

// "'gelu' (Gelu)".
std::string raw_title(const RawNode& layer);

class RawEdit final : public graft_raw_model {
 public:
  // Takes the layers out of the model until `finish`. `taken` has an entry per replacement.
  RawEdit(RawModel& model, const ReplacementConfig* replacements, std::vector<bool>& taken, const Limits& limits,
          const LayerMapping* mapping = nullptr);
  // A sub-graph, which cannot be changed.
  RawEdit(RawModel& model, RawGraph& body, const Limits& limits);

  // Puts the layers back. `by` is recorded in the added ones; empty: they are from the file.
  void finish(const std::string& by);
  // "'gelu' (Gelu)", of the layers that were added, removed and changed.
  struct Changes {
    std::vector<std::string> added, removed, changed;
    std::vector<std::string> took;  // ids of replacements
    bool other = false;             // inputs, outputs or constants
    bool none() const { return added.empty() && removed.empty() && changed.empty() && took.empty() && !other; }
  };
  Changes changes() const;
  std::vector<std::string> new_names() const;  // of layers that were added or renamed

  graft_str framework() const override { return str(model_.framework); }
  graft_str path() const override { return str(model_.path); }
  std::span<const graft_layer> layers() override;
  graft_raw_layer layer(graft_layer id) override;
  std::span<const graft_named_value> fields(graft_layer id) override;
  const graft_value* field(graft_layer id, std::string_view path) override;
  graft_raw_model* body(graft_layer id, std::string_view path, size_t index) override;
  std::span<const graft_raw_value> inputs() override { return listed(graph_.inputs, input_list_); }
  std::span<const graft_raw_value> outputs() override { return listed(graph_.outputs, output_list_); }
  bool value_info(std::string_view value, graft_info& info) override;
  std::span<const graft_str> constants() override;
  const graft_tensor* constant(std::string_view name) override;
  graft_layer producer(std::string_view value) override;
  std::span<const graft_layer> consumers(std::string_view value) override;
  std::span<const graft_raw_replacement> replacements() override;
  void* keep_tensor(const graft_tensor* tensor) override;

  graft_layer add_layer(const graft_raw_layer& layer, std::span<const graft_info> infos) override;
  void remove_layer(graft_layer id) override;
  void set_layer(graft_layer id, const graft_raw_layer& layer) override;
  void set_field(graft_layer id, std::string_view path, const graft_value* value) override;
  void copy_field(graft_layer from, std::string_view path, graft_layer to, std::string_view to_path) override;
  void add_constant(std::string_view name, const graft_tensor& tensor) override;
  void remove_constant(std::string_view name) override;
  void replace_value(std::string_view from, std::string_view to) override;
  void set_inputs(std::span<const graft_raw_value> values) override;
  void set_outputs(std::span<const graft_str> values) override;
  void take_replacement(size_t index) override;
  void set_position(graft_layer id, int64_t position) override;
  void set_version(std::string_view domain, int64_t version) override;
  void set_value_info(std::string_view value, const graft_info& info) override;

 private:
  struct Entry {
    RawNode node;
    std::string title;  // as it was read, or first added
    bool alive = true, added = false, changed = false, renamed = false;
    // The ABI form, made when it is asked for.
    std::vector<graft_str> inputs, outputs;
    std::unordered_map<std::string_view, std::unique_ptr<FieldValue>> values;
    std::vector<graft_named_value> list;
    void forget() { values.clear(), list.clear(); }
  };
  void enter_layers();
  void index_constants();
  void index_all();
  void index(graft_layer id);
  Entry& entry(graft_layer id);
  Entry& writable(graft_layer id);
  void require_writable() const;
  const graft_value& value_of(Entry& e, const std::string& path, const RawField& f);
  static void assign(RawNode& node, const graft_raw_layer& layer);
  static std::span<const graft_raw_value> listed(const std::vector<RawValue>& from, std::vector<graft_raw_value>& to);
  bool reads(graft_layer id, const std::string& value) const;
  bool reads_inside(const RawNode& node, const std::string& value) const;
  void rename_uses(const std::string& from, const std::string& to, graft_layer except);
  std::string fresh_name(const std::string& stem);
  const Tensor* find_constant(std::string_view name) const;

  RawModel& model_;
  RawGraph& graph_;
  const ReplacementConfig* config_ = nullptr;
  const LayerMapping* mapping_ = nullptr;
  std::vector<bool>* taken_ = nullptr;
  const Limits& limits_;
  bool read_only_ = false, other_ = false;
  std::deque<Entry> entries_;
  size_t alive_ = 0;
  std::vector<size_t> took_;
  // Producers and consumers of values, once they were asked for; may contain layers that are no longer.
  bool indexed_ = false;
  std::unordered_map<std::string, std::vector<graft_layer>> makers_, readers_;
  std::unordered_map<std::string, size_t> constant_index_;
  // Results of the functions above.
  std::vector<graft_layer> ids_, found_;
  std::vector<graft_raw_value> input_list_, output_list_;
  std::vector<graft_str> names_;
  std::unordered_map<const graft_tensor*, Tensor> handed_out_;
  std::deque<RawEdit> bodies_;
  std::deque<std::vector<graft_named_value>> attribute_lists_;
  std::deque<std::pair<std::vector<graft_str>, std::vector<graft_type>>> attribute_store_;
  std::vector<graft_raw_replacement> replacement_list_;
};

}  // namespace graft
