// The host side of abi_raw.h: the class behind the handle of a framework's model, and the table of functions.
#pragma once

#include <graft/abi.h>

#include <graft/types.hpp>

#include "base/error.hpp"

// A framework's model while a pass changes it.
struct graft_raw_model {
  virtual graft_str framework() const = 0;
  virtual graft_str path() const = 0;
  virtual std::span<const graft_layer> layers() = 0;
  virtual graft_raw_layer layer(graft_layer id) = 0;
  virtual std::span<const graft_named_value> fields(graft_layer id) = 0;
  virtual const graft_value* field(graft_layer id, std::string_view path) = 0;
  virtual graft_raw_model* body(graft_layer id, std::string_view path, size_t index) = 0;
  virtual std::span<const graft_raw_value> inputs() = 0;
  virtual std::span<const graft_raw_value> outputs() = 0;
  virtual bool value_info(std::string_view value, graft_info& info) = 0;
  virtual std::span<const graft_str> constants() = 0;
  virtual const graft_tensor* constant(std::string_view name) = 0;
  virtual graft_layer producer(std::string_view value) = 0;
  virtual std::span<const graft_layer> consumers(std::string_view value) = 0;
  virtual std::span<const graft_raw_replacement> replacements() = 0;
  virtual void* keep_tensor(const graft_tensor* tensor) = 0;

  virtual graft_layer add_layer(const graft_raw_layer& layer, std::span<const graft_info> infos) = 0;
  virtual void remove_layer(graft_layer id) = 0;
  virtual void set_layer(graft_layer id, const graft_raw_layer& layer) = 0;
  virtual void set_field(graft_layer id, std::string_view path, const graft_value* value) = 0;
  virtual void copy_field(graft_layer from, std::string_view path, graft_layer to, std::string_view to_path) = 0;
  virtual void add_constant(std::string_view name, const graft_tensor& tensor) = 0;
  virtual void remove_constant(std::string_view name) = 0;
  virtual void replace_value(std::string_view from, std::string_view to) = 0;
  virtual void set_inputs(std::span<const graft_raw_value> values) = 0;
  virtual void set_outputs(std::span<const graft_str> values) = 0;
  virtual void take_replacement(size_t index) = 0;
  virtual void set_position(graft_layer id, int64_t position) = 0;
  virtual void set_version(std::string_view domain, int64_t version) = 0;
  virtual void set_value_info(std::string_view value, const graft_info& info) = 0;

 protected:
  ~graft_raw_model() = default;
};

namespace graft {

const graft_raw_host& raw_host_table();

}  // namespace graft
