// Devices by name, and their properties.
#include "toolkit.hpp"

namespace graft {
namespace {

class Devices : public ToolkitTest {
 protected:
  static std::string error_of(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.message();
    }
    return "nothing was thrown";
  }
  Core core_;
};

TEST_F(Devices, Names) {
  Model m = core_.read_model(relu());
  auto message = [&](const char* device) { return error_of([&] { core_.compile_model(m, device); }); };
  EXPECT_EQ(core_.compile_model(m, "CPU.0").device(), "CPU");
  EXPECT_EQ(core_.compile_model(m, "HETERO:CPU.0,REFERENCE").device(), "HETERO:CPU,REFERENCE");
  EXPECT_EQ(message("CPU.1"), "unknown device 'CPU.1'");
  EXPECT_EQ(message("HETERO:CPU,TPU"), "unknown device 'TPU'");
  EXPECT_EQ(message("HETERO"), "expected devices after HETERO");
  EXPECT_EQ(message("HETERO:"), "expected a device, got '' in 'HETERO:'");
  EXPECT_EQ(message("HETERO:CPU, REFERENCE"), "expected a device, got ' REFERENCE' in 'HETERO:CPU, REFERENCE'");
  EXPECT_EQ(message("HETERO:CPU,CPU.0"), "device CPU is listed twice in 'HETERO:CPU,CPU.0'");
  EXPECT_EQ(message("HETERO:HETERO:CPU"), "expected a device, got 'HETERO:CPU' in 'HETERO:HETERO:CPU'");
  EXPECT_EQ(message("CPU:REFERENCE"), "unknown device 'CPU:REFERENCE'");
  EXPECT_EQ(message("CPU."), "expected a device, got 'CPU.'");
  EXPECT_EQ(message(""), "expected a device, got ''");
}

TEST_F(Devices, Properties) {
  Model m = core_.read_model(relu());
  EXPECT_EQ(core_.get_property("CPU", "NUM_STREAMS"), "1");
  core_.set_property({{"NUM_STREAMS", "2"}});
  core_.set_property("CPU", {{"NUM_STREAMS", "3"}, {"PERF_COUNT", "YES"}});
  EXPECT_EQ(core_.get_property("CPU", "NUM_STREAMS"), "3");
  EXPECT_EQ(core_.get_property("HETERO", "NUM_STREAMS"), "2");
  EXPECT_EQ(core_.get_property("", "NUM_STREAMS"), "2");
  EXPECT_EQ(core_.compile_model(m, "CPU").options().streams, 3);
  EXPECT_TRUE(core_.compile_model(m, "CPU").options().profile);
  EXPECT_EQ(core_.compile_model(m, "HETERO:CPU,REFERENCE").options().streams, 2);
  Options own;
  own.streams = 5;
  EXPECT_EQ(core_.compile_model(m, "CPU", own).options().streams, 5);
  core_.set_property("HETERO", {{"TARGET_FALLBACK", "REFERENCE,CPU"}});
  EXPECT_EQ(core_.get_property("HETERO", "MULTI_DEVICE_PRIORITIES"), "REFERENCE,CPU");
  EXPECT_EQ(core_.compile_model(m, "HETERO").device(), "HETERO:REFERENCE,CPU");
  EXPECT_EQ(core_.get_property("", "AVAILABLE_DEVICES").rfind("CPU", 0), 0u);
  EXPECT_EQ(core_.get_property("REFERENCE", "FULL_DEVICE_NAME"), "reference kernels, one thread");

  auto message = [&](const std::string& device, const Core::Properties& p) {
    return error_of([&] { device.empty() ? core_.set_property(p) : core_.set_property(device, p); });
  };
  EXPECT_EQ(message("CPU", {{"NUM_STREAM", "2"}}), "unknown property 'NUM_STREAM' of CPU");
  EXPECT_EQ(message("", {{"COLOR", "red"}}), "unknown property 'COLOR'");
  EXPECT_EQ(message("CPU", {{"MULTI_DEVICE_PRIORITIES", "CPU"}}), "unknown property 'MULTI_DEVICE_PRIORITIES' of CPU");
  EXPECT_EQ(message("CPU", {{"NUM_STREAMS", "none"}}),
            "property NUM_STREAMS: expected a number of at least 1, got 'none'");
  EXPECT_EQ(message("CPU", {{"NUM_STREAMS", "4"}, {"PERF_COUNT", "2"}}),
            "property PERF_COUNT: expected YES or NO, got '2'");
  EXPECT_EQ(core_.get_property("CPU", "NUM_STREAMS"), "3") << "all or nothing";
  EXPECT_EQ(message("CPU", {{"FULL_DEVICE_NAME", "x"}}), "property FULL_DEVICE_NAME of CPU is read-only");
  EXPECT_EQ(message("HETERO:CPU,REFERENCE", {{"NUM_STREAMS", "1"}}), "expected one device, got 'HETERO:CPU,REFERENCE'");
  EXPECT_EQ(message("TPU", {{"NUM_STREAMS", "1"}}), "unknown device 'TPU'");
  EXPECT_EQ(error_of([&] { (void)core_.get_property("CPU", "SPEED"); }), "unknown property 'SPEED' of CPU");
}

}  // namespace
}  // namespace graft
