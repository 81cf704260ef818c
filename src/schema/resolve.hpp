// Checks a node against its operation's schema.
#pragma once

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

enum class Extras { refuse, keep };

// Converts a node's attributes to the schema's order and kinds, fills in defaults, and checks bounds, enumerators and
// the number of inputs. Attributes outside the schema are rejected or kept at the end.
void resolve(Node& node, const OpDef& op, Extras extras);

// Throws if a value is outside the bounds or words of its attribute.
void check_attribute(const Attribute& value, const graft_attr& attribute);

// Converts `value` to `kind` if that is lossless; throws otherwise.
Attribute coerce(const Attribute& value, graft_kind kind);

// The node's definition; throws when there is none.
const OpDef& definition(const Registry& registry, const Node& node);

// Operations of this type (case-insensitive) that loaded libraries define, in any opset; weak ones only if there is no
// other.
std::vector<const OpDef*> extension_operations(const Registry& registry, std::string_view type);

// The definition that a node of an operation which may be unknown becomes; for the opset "extension", that of any
// loaded library. Null: unknown.
const OpDef* known_definition(const Registry& registry, const Node& node);

// Gives values in the textual form of an IR the kind that the operation declares.
void parse_texts(Attributes& attributes, const OpDef& op);

std::string describe(const Node& node);  // "'conv1' (Convolution)"

}  // namespace graft
