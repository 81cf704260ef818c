// Values of inputs and outputs: read from files, random, and taken apart into the tensors of ports.
//
//   std::vector<graft::Group> groups = model.input_groups();
//   std::vector<graft::Port> ports = model.inputs();
//   std::vector<graft::Datum> values;
//   for (const graft::Group& g : groups) values.push_back(graft::read_value("in/" + g.name + ".npy", g, ports));
//   std::vector<graft::Tensor> tensors = graft::port_tensors(groups, values, ports.size());
//
// Functions that take `notes` append a line for each thing they did to make a value fit ("resized to 224 x 224").
// Nothing is converted silently: element types are not changed. All functions may be called from any thread.
#pragma once

#include <functional>

#include "limits.hpp"
#include "memory.hpp"
#include "ports.hpp"

namespace graft {

using Notes = std::vector<std::string>;

// A value of an input or output, which need not be a tensor in ONNX.
struct GRAFT_API Datum {
  enum Kind {
    tensor,
    sequence,  // its items are `parts`
    optional,  // `parts` has its value or nothing
    map,       // `parts` are its keys and its values, tensors of one dimension
  } kind = tensor;
  Tensor value;  // of a tensor
  std::vector<Datum> parts;

  Datum() = default;
  Datum(Tensor t) : value(std::move(t)) {}
  Datum(Kind k, std::vector<Datum> p) : kind(k), parts(std::move(p)) {}
};

// ---- files ----

// One tensor from .npy or .pb (an ONNX TensorProto), or an image (.png .jpg .ppm .bmp .webp .tif .jp2) as u8 [height,
// width, channels].
GRAFT_API Tensor read_tensor(const std::string& path, const LimitChanges& limits = {});
// All arrays of an .npz, with their names, in the order of the file.
GRAFT_API std::vector<std::pair<std::string, Tensor>> read_tensors(const std::string& path,
                                                                   const LimitChanges& limits = {});
// As .npy. bf16, f8 and f4 are widened to f32, 4-bit integers to 8 bits; strings become fixed-width unicode.
GRAFT_API void write_tensor(const std::string& path, const Tensor& tensor);
// The mean image of a .binaryproto file of Caffe, [..., channels, height, width].
GRAFT_API Tensor read_mean_image(const std::string& path);

// The value of an input from a file: as read_tensor, with images resized and arranged as the port requires, and
// integers taken as the bits of bf16 and f8, which .npy lacks. For a sequence, optional or map: a .pb (SequenceProto,
// OptionalProto, MapProto), an .npz (items in order; "keys" and "values" of a map), an .npy (one item), "none" for an
// optional without a value, "empty" for a sequence without items. Fails if the element type is not that of the port.
GRAFT_API Datum read_value(const std::string& path, const Group& input, const std::vector<Port>& ports,
                           Notes* notes = nullptr, const LimitChanges& limits = {});
// Fails if the element types of a value for `input` are not those of its ports. `from` names the value in the message.
GRAFT_API void check_types(const Datum& value, const Group& input, const std::vector<Port>& ports,
                           const std::string& from);

// ---- random values ----

// Dimensions that fit the port: the smallest ones, at least 1, where they are unknown. Fails if the rank is unknown.
GRAFT_API std::vector<int64_t> sample_dims(const Port& port, Notes* notes = nullptr);
// Reproducible: reals from 0 to 1, integers from 0 to 9, "text".
GRAFT_API std::vector<Tensor> random_tensors(const std::vector<Port>& ports, uint64_t seed, Notes* notes = nullptr);

// ---- values and ports ----

// The tensors of all input ports, one value given per group. Fails for a value of another structure.
GRAFT_API std::vector<Tensor> port_tensors(const std::vector<Group>& groups, const std::vector<Datum>& values,
                                           size_t ports);
// The value that the tensors of the group's ports are.
GRAFT_API Datum gathered(const Group& group, const std::function<Tensor(size_t port)>& port);

}  // namespace graft
