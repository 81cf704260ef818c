#include "schema/host.hpp"

#include <algorithm>
#include <graft/objects.hpp>

#include "base/convert.hpp"
#include "base/log.hpp"
#include "base/threads.hpp"
#include "schema/host_call.hpp"
#include "schema/raw_host.hpp"

namespace graft {
namespace {

thread_local Reasons thread_reasons;

template <class F>
graft_status run(F&& body) noexcept {
  return host_run(std::forward<F>(body));
}
template <class R, class F>
R value_or(R otherwise, F&& body) noexcept {
  return host_value_or<R>(otherwise, std::forward<F>(body));
}

void host_fail(graft_status status, graft_str message, graft_str hint) {
  auto kind = status >= GRAFT_USER && status <= GRAFT_INTERNAL ? static_cast<ErrorKind>(status) : ErrorKind::internal;
  reasons().last.emplace(coded_error(kind, std::string(view(message)), std::string(view(hint))));
}

graft_host make_table() {
  graft_host h{};
  h.size = sizeof h;
  h.abi_version = GRAFT_ABI_VERSION;
  h.fail = host_fail;
  h.log = [](int32_t level, graft_str m) { log(static_cast<LogLevel>(std::clamp(level, 0, 3)), view(m)); };
  h.convert = [](const graft_tensor* a, graft_tensor* b) { return run([&] { convert(given(a), given(b)); }); };

  h.node_name = [](const graft_node* n) { return n->name(); };
  h.node_type = [](const graft_node* n) { return n->type(); };
  h.attribute = [](const graft_node* n, graft_str name) -> const graft_value* {
    return value_or<const graft_value*>(nullptr, [&] { return n->attribute(view(name)); });
  };
  h.input_count = [](const graft_node* n) { return n->input_count(); };
  h.output_count = [](const graft_node* n) { return n->output_count(); };
  h.input = [](const graft_node* n, size_t i, graft_info* info) {
    return value_or<int32_t>(0, [&] { return n->input(i, given(info)); });
  };
  h.output = [](const graft_node* n, size_t i, graft_info* info) {
    return value_or<int32_t>(0, [&] { return n->output(i, given(info)); });
  };
  h.constant = [](const graft_node* n, size_t i) {
    return value_or<const graft_tensor*>(nullptr, [&] { return n->constant(i); });
  };
  h.known_values = [](const graft_node* n, size_t i, graft_shape* s) {
    return value_or<int32_t>(0, [&] { return n->known_values(i, given(s)); });
  };
  h.set_output = [](graft_node* n, size_t i, const graft_info* info) {
    return run([&] { n->set_output(i, given(info)); });
  };
  h.set_known_values = [](graft_node* n, size_t i, const graft_shape* s) {
    return run([&] { n->set_known_values(i, given(s)); });
  };
  h.body_count = [](const graft_node* n) { return n->body_count(); };
  h.body = [](const graft_node* n, size_t i) {
    return value_or<const graft_body*>(nullptr, [&] { return n->body(i); });
  };
  h.infer_body = [](graft_node* n, size_t i, const graft_info* p, const graft_info** r) {
    return run([&] { given(r) = n->infer_body(i, p); });
  };
  h.request_scratch = [](graft_node* n, size_t bytes) { return run([&] { n->request_scratch(bytes); }); };

  h.allocate = [](graft_runner* r, size_t i, int32_t rank, const int64_t* dims) {
    return run([&] { r->allocate(i, {dims, static_cast<size_t>(rank)}); });
  };
  h.parallel_for = [](graft_runner* r, int64_t n, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg) {
    return run([&] { r->parallel_for(n, grain, body, arg); });
  };
  h.run_body = [](graft_runner* r, size_t i, const graft_tensor* const* in, const graft_tensor** out) {
    return run([&] { r->run_body(i, in, out); });
  };
  h.release_tensor = [](graft_runner* r, const graft_tensor* t) { r->release_tensor(t); };
  h.store_text = [](graft_runner* r, graft_tensor* t, int64_t i, graft_str s) {
    return run([&] { r->store_text(t, i, view(s)); });
  };
  h.cancelled = [](graft_runner* r) -> int32_t { return r->cancelled(); };
  h.variable = [](graft_runner* r, graft_str id) {
    return value_or<const graft_tensor*>(nullptr, [&] { return r->variable(view(id)); });
  };
  h.set_variable = [](graft_runner* r, graft_str id, const graft_tensor* t) {
    return run([&] { r->set_variable(view(id), given(t)); });
  };

  h.layer_name = [](const graft_builder* m) { return m->layer_name(); };
  h.layer_type = [](const graft_builder* m) { return m->layer_type(); };
  h.layer_version = [](const graft_builder* m) { return m->layer_version(); };
  h.layer_framework = [](const graft_builder* m) { return m->layer_framework(); };
  h.field = [](graft_builder* m, graft_str path) {
    return value_or<const graft_value*>(nullptr, [&] { return m->field(view(path)); });
  };
  h.layer_input_count = [](const graft_builder* m) { return m->input_count(); };
  h.layer_output_count = [](const graft_builder* m) { return m->output_count(); };
  h.layer_output_used = [](const graft_builder* m, size_t i) -> int32_t { return m->output_used(i); };
  h.layer_input = [](const graft_builder* m, size_t i) { return value_or<graft_ref>(0, [&] { return m->input(i); }); };
  h.ref_info = [](graft_builder* m, graft_ref r, graft_info* info) {
    return run([&] { given(info) = m->ref_info(r); });
  };
  h.ref_constant = [](graft_builder* m, graft_ref r) {
    return value_or<const graft_tensor*>(nullptr, [&] { return m->ref_constant(r); });
  };
  h.ref_known_values = [](graft_builder* m, graft_ref r, graft_shape* s) {
    return value_or<int32_t>(0, [&] { return m->ref_known_values(r, given(s)); });
  };
  h.add_constant = [](graft_builder* m, const graft_tensor* t) {
    return value_or<graft_ref>(0, [&] { return m->add_constant(given(t)); });
  };
  h.add_node = [](graft_builder* m, const graft_new_node* n, graft_ref* out, size_t count) {
    return run([&] { m->add_node(given(n), {out, count}); });
  };
  h.set_layer_output = [](graft_builder* m, size_t i, graft_ref r) { return run([&] { m->set_output(i, r); }); };
  h.import_body = [](graft_builder* m, graft_str path, const graft_info* p, size_t n, graft_builder::Callback before,
                     graft_builder::Callback after, void* user, const graft_imported_body** out) {
    return run([&] { given(out) = m->import_body(view(path), {p, n}, before, after, user); });
  };
  h.add_list = [](graft_builder* m, const graft_ref* items, size_t count) {
    return value_or<graft_ref>(0, [&] { return m->add_list({items, count}); });
  };
  h.ref_list = [](graft_builder* m, graft_ref r, const graft_ref** items, size_t* count) {
    return value_or<int32_t>(0, [&] {
      const std::vector<graft_ref>* list = m->ref_list(r);
      if (list) given(items) = list->data(), given(count) = list->size();
      return list ? 1 : 0;
    });
  };
  h.layer_weight_count = [](const graft_builder* m) { return m->weight_count(); };

  h.node_opset = [](const graft_node* n) { return n->opset(); };
  h.node_attributes = [](const graft_node* n, const graft_named_value** list) {
    return value_or<size_t>(0, [&] {
      auto all = n->attributes();
      given(list) = all.data();
      return all.size();
    });
  };
  h.visited = [](graft_builder* m) { return m->visited(); };
  h.ref_producer = [](graft_builder* m, graft_ref r, size_t* output) {
    return value_or<const graft_node*>(nullptr, [&] { return m->ref_producer(r, given(output)); });
  };
  h.ref_consumers = [](graft_builder* m, graft_ref r, const graft_consumer** readers) {
    return value_or<size_t>(0, [&] {
      if (!readers) return m->consumer_count(r);
      auto list = m->ref_consumers(r);
      given(readers) = list.data();
      return list.size();
    });
  };
  h.node_input = [](graft_builder* m, const graft_node* n, size_t i) {
    return value_or<graft_ref>(0, [&] { return m->node_input(n, i); });
  };
  h.node_output = [](graft_builder* m, const graft_node* n, size_t i) {
    return value_or<graft_ref>(0, [&] { return m->node_output(n, i); });
  };
  h.graph_nodes = [](graft_builder* m, const graft_node* const** nodes) {
    return value_or<size_t>(0, [&] {
      auto list = m->graph_nodes();
      given(nodes) = list.data();
      return list.size();
    });
  };
  h.replace_ref = [](graft_builder* m, graft_ref from, graft_ref to) { return run([&] { m->replace(from, to); }); };
  h.configured = [](graft_builder* m, graft_str path) {
    return value_or<const graft_value*>(nullptr, [&] { return m->configured(view(path)); });
  };
  h.add_nothing = [](graft_builder* m) { return value_or<graft_ref>(0, [&] { return m->add_nothing(); }); };
  h.inline_body = [](graft_builder* m, graft_str path, const graft_ref* in, size_t n, const graft_ref** out,
                     size_t* count) {
    return run([&] {
      const std::vector<graft_ref>& made = m->inline_body(view(path), {in, n});
      given(out) = made.data(), given(count) = made.size();
    });
  };
  h.packed = [](graft_node* n, const void** packed) { return run([&] { given(packed) = n->packed(); }); };
  h.thread_number = [](graft_runner*) -> int32_t { return ThreadPool::thread_number(); };
  // Without a runner, in `prepare` of extensions that do not know call_threads: as many as any call may use.
  h.thread_count = [](graft_runner* r) -> int32_t { return r ? r->threads() : ThreadPool::shared().threads(); };
  h.layer_fields = [](graft_builder* m, const graft_named_value** list) {
    return value_or<size_t>(0, [&] {
      auto all = m->fields();
      given(list) = all.data();
      return all.size();
    });
  };
  h.raw = &raw_host_table();
  h.set_node_input = [](graft_builder* m, const graft_node* n, size_t i, graft_ref r) {
    return run([&] { m->set_node_input(&given(n), i, r); });
  };
  h.set_node_name = [](graft_builder* m, const graft_node* n, graft_str name) {
    return run([&] { m->set_node_name(&given(n), view(name)); });
  };
  h.ref_outputs = [](graft_builder* m, graft_ref r, const graft_ref** outputs) {
    return value_or<size_t>(0, [&] {
      auto all = m->ref_outputs(r);
      given(outputs) = all.data();
      return all.size();
    });
  };
  h.last_failure = [](graft_str* message, graft_str* hint) -> graft_status {
    const std::optional<Error>& last = reasons().last;
    if (message) *message = last ? str(last->message()) : graft_str{};
    if (hint) *hint = last ? str(last->hint()) : graft_str{};
    return last ? static_cast<graft_status>(last->kind()) : GRAFT_OK;
  };
  h.input_layout = [](const graft_node* n, size_t i) { return n->input_layout(i); };
  h.output_layout = [](const graft_node* n, size_t i) { return n->output_layout(i); };
  h.declared_output = [](const graft_node* n, size_t i, graft_info* info) {
    return value_or<int32_t>(0, [&] { return n->declared_output(i, given(info)); });
  };
  h.add_launch = [](graft_node* n, const graft_launch* l) { return run([&] { n->add_launch(given(l)); }); };
  h.add_scratch = [](graft_node* n, size_t bytes, size_t* index) {
    return run([&] { given(index) = n->add_scratch(bytes); });
  };
  h.work_size = [](graft_node* n, graft_str formula, int32_t of_input, size_t port, int64_t* value) {
    return run([&] { given(value) = n->work_size(view(formula), of_input != 0, port); });
  };
  h.set_formula = [](graft_node* n, const graft_formula* f) { return run([&] { n->set_formula(given(f)); }); };
  h.is_constant = [](const graft_node* n, size_t input) {
    return value_or<int32_t>(0, [&] { return n->is_constant(input); });
  };
  h.take_constant = [](graft_node* n, size_t input) { return run([&] { n->take_constant(input); }); };
  h.node_traits = [](const graft_node* n) { return value_or<uint32_t>(0, [&] { return n->traits(); }); };
  h.call_threads = [](const graft_node* n) -> int32_t { return n ? n->threads() : ThreadPool::shared().threads(); };
  h.element_rows = [](graft_node* n, graft_str op, graft_str opset, const graft_named_value* attrs, size_t attr_count,
                      const float* numbers, size_t number_count, graft_rows* rows) {
    return run([&] {
      given(rows) = n->element_rows(view(op), view(opset), {attrs, attr_count}, {numbers, number_count});
    });
  };
  h.has_rows = [](graft_builder* m, const graft_node* n) {
    return value_or<int32_t>(0, [&] { return m->has_rows(n); });
  };
  return h;
}

}  // namespace

const graft_host& host_table() {
  static const graft_host table = make_table();
  return table;
}

Reasons& reasons() { return thread_reasons; }

std::shared_ptr<void>* request_object(graft_runner* runner, std::string_view id) { return runner->object(id); }

bool callback_failed() { return reasons().unseen.has_value(); }

void check_callback(graft_status status) {
  if (reasons().unseen) [[unlikely]] {
    Error e = std::move(*reasons().unseen);
    reasons() = {};
    throw e;
  }
  if (status == GRAFT_OK) return reasons().last.reset();
  if (reasons().last) {
    Error e = std::move(*reasons().last);
    reasons().last.reset();
    throw e;
  }
  auto kind = status >= GRAFT_USER && status <= GRAFT_INTERNAL ? static_cast<ErrorKind>(status) : ErrorKind::internal;
  throw Error(kind, text("a callback failed with status ", status, " without an error message"));
}

void check_call(graft_status status, graft_runner& runner) {
  try {
    check_callback(status);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::internal && runner.cancelled())
      throw Error(ErrorKind::cancelled, "the request was cancelled");
    throw;
  }
}

}  // namespace graft
