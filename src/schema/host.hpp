// The host side of the ABI: the classes behind the opaque handles of abi.h, the table of host functions, and the
// conversion of a failed callback to an Error.
#pragma once

#include <graft/abi.h>

#include <graft/types.hpp>
#include <memory>

#include "base/error.hpp"

// A node as infer, accept and prepare see it.
struct graft_node {
  virtual graft_str name() const = 0;
  virtual graft_str type() const = 0;
  virtual graft_str opset() const = 0;
  virtual const graft_value* attribute(std::string_view name) const = 0;
  virtual size_t input_count() const = 0;
  virtual size_t output_count() const = 0;
  virtual bool input(size_t index, graft_info& info) const = 0;
  virtual bool output(size_t index, graft_info& info) const = 0;
  virtual const graft_tensor* constant(size_t input) const = 0;
  virtual bool known_values(size_t input, graft_shape& values) const = 0;
  virtual void set_output(size_t index, const graft_info& info) = 0;
  virtual void set_known_values(size_t output, const graft_shape& values) = 0;
  virtual size_t body_count() const = 0;
  virtual const graft_body* body(size_t index) const = 0;
  virtual const graft_info* infer_body(size_t index, const graft_info* parameters) = 0;
  virtual void request_scratch(size_t bytes) = 0;
  virtual const void* packed() { graft::throw_user("only `prepare` can ask for packed constants"); }
  virtual std::span<const graft_named_value> attributes() const = 0;
  virtual bool declared_output(size_t, graft_info&) const { return false; }  // in infer
  virtual int32_t input_layout(size_t) const { return GRAFT_PLAIN; }
  virtual int32_t output_layout(size_t) const { return GRAFT_PLAIN; }
  virtual void add_launch(const graft_launch&) { graft::throw_user("only `emit` of a source kernel can add a launch"); }
  virtual size_t add_scratch(size_t) { graft::throw_user("only `emit` of a source kernel can add scratch memory"); }
  virtual int64_t work_size(std::string_view, bool, size_t) {
    graft::throw_user("only `emit` of a source kernel can evaluate a work size");
  }
  virtual void set_formula(const graft_formula&) {
    graft::throw_user("only `emit` of a source kernel can give a formula");
  }
  virtual bool is_constant(size_t input) const { return constant(input) != nullptr; }
  virtual uint32_t traits() const { return 0; }  // in a pass
  virtual graft_rows element_rows(std::string_view, std::string_view, std::span<const graft_named_value>,
                                  std::span<const float>) {
    graft::throw_user("only `prepare` can ask for an operation to apply");
  }
  virtual int32_t threads() const { return 1; }  // in prepare: that a call may use
  virtual void take_constant(size_t) { graft::throw_user("only `pack` can take a constant"); }

 protected:
  ~graft_node() = default;
};

// One call of a kernel.
struct graft_runner {
  virtual void allocate(size_t output, std::span<const int64_t> dims) = 0;
  virtual void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg) = 0;
  virtual int32_t threads() const = 0;  // that parallel_for may use
  virtual void run_body(size_t index, const graft_tensor* const* parameters, const graft_tensor** results) = 0;
  virtual void release_tensor(const graft_tensor* tensor) = 0;
  virtual void store_text(graft_tensor* tensor, int64_t index, std::string_view text) = 0;
  virtual bool cancelled() = 0;
  virtual const graft_tensor* variable(std::string_view id) = 0;
  virtual void set_variable(std::string_view id, const graft_tensor& value) = 0;
  // What the node keeps under this id in the request, until its state is reset; null: nothing can be kept.
  virtual std::shared_ptr<void>* object(std::string_view) { return nullptr; }

 protected:
  ~graft_runner() = default;
};

// A framework's layer while it is converted to operations.
struct graft_builder {
  virtual graft_str layer_name() const = 0;
  virtual graft_str layer_type() const = 0;
  virtual int64_t layer_version() const = 0;
  virtual graft_str layer_framework() const { return {}; }
  virtual const graft_value* field(std::string_view path) = 0;
  virtual size_t input_count() const = 0;
  virtual size_t output_count() const = 0;
  virtual bool output_used(size_t index) const = 0;
  virtual graft_ref input(size_t index) const = 0;
  virtual graft_info ref_info(graft_ref ref) = 0;
  virtual const graft_tensor* ref_constant(graft_ref ref) = 0;
  virtual bool ref_known_values(graft_ref ref, graft_shape& values) = 0;
  virtual graft_ref add_constant(const graft_tensor& tensor) = 0;
  virtual void add_node(const graft_new_node& node, std::span<graft_ref> outputs) = 0;
  virtual void set_output(size_t index, graft_ref ref) = 0;
  using Callback = graft_status (*)(graft_builder*, void*);
  virtual const graft_imported_body* import_body(std::string_view path, std::span<const graft_info> parameters,
                                                 Callback prologue, Callback epilogue, void* user) = 0;
  virtual graft_ref add_list(std::span<const graft_ref> items) = 0;
  virtual const std::vector<graft_ref>* ref_list(graft_ref ref) = 0;
  virtual size_t weight_count() const = 0;
  virtual std::span<const graft_ref> ref_outputs(graft_ref ref) = 0;
  // Only a layer under import has these.
  virtual graft_ref add_nothing() { graft::throw_user("only an import rule can create an optional value"); }
  virtual const std::vector<graft_ref>& inline_body(std::string_view, std::span<const graft_ref>) {
    graft::throw_user("only an import rule can inline a sub-graph");
  }
  virtual std::span<const graft_named_value> fields() {
    graft::throw_user("only an import rule can list the fields of a layer");
  }

  // Only a pass has these.
  virtual const graft_node* visited() { return nullptr; }
  virtual const graft_node* ref_producer(graft_ref, size_t&) { return nullptr; }
  virtual std::span<const graft_consumer> ref_consumers(graft_ref) { return {}; }
  virtual size_t consumer_count(graft_ref) { return 0; }
  virtual graft_ref node_input(const graft_node*, size_t) { return 0; }
  virtual graft_ref node_output(const graft_node*, size_t) { return 0; }
  virtual std::span<const graft_node* const> graph_nodes() { return {}; }
  virtual void replace(graft_ref, graft_ref) { graft::throw_user("only a pass can replace values"); }
  virtual const graft_value* configured(std::string_view) { return nullptr; }
  virtual bool has_rows(const graft_node*) { return false; }
  virtual void set_node_input(const graft_node*, size_t, graft_ref) {
    graft::throw_user("only a pass can change the inputs of a node");
  }
  virtual void set_node_name(const graft_node*, std::string_view) {
    graft::throw_user("only a pass can rename a node");
  }

 protected:
  ~graft_builder() = default;
};

namespace graft {

// The table that extensions and built-ins get.
const graft_host& host_table();

// Throws the error of the callback that returned `status`: the one it reported, or that of a host function whose
// failure it could not see.
void check_callback(graft_status status);
// The same for a kernel's `run`. One that fails because the request was cancelled ends with an error of that kind.
void check_call(graft_status status, graft_runner& runner);
// Whether check_callback would throw for GRAFT_OK.
bool callback_failed();

}  // namespace graft
