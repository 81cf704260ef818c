#include "schema/raw_host.hpp"

#include <graft/app/memory.hpp>

#include "base/given.hpp"
#include "schema/host_call.hpp"
#include "schema/records.hpp"

namespace graft {
namespace {

// The size of a list, whose address goes to `out`.
template <class Item, class F>
size_t listed(const Item** out, F&& list) {
  return host_value_or<size_t>(0, [&] {
    std::span<const Item> items = list();
    given(out) = items.data();
    return items.size();
  });
}

graft_raw_layer read_layer(const graft_raw_layer* layer) {
  return copy_record(layer, GRAFT_RAW_LAYER_MIN_SIZE, "a layer");
}

void write_layer(graft_raw_layer& to, graft_raw_layer from) {
  from.size = to.size;
  std::memcpy(&to, &from, std::min<size_t>(to.size, sizeof from));
}

graft_raw_host make_raw_table() {
  graft_raw_host h{};
  h.size = sizeof h;
  h.framework = [](const graft_raw_model* m) { return m->framework(); };
  h.path = [](const graft_raw_model* m) { return m->path(); };
  h.layers = [](graft_raw_model* m, const graft_layer** out) { return listed(out, [&] { return m->layers(); }); };
  h.layer = [](graft_raw_model* m, graft_layer id, graft_raw_layer* out) {
    return host_run([&] { write_layer(given(out), m->layer(id)); });
  };
  h.fields = [](graft_raw_model* m, graft_layer id, const graft_named_value** out) {
    return listed(out, [&] { return m->fields(id); });
  };
  h.field = [](graft_raw_model* m, graft_layer id, graft_str path) {
    return host_value_or<const graft_value*>(nullptr, [&] { return m->field(id, given_text(path, "a path")); });
  };
  h.body = [](graft_raw_model* m, graft_layer id, graft_str path, size_t index) {
    return host_value_or<graft_raw_model*>(nullptr, [&] { return m->body(id, given_text(path, "a path"), index); });
  };
  h.inputs = [](graft_raw_model* m, const graft_raw_value** out) { return listed(out, [&] { return m->inputs(); }); };
  h.outputs = [](graft_raw_model* m, const graft_raw_value** out) { return listed(out, [&] { return m->outputs(); }); };
  h.value_info = [](graft_raw_model* m, graft_str value, graft_info* info) {
    return host_value_or<int32_t>(0, [&] { return m->value_info(given_text(value, "a name"), given(info)); });
  };
  h.constants = [](graft_raw_model* m, const graft_str** out) { return listed(out, [&] { return m->constants(); }); };
  h.constant = [](graft_raw_model* m, graft_str name) {
    return host_value_or<const graft_tensor*>(nullptr, [&] { return m->constant(given_text(name, "a name")); });
  };
  h.producer = [](graft_raw_model* m, graft_str value) {
    return host_value_or<graft_layer>(0, [&] { return m->producer(given_text(value, "a name")); });
  };
  h.consumers = [](graft_raw_model* m, graft_str value, const graft_layer** out) {
    return listed(out, [&] { return m->consumers(given_text(value, "a name")); });
  };
  h.replacements = [](graft_raw_model* m, const graft_raw_replacement** out) {
    return listed(out, [&] { return m->replacements(); });
  };
  h.keep_tensor = [](graft_raw_model* m, const graft_tensor* t) {
    return host_value_or<void*>(nullptr, [&] { return m->keep_tensor(t); });
  };
  h.release_tensor = [](void* kept) { delete static_cast<Tensor*>(kept); };

  h.add_layer = [](graft_raw_model* m, const graft_raw_layer* layer, const graft_info* infos, size_t count,
                   graft_layer* added) {
    return host_run(
        [&] { given(added) = m->add_layer(read_layer(layer), given_list(infos, count, "types and shapes")); });
  };
  h.remove_layer = [](graft_raw_model* m, graft_layer id) { return host_run([&] { m->remove_layer(id); }); };
  h.set_layer = [](graft_raw_model* m, graft_layer id, const graft_raw_layer* layer) {
    return host_run([&] { m->set_layer(id, read_layer(layer)); });
  };
  h.set_field = [](graft_raw_model* m, graft_layer id, graft_str path, const graft_value* value) {
    return host_run([&] { m->set_field(id, given_text(path, "a path"), value); });
  };
  h.copy_field = [](graft_raw_model* m, graft_layer from, graft_str path, graft_layer to, graft_str to_path) {
    return host_run([&] { m->copy_field(from, given_text(path, "a path"), to, given_text(to_path, "a path")); });
  };
  h.add_constant = [](graft_raw_model* m, graft_str name, const graft_tensor* t) {
    return host_run([&] { m->add_constant(given_text(name, "a name"), given(t)); });
  };
  h.remove_constant = [](graft_raw_model* m, graft_str name) {
    return host_run([&] { m->remove_constant(given_text(name, "a name")); });
  };
  h.replace_value = [](graft_raw_model* m, graft_str from, graft_str to) {
    return host_run([&] { m->replace_value(given_text(from, "a name"), given_text(to, "a name")); });
  };
  h.set_inputs = [](graft_raw_model* m, const graft_raw_value* values, size_t count) {
    return host_run([&] { m->set_inputs(given_list(values, count, "inputs")); });
  };
  h.set_outputs = [](graft_raw_model* m, const graft_str* values, size_t count) {
    return host_run([&] { m->set_outputs(given_list(values, count, "outputs")); });
  };
  h.take_replacement = [](graft_raw_model* m, size_t index) { return host_run([&] { m->take_replacement(index); }); };
  h.set_position = [](graft_raw_model* m, graft_layer id, int64_t position) {
    return host_run([&] { m->set_position(id, position); });
  };
  h.set_version = [](graft_raw_model* m, graft_str domain, int64_t version) {
    return host_run([&] { m->set_version(given_text(domain, "a domain"), version); });
  };
  h.set_value_info = [](graft_raw_model* m, graft_str value, const graft_info* info) {
    return host_run([&] { m->set_value_info(given_text(value, "a name"), given(info)); });
  };
  return h;
}

}  // namespace

const graft_raw_host& raw_host_table() {
  static const graft_raw_host table = make_raw_table();
  return table;
}

}  // namespace graft
