// Names of devices as applications write them: "CPU", "GPU.1", "HETERO:GPU,CPU".
#pragma once

#include <string>
#include <vector>

namespace graft {

struct DeviceName {
  std::string name;              // "GPU"
  std::string id;                // "1"; empty: the first one
  std::vector<DeviceName> list;  // of a device that splits models: the devices to split among
  // Without a needless ".0".
  std::string text() const;
};

// Throws an error that shows the syntax.
DeviceName parse_device(const std::string& text);

}  // namespace graft
