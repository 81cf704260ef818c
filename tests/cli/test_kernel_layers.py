#!/usr/bin/env python3
"""Layers that only a .cl and an .xml file define, on an IR that has their shapes: GPU, VPU and HETERO, without any library. And the
names by which <CustomLayer> finds a layer.

  tests/cli/test_kernel_layers.py --build build [unittest arguments]

Skipped, with the exit code 77, where there is no OpenCL.
"""
import json
import os

import gpu_case
import harness
from gpu_case import Gpu, values

KERNEL = """
__kernel void mixture(const __global INPUT0_TYPE* a, const __global INPUT1_TYPE* b, __global OUTPUT0_TYPE* out) {
  const int i = get_global_id(0);
  out[i] = a[i] * W[0] + b[i] * W[1] + SHIFT;
}
"""
MIX = """<CustomLayer name="%s" type="SimpleGPU" version="1">
  <Kernel entry="mixture">
    <Source filename="mix.cl"/>
    <Define name="W" type="float[]" param="weights" default="1,1"/>
    <Define name="SHIFT" type="float" param="shift" default="0"/>
  </Kernel>
  <Buffers>
    <Tensor arg-index="0" type="input" port-index="0" format="BFYX"/>
    <Tensor arg-index="1" type="input" port-index="1" format="BFYX"/>
    <Tensor arg-index="2" type="output" port-index="0" format="BFYX"/>
  </Buffers>
  <WorkSizes global="B*F*Y*X"/>
</CustomLayer>
"""
VPU_KERNEL = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void mixture(__global const half* restrict a, __global const half* restrict b, __global half* restrict out, float shift) {
  const int i = get_global_id(0);
  out[i] = (half)(a[i] * 2.0f - b[i] + shift);
}
"""
VPU_MIX = """<CustomLayer name="%s" type="MVCL" version="1">
  <Kernel entry="mixture">
    <Source filename="vpu.cl"/>
    <Parameters>
      <Tensor arg-name="a" type="input" port-index="0" format="BFYX"/>
      <Tensor arg-name="b" type="input" port-index="1" format="BFYX"/>
      <Tensor arg-name="out" type="output" port-index="0" format="BFYX"/>
      <Scalar arg-name="shift" type="float" source="shift"/>
    </Parameters>
    <WorkSizes dim="output,0" global="B*F*Y*X" local="1"/>
  </Kernel>
</CustomLayer>
"""
UNARY = """<CustomLayer name="%s" type="SimpleGPU" version="1">
  <Kernel entry="answer"><Source filename="answer.cl"/></Kernel>
  <Buffers>
    <Tensor arg-index="0" type="input" port-index="0" format="BFYX"/>
    <Tensor arg-index="%d" type="output" port-index="0" format="BFYX"/>
    %s
  </Buffers>
