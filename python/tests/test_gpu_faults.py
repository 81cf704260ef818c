"""Faults on the device GPU: a clear error each, the process lives on, and the same Core works afterwards."""
import os
import subprocess
import sys
import textwrap
import unittest

import numpy as np
from support import Case

import graft

LAYER = """<CustomLayer name="Cos" type="SimpleGPU" version="1">
  <Kernel entry="cosine"><Source filename="c.cl"/></Kernel>
  <Buffers>
    <Tensor arg-index="0" type="input" port-index="0"/>
    <Tensor arg-index="1" type="output" port-index="0"/>
  </Buffers>
  <WorkSizes %s/>
</CustomLayer>
"""
GOOD = "__kernel void cosine(const __global float* in, __global float* out) { int i = get_global_id(0); out[i] = cos(in[i]); }"
MODEL = "graph (x: f32[6]) { return Cos(x) }"
X = np.linspace(-1, 1, 6).astype(np.float32)


def available():
    return any(d.startswith("GPU") for d in graft.Core().available_devices)


@unittest.skipUnless(available(), "there is no OpenCL here; apt-get install pocl-opencl-icd")
class Faults(Case):
    def check_works(self):
        np.testing.assert_allclose(self.compiled(MODEL, "GPU")(X)[0], np.cos(X), rtol=1e-5)

    def fails(self, message, sizes='global="B"', source=GOOD, model=MODEL):
        self.write("c.cl", source)
        added = self.core.add_extension(self.write("layer.xml", LAYER % sizes))
        with self.assertRaisesRegex(graft.Error, message):
            self.compiled(model, "GPU")(X)
        self.core.remove_extension(added)
        self.check_works()

    def test_kernels_and_work_sizes(self):
        self.fails("c.cl:2:.*undeclared identifier 'nothing'",
                   source="__kernel void cosine(const __global float* in, __global float* out) {\n  out[0] = nothing;\n}")
        self.fails("defines no kernel 'cosine'", source="__kernel void sine(const __global float* in, __global float* out) {}")
        self.fails("has 1 arguments, but 2 are described", source="__kernel void cosine(__global float* out) {}")
        self.fails("allows work groups of at most [0-9]+ items|work items in a group", 'global="B*100000000" local="100000000"')
        self.fails("not a multiple of the local work size 4", 'global="B" local="4"')
        self.fails("expected a work size of at least 0", 'global="B-7"')
        self.fails("local|memory|resources", 'global="B" local="6"',
                   "__kernel void cosine(const __global float* in, __global float* out) {\n"
                   "  __local float part[1 << 28];\n  part[get_local_id(0)] = in[get_global_id(0)];\n"
                   "  barrier(CLK_LOCAL_MEM_FENCE);\n  out[get_global_id(0)] = part[5 - get_local_id(0)];\n}")

    def test_an_operation_without_a_kernel(self):
        with self.assertRaisesRegex(graft.Error, "data-dependent output shapes are not supported on GPU"):
            self.compiled("graph (x: f32[6]) { return NonZero(x) }", "GPU")
        self.check_works()

    def test_input_of_another_shape(self):
        compiled = self.compiled(MODEL, "GPU")
        with self.assertRaisesRegex(graft.Error, "expected"):
            compiled(np.zeros((2, 2), np.float32))
        np.testing.assert_allclose(compiled(X)[0], np.cos(X), rtol=1e-5)

    def test_too_little_memory(self):
        # PoCL counts what it allocates and has a limit, in a process of its own: the limit is read when it starts.
        program = """
            import numpy as np
            import graft
            core = graft.Core()
            big = core.read_model("big.graft").compile("GPU")
            small = core.read_model("small.graft").compile("GPU")
            for i in range(2):
                try:
                    big([np.zeros((4096, 1), np.float32), np.zeros((1, 131072), np.float32)])
                    print("it fits")
                except graft.Error as e:
                    print(type(e).__name__, e)
                print(small(np.zeros(3, np.float32))[0].tolist())
        """
        self.write("big.graft", "graph (x: f32[?,1], y: f32[1,?]) { return ReduceMax(Exp(Transpose(Add(x, y), i64[2] {1,0})), i64[2] {0,1}) }")
        self.write("small.graft", "graph (x: f32[3]) { return Cos(x) }")
        r = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], cwd=self.folder, capture_output=True, text=True,
                           env=dict(os.environ, POCL_MEMORY_LIMIT="1", PYTHONPATH=os.pathsep.join(sys.path)))
        self.assertEqual(r.returncode, 0, r.stderr)
        if "it fits" in r.stdout:
            self.skipTest("the driver of OpenCL takes no limit of its memory")
        self.assertEqual(r.stdout.count("[1.0, 1.0, 1.0]"), 2, r.stdout)
        self.assertEqual(r.stdout.count("allocating 2147483648 bytes"), 2, r.stdout)
        self.assertIn("the device may not have enough memory", r.stdout)


if __name__ == "__main__":
    unittest.main()
