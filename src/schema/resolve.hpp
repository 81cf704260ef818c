// Holding a node against its operation's schema.
#pragma once

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

enum class Extras { refuse, keep };

// Brings a node's attributes into the schema's order and kinds, fills in defaults, checks bounds, words and the number
// of inputs. Attributes that the schema lacks are refused or kept at the end.
void resolve(Node& node, const OpDef& op, Extras extras);

// `value` as `kind`, where that loses nothing; throws otherwise.
Attribute coerce(const Attribute& value, graft_kind kind);

// The node's definition; throws when there is none.
const OpDef& definition(const Registry& registry, const Node& node);

// Operations of this type, upper and lower case alike, that loaded libraries define, whatever their opset.
std::vector<const OpDef*> extension_operations(const Registry& registry, std::string_view type);

std::string describe(const Node& node);  // "'conv1' (Convolution)"

}  // namespace graft