</CustomLayer>
"""
DIMS = [1, 2, 2, 3]


def port(number, dims, precision="FP32"):
    return '<port id="%d" precision="%s">%s</port>' % (number, precision, "".join("<dim>%d</dim>" % d for d in dims))


def ir(kind="MixTwo", version="extension", dims=DIMS, out=DIMS, data='weights="2,-1" shift="4"'):
    """Parameters a and b, an exponential of a, the layer m of both, and its hyperbolic tangent."""
    def layer(number, name, type_, opset, inputs, outputs, data=""):
        return '<layer id="%d" name="%s" type="%s" version="%s">%s%s%s</layer>' % (
            number, name, type_, opset, "<data %s/>" % data if data else "",
            "<input>%s</input>" % "".join(port(i, d) for i, d in enumerate(inputs)) if inputs else "",
            "<output>%s</output>" % "".join(port(len(inputs) + i, d) for i, d in enumerate(outputs)) if outputs else "")
    shape = 'shape="%s" element_type="f32"' % ",".join(str(d) for d in dims)
    layers = [layer(0, "a", "Parameter", "opset1", [], [dims], shape), layer(1, "b", "Parameter", "opset1", [], [dims], shape),
              layer(2, "e", "Exp", "opset1", [dims], [dims]), layer(3, "m", kind, version, [dims, dims], [out], data),
              layer(4, "t", "Tanh", "opset1", [out], [out]), layer(5, "r", "Result", "opset1", [out], [])]
    edges = [(0, 0, 2, 0), (2, 1, 3, 0), (1, 0, 3, 1), (3, 2, 4, 0), (4, 1, 5, 0)]
    return '<?xml version="1.0"?><net name="m" version="10"><layers>%s</layers><edges>%s</edges></net>' % (
        "".join(layers), "".join('<edge from-layer="%d" from-port="%d" to-layer="%d" to-port="%d"/>' % e for e in edges))


class FromIr(Gpu):
    """Three files, m.xml, mix.xml and mix.cl, and nothing else."""
    def setUp(self):
        super().setUp()
        self.a = [0.01 * i for i in range(12)]
        self.b = [4.0 + 0.1 * i for i in range(12)]
        harness.write_npy(self.path("a.npy"), DIMS, self.a)
        harness.write_npy(self.path("b.npy"), DIMS, self.b)
        self.write("mix.cl", KERNEL)
        self.write("vpu.cl", VPU_KERNEL)
        self.write("m.xml", ir())

    def run_model(self, device, *arguments, inputs=("-i", "a=a.npy", "-i", "b=b.npy")):
        return self.graft("run", "m.xml", "-d", device, *inputs, "--output-dir", "out", *arguments)

    def check(self, device, *arguments, tolerance=1e-6):
        r = self.run_model(device, "-o", "m", *arguments)
        self.assertEqual(r.status, 0, r.all)
        with open(self.path("out", "outputs.json")) as f:
            got = values(self.path("out", json.load(f)[0]["file"]))
        for g, a, b in zip(got, self.a, self.b):
            self.assertAlmostEqual(g, 2 * 2.718281828 ** a - b + 4, delta=tolerance * 8)
        return r

    def test_gpu(self):
        self.write("mix.xml", MIX % "MixTwo")
        r = self.check("GPU", "-c", "mix.xml")
        self.assertNotIn("warning", r.err.replace("warning generated", ""))
        explained = self.graft("explain", "m.xml", "-d", "GPU", "-c", "mix.xml").out
        self.assertRegex(explained, r"(?m)^ +m +MixTwo +custom_layer")

    def test_hetero(self):
        self.write("mix.xml", MIX % "MixTwo")
        self.check("HETERO:GPU,CPU", "-c", "mix.xml")
        self.check("HETERO:CPU,GPU", "-c", "mix.xml")
        explained = self.graft("explain", "m.xml", "-d", "HETERO:CPU,GPU", "-c", "mix.xml").out
        self.assertRegex(explained, r"Part 1 on GPU, after phase 0\n +m +MixTwo +custom_layer")

    def test_vpu(self):
        self.write("mix.xml", VPU_MIX % "MixTwo")
        for device in ("VPU", "MYRIAD", "HETERO:MYRIAD,CPU"):
            self.check(device, "-c", "mix.xml", tolerance=2e-3)

    def test_the_spelling_and_the_opset_of_the_ir(self):
        self.write("mix.xml", MIX % "mixtwo")
        self.check("GPU", "-c", "mix.xml")
        self.write("mix.xml", MIX % "MixTwo")
        for version in ("com.acme", "opset1", "experimental"):
            self.write("m.xml", ir(version=version))
            self.check("GPU", "-c", "mix.xml")

    def test_a_type_that_is_built_in_too(self):
        """The Add of an extension is not that of opset1."""
        self.write("m.xml", ir(kind="Add"))
        self.write("mix.xml", MIX % "Add")
        self.check("GPU", "-c", "mix.xml")

    def test_without_the_file(self):
        r = self.run_model("GPU")
        self.assertEqual(r.status, 2)
        self.assertIn("MixTwo   1 layer: m", r.err)

    def test_on_the_cpu_alone(self):
        self.write("mix.xml", MIX % "MixTwo")
        r = self.run_model("CPU", "-c", "mix.xml")
        self.assertEqual(r.status, 2)
        self.assertIn("MixTwo", r.err)
        self.assertIn("it is for GPU, where the model does not run", r.err)

    def test_other_shapes_are_refused(self):
        self.write("mix.xml", MIX % "MixTwo")
        r = self.run_model("GPU", "-c", "mix.xml", "--input_shape", "a[2,2,2,3],b[2,2,2,3]", inputs=())
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("the shape of output 0 of MixTwo is unknown: a kernel file has no shape function, and the model declares no shape for inputs of these shapes", r.err)
        self.assertIn("hint: use inputs of the shapes that the model was converted with", r.err)

    def test_shapes_that_the_ir_leaves_open_are_refused(self):
        self.write("mix.xml", MIX % "MixTwo")
        self.write("m.xml", ir(dims=[-1, 2, 2, 3], out=[-1, 2, 2, 3]))
        r = self.run_model("GPU", "-c", "mix.xml")
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("the model declares [?,2,2,3] only", r.err)
        self.write("m.xml", ir(out=[]))
        r = self.run_model("GPU", "-c", "mix.xml")
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("the shape of output 0 of MixTwo is unknown", r.err)

    def test_another_definition_goes_first(self):
        """Its shape function; the kernel is that of the file. And a file with a kernel for a part of a decomposition is used."""
        self.write("mix.xml", MIX % "MixTwo")
        self.write("m.xml", ir(dims=[-1, 2, 2, 3], out=[-1, 2, 2, 3]))
        self.write("mix.cpp", """#include <graft/extension.hpp>
