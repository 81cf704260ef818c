// Lookup tables. Their initializers are outside the graph that uses them, so the reader attaches keys and values to the
// node of the table; both are passed as one list to the layers that use the table.
#include <graft/op.hpp>

#include "layout.hpp"

namespace graft {
namespace {

Value tf_table(Builder& layer) {
  for (std::string_view f : {"container", "shared_name", "use_node_name_sharing", "key_dtype", "value_dtype",
                             "value_shape", "initial_num_buckets", "max_load_factor", "empty_key", "deleted_key"})
    layer.has(f);
  if (!layer.has("keys") || !layer.has("values"))
    unsupported("expected a table initialized from constants, an asset file or the checkpoint");
  return layer.list({layer.constant(layer.get<TensorView>("keys")), layer.constant(layer.get<TensorView>("values"))});
}

std::vector<Value> tf_content(Builder& layer) {
  auto items = layer.input(0).items();
  if (!items || items->size() != 2) unsupported("expected a table created by a supported layer");
  return *items;
}

// Inputs: table, keys, default value.
Value tf_table_find(Builder& layer) {
  layer.has("Tin"), layer.has("Tout");
  std::vector<Value> content = tf_content(layer);
  return layer.op("LabelEncoder@graft", {layer.input(1), content[0], content[1], tf::as_scalar(layer.input(2))});
}
// The keys of a table are unique.
Value tf_table_size(Builder& layer) { return tf::as_scalar(build::dims(tf_content(layer)[0], {0})); }
std::vector<Value> tf_table_export(Builder& layer) { return tf_content(layer); }

}  // namespace

Definitions define_tensorflow_tables() {
  Definitions ops;
  for (std::string_view type : {"HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2"})
    ops += tensorflow(type).expand(tf_table);
  for (std::string_view type : {"LookupTableFind", "LookupTableFindV2"}) ops += tensorflow(type).expand(tf_table_find);
  for (std::string_view type : {"LookupTableSize", "LookupTableSizeV2"}) ops += tensorflow(type).expand(tf_table_size);
  for (std::string_view type : {"LookupTableExport", "LookupTableExportV2"})
    ops += tensorflow(type).expand(tf_table_export);
  return ops;
}

}  // namespace graft
