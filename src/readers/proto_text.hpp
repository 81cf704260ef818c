// Parses the text format of protobuf without a schema: names and values as written in the file.
//
//   ProtoNode net = parse_proto_text(bytes, "net.prototxt");
//   for (const ProtoNode& layer : net.fields)
//     if (layer.name == "layer") name = layer.text_of("name");
//
// `a { b: 1 }`, `a: < b: 1; >`, `a: [1, 2]` (two fields a), 'text' "in pieces", enums, hexadecimal and octal numbers,
// inf, nan, [extension.names] and # comments are supported. Field names may repeat; order is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graft {

struct ProtoNode {
  enum Kind : uint8_t { message, number, text, word };

  std::string name;
  Kind kind = message;
  bool listed = false;            // written inside [...]
  size_t line = 0;                // a position of the file it comes from
  std::string value;              // as written for numbers and words, unescaped for text
  std::vector<ProtoNode> fields;  // of a message

  // The first (all) of the fields with this name.
  const ProtoNode* find(std::string_view field) const;
  std::vector<const ProtoNode*> all(std::string_view field) const;

  // The value in the requested form; none if it has another form.
  std::optional<int64_t> integer() const;  // unsigned ones that do not fit wrap around
  std::optional<double> real() const;
  std::optional<bool> boolean() const;

  // The string or word of a field; empty if there is none.
  std::string text_of(std::string_view field) const;
};

struct ProtoTextLimits {
  int depth = 100;
  size_t fields = 50'000'000;
};

// Parses the whole text as one message. Errors begin with "file:line: ".
ProtoNode parse_proto_text(std::string_view bytes, const std::string& file, const ProtoTextLimits& limits = {});

}  // namespace graft