struct Mix {
  std::vector<double> weights{1, 1};
  float shift = 0;
  static constexpr std::tuple schema{graft::attr("weights", &Mix::weights, "factors"), graft::attr("shift", &Mix::shift, "added")};
};
static void infer(graft::Infer& ctx, const Mix&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
static void run(graft::Run&, const Mix&) { graft::fail("the reference ran"); }
GRAFT_EXTENSION("mix", "1.0") {
  return {graft::op<Mix>("MixTwo", "com.acme").inputs("a, b").infer(infer).reference(run),
          graft::op("Hinge", "plain").inputs("x").decompose("graph (x: f32[...]) { return Relu(x) }")};
}
""")
        compiler = os.environ.get("CXX", "c++")
        self.assertEqual(os.system("%s -std=c++20 -O0 -fPIC -shared -I%s %s -o %s" % (
            compiler, os.path.join(harness.ROOT, "include"), self.path("mix.cpp"), self.path("libmix.so"))), 0)
        for files in (("-l", "./libmix.so", "-c", "mix.xml"), ("-c", "mix.xml", "-l", "./libmix.so")):
            self.check("GPU", *files)
        self.write("answer.cl", "__kernel void answer(const __global INPUT0_TYPE* x, __global OUTPUT0_TYPE* y) { y[get_global_id(0)] = 42; }")
        self.write("layers.xml", UNARY % ("ReLU", 1, ""))
        self.write("model.txt", "graph (x: f32[1,2,3,4]) { return Hinge@plain(x) }")
        self.assertEqual(set(self.results("GPU", "-c", "layers.xml", "-l", "./libmix.so")[0][1]), {42.0})


class Names(Gpu):
    """<CustomLayer> finds a layer by the name in the IR, in the framework, or of Graft. The kernel gives 42."""
    def setUp(self):
        super().setUp()
        self.write("answer.cl", "__kernel void answer(const __global INPUT0_TYPE* x,\n#ifdef INPUT1_TYPE\nconst __global INPUT1_TYPE* p,\n#endif\n"
                                "__global OUTPUT0_TYPE* y) { y[get_global_id(0)] = 42; }")

    def answers(self, name, model, inputs=1, device="GPU"):
        more = "".join('<Tensor arg-index="%d" type="input" port-index="%d" format="BFYX"/>' % (i, i) for i in range(1, inputs))
        self.write("layers.xml", UNARY % (name, inputs, more))
        self.write("model.txt", model)
        got = self.results(device, "-c", "layers.xml")
        self.assertEqual(set(got[0][1]), {42.0}, name)

    def test_names(self):
        relu = "graph (x: f32[1,2,3,4]) { return Relu(x) }"
        for name in ("Relu", "ReLU", "RELU"):
            self.answers(name, relu)
        prelu = "graph (x: f32[1,2,3,4]) { return PRelu(x, f32[2] {0.1, 0.2}) }"
        for name in ("PRelu", "PReLU"):
            self.answers(name, prelu, inputs=2)
        for name in ("Multiply", "Mul"):  # ours, and that of ONNX
            self.answers(name, "graph (x: f32[1,2,3,4], y: f32[1,2,3,4]) { return Multiply(x, y) }", inputs=2)
        self.answers("ReLU", relu, device="HETERO:GPU,CPU")

    def test_a_name_of_another_operation(self):
        """Subtract is no name of Add, and an alias does not reach past an operation that has the name itself."""
        self.write("layers.xml", UNARY % ("Power", 2, '<Tensor arg-index="1" type="input" port-index="1" format="BFYX"/>'))
        self.write("model.txt", "graph (x: f32[1,2,3,4], y: f32[1,2,3,4]) { return Add(x, y) }")
        self.assertEqual(self.graft("run", "model.txt", "-d", "GPU", "-c", "layers.xml").status, 2)

    def test_nothing_matches(self):
        self.write("layers.xml", UNARY % ("ReLU6x", 1, "") + (UNARY % ("Twist", 1, "")))
        self.write("model.txt", "graph (x: f32[1,2,3,4]) { a = Relu(x) b = Sin(a) return b }")
        r = self.graft("run", "model.txt", "-d", "GPU", "-c", "layers.xml")
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("error: the model has no layer for the custom layers of '%s': expected ReLU6x, Twist, got ReLU, Sin" % os.path.realpath(self.path("layers.xml")), r.err)
        # On a device that the file is not for, it is a warning.
        r = self.graft("run", "model.txt", "-d", "CPU", "-c", "layers.xml")
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("it is for GPU, where the model does not run", r.err)

    def test_one_of_several_matches(self):
        self.write("layers.xml", UNARY % ("Twist", 1, "") + (UNARY % ("ReLU", 1, "")))
        self.write("model.txt", "graph (x: f32[1,2,3,4]) { return Relu(x) }")
        r = self.graft("run", "model.txt", "-d", "GPU", "-c", "layers.xml")
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("the custom layer 'Twist' of '%s' is unused" % os.path.realpath(self.path("layers.xml")), r.err)


if __name__ == "__main__":
    gpu_case.main()
