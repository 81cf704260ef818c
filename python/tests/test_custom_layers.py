"""Custom layers for GPU and VPU, given as properties."""
import unittest

import numpy as np
from support import Case

import graft

VPU = """<CustomLayer name="Cos" type="MVCL" version="1">
  <Kernel entry="k">
    <Source filename="%s"/>
    <Parameters>
      <Tensor arg-name="src" type="input" port-index="0"/>
      <Tensor arg-name="dst" type="output" port-index="0"/>
    </Parameters>
    <WorkSizes dim="output,0" global="X*Y*F"/>
  </Kernel>
</CustomLayer>
"""
GPU = """<CustomLayer name="Cos" type="SimpleGPU" version="1">
  <Kernel entry="k"><Source filename="%s"/></Kernel>
  <Buffers>
    <Tensor arg-index="0" type="input" port-index="0"/>
    <Tensor arg-index="1" type="output" port-index="0"/>
  </Buffers>
</CustomLayer>
"""
SOURCE = "__kernel void k(const __global float* src, __global float* dst) { dst[get_global_id(0)] = %s; }\n"


@unittest.skipUnless("VPU" in graft.Core().available_devices, "no OpenCL")
class CustomLayers(Case):
    def setUp(self):
        super().setUp()
        for n in (7, 8):
            self.write("k%d.cl" % n, SOURCE % n)
            self.write("vpu%d.xml" % n, VPU % ("k%d.cl" % n))
            self.write("gpu%d.xml" % n, GPU % ("k%d.cl" % n))

    def result(self, device):
        model = self.core.read_model(self.write("model.graph", "graph (x: f32[1,1,1,2]) { return Cos(x) }"))
        return self.core.compile_model(model, device)([np.zeros((1, 1, 1, 2), np.float32)])[0].ravel().tolist()

    def test_properties_load_and_replace_layers(self):
        for device, name, kind in (("VPU", "VPU_CUSTOM_LAYERS", "vpu"), ("MYRIAD", "MYRIAD_CUSTOM_LAYERS", "vpu"),
                                   ("HDDL", "CONFIG_FILE", "vpu"), ("GPU", "CONFIG_FILE", "gpu")):
            with self.subTest(device=device, name=name):
                for n in (7, 8):
                    path = self.path("%s%d.xml" % (kind, n))
                    self.core.set_property(device, {name: path})
                    self.assertEqual(self.core.get_property(device, name), path)
                    self.assertEqual(self.result(device), [n, n])
                self.core.set_property(device, {name: ""})
                self.assertEqual(self.result(device), [1, 1])

    def test_a_wrong_file_changes_nothing(self):
        self.core.set_property("VPU", {"VPU_CUSTOM_LAYERS": self.path("vpu7.xml")})
        bad = self.write("bad.xml", "<CustomLayer/>")
        with self.assertRaisesRegex(graft.Error, r"bad\.xml:1:1: <CustomLayer> has no attribute 'name'"):
            self.core.set_property("VPU", {"VPU_CUSTOM_LAYERS": bad})
        self.assertEqual(self.core.get_property("VPU", "VPU_CUSTOM_LAYERS"), self.path("vpu7.xml"))
        self.assertEqual(self.result("VPU"), [7, 7])

    def test_a_kernel_that_does_not_compile_leaves_the_core_usable(self):
        self.write("k9.cl", SOURCE % "oops")
        self.core.set_property("VPU", {"VPU_CUSTOM_LAYERS": self.write("vpu9.xml", VPU % "k9.cl")})
        with self.assertRaisesRegex(graft.Error, r"k9\.cl:1:[0-9]+: .*'oops'"):
            self.result("VPU")
        self.assertEqual(self.result("CPU"), [1, 1])
        self.core.set_property("VPU", {"VPU_CUSTOM_LAYERS": self.path("vpu8.xml")})
        self.assertEqual(self.result("VPU"), [8, 8])


if __name__ == "__main__":
    unittest.main()
