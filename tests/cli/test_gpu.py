#!/usr/bin/env python3
"""The device GPU: custom layers (SimpleGPU) as users write them, against the reference, and what happens when they are wrong.

  tests/cli/test_gpu.py --build build [unittest arguments]

Skipped, with the exit code 77, where there is no OpenCL: apt-get install pocl-opencl-icd.
"""
import os
import shutil
import unittest

import gpu_case
import harness
from gpu_case import Gpu
from harness import write_npy

INDEX = """
  const uint x = get_global_id(0), y = get_global_id(1), bf = get_global_id(2);
  const uint f = bf % OUTPUT0_DIMS[1], b = bf / OUTPUT0_DIMS[1];
  const uint i = INPUT0_OFFSET + b*INPUT0_PITCHES[0] + f*INPUT0_PITCHES[1] + y*INPUT0_PITCHES[2] + x*INPUT0_PITCHES[3];
  const uint o = OUTPUT0_OFFSET + b*OUTPUT0_PITCHES[0] + f*OUTPUT0_PITCHES[1] + y*OUTPUT0_PITCHES[2] + x*OUTPUT0_PITCHES[3];
"""


def layer(name, entry, source, buffers, sizes='<WorkSizes global="X,Y,B*F"/>', defines="", options=""):
    return """<CustomLayer name="%s" type="SimpleGPU" version="1">
  <Kernel entry="%s">
    <Source filename="%s"/>
    %s
  </Kernel>
  <Buffers>
    %s
  </Buffers>
  %s
  %s
</CustomLayer>
""" % (name, entry, source, defines, buffers, options, sizes)


def tensor(index, kind, port=0, more=""):
    return '<Tensor arg-index="%d" type="%s" port-index="%d" %s/>' % (index, kind, port, more)


ONE_TO_ONE = tensor(0, "input", 0, 'format="BFYX"') + tensor(1, "output", 0, 'format="BFYX"')


class CustomLayers(Gpu):
    def test_attribute(self):
        self.write("layers.xml", layer("Elu", "elu", "elu.cl", ONE_TO_ONE, defines='<Define name="ALPHA" type="float" param="alpha" default="1.0"/>'))
        self.write("elu.cl", "__kernel void elu(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {" + INDEX +
                   "  out[o] = in[i] > 0 ? in[i] : (OUTPUT0_TYPE)ALPHA * (exp(in[i]) - 1);\n}\n")
        self.compare("graph (x: f32[2,3,4,5]) { return Elu(Subtract(x, f32[] {0.5})) {alpha = 0.3} }")
        self.assertIn("custom_layer", self.explained())

    def test_a_compiler_that_warns_is_not_heard(self):
        self.write("layers.xml", layer("Sigmoid", "sigmoid", "s.cl", ONE_TO_ONE))
        self.write("s.cl", "__kernel void sigmoid(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {" + INDEX +
                   "  const __global float* p = (const __global int*)in;\n  out[o] = 1 / (1 + exp(-p[i]));\n}\n")
        self.compare("graph (x: f32[2,3,4,5]) { return Sigmoid(x) }")
        shutil.rmtree(self.path("cache"))
        r = self.graft("run", "model.txt", "-d", "GPU", "--extensions", "layers.xml", "--seed", "1")
        self.assertEqual(r.status, 0, r.all)
        self.assertNotIn("generated", r.err)

    def test_lower_rank_default_sizes_and_default_value(self):
        self.write("layers.xml", layer("Sigmoid", "sigmoid", "s.cl", ONE_TO_ONE, sizes="", defines='<Define name="SCALE" param="none" type="int" default="1"/><Define name="TWO 2"/>'))
        self.write("s.cl", "__kernel void sigmoid(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {\n"
                   "  int g[] = GLOBAL_WORKSIZE_INIT;\n  int i = get_global_id(0);\n"
                   "  if (NUM_INPUTS == 1 && GLOBAL_WORKSIZE_SIZE == 1 && g[0] == 21 && LOCAL_WORKSIZE_SIZE == 0 && INPUT0_DIMS[1] == 3 && INPUT0_DIMS[2] == 1 && INPUT0_DIMS_SIZE == 4 && TWO == 2)\n"
                   "    out[i] = SCALE / (1 + exp(-in[i]));\n}\n")
        self.compare("graph (x: f32[7,3]) { return Sigmoid(x) }")

    def test_two_inputs_and_local_sizes(self):
        buffers = tensor(2, "output") + tensor(0, "input", 0) + tensor(1, "input", 1)
        self.write("layers.xml", layer("Maximum", "largest", "m.cl", buffers, sizes='<WorkSizes global="(X+3)/4*4, Y, B*F" local="4, 1, 1"/>'))
        self.write("m.cl", "__kernel void largest(const __global INPUT0_TYPE* a, const __global INPUT1_TYPE* c, __global OUTPUT0_TYPE* out) {\n"
                   "  if (get_global_id(0) >= OUTPUT0_DIMS[3]) return;" + INDEX + "  out[o] = LOCAL_WORKSIZE[0] == 4 ? max(a[i], c[i]) : 0;\n}\n")
        self.compare("graph (x: f32[1,2,3,5], y: f32[1,2,3,5]) { return Maximum(x, y) }")

    def test_two_outputs_of_one_file_with_two_layers(self):
        buffers = tensor(0, "input") + tensor(1, "output", 0) + tensor(2, "output", 1)
        self.write("layers.xml", layer("Split", "halves", "h.cl", buffers, sizes='<WorkSizes global="X,Y,B*F"/>') +
                   layer("Negative", "negative", "n.cl", ONE_TO_ONE, sizes=""))
        self.write("h.cl", "__kernel void halves(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* first, __global OUTPUT1_TYPE* second) {" + INDEX +
                   "  first[o] = in[i];\n  second[o] = in[i + OUTPUT1_DIMS[1] * INPUT0_PITCHES[1]];\n}\n")
        self.write("n.cl", "__kernel void negative(const __global float* in, __global float* out) { int i = get_global_id(0); out[i] = -in[i]; }")
        self.compare("graph (x: f32[1,6,2,3]) { p = Split(x, i64[] {1}) {num_splits = 2} return Negative(p), p.1 }")

    def test_grn(self):
        self.write("layers.xml", layer("GRN", "grn", "grn.cl", ONE_TO_ONE, sizes='<WorkSizes global="X,Y,B" dim="input"/>', defines='<Define name="BIAS" type="float" param="bias"/>'))
        self.write("grn.cl", """__kernel void grn(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {
  const uint x = get_global_id(0), y = get_global_id(1), b = get_global_id(2);
  float sum = BIAS;
  for (uint f = 0; f < INPUT0_DIMS[1]; ++f) {
    float v = in[b*INPUT0_PITCHES[0] + f*INPUT0_PITCHES[1] + y*INPUT0_PITCHES[2] + x*INPUT0_PITCHES[3]];
    sum += v * v;
  }
  for (uint f = 0; f < INPUT0_DIMS[1]; ++f) {
    uint p = b*INPUT0_PITCHES[0] + f*INPUT0_PITCHES[1] + y*INPUT0_PITCHES[2] + x*INPUT0_PITCHES[3];
    out[p] = in[p] / sqrt(sum);
  }
}
""")
        self.compare("graph (x: f32[2,3,4,5]) { return GRN(x) {bias = 0.25} }")

    def test_formats(self):
        for format in ("BFYX", "BYXF", "YXFB", "FYXB", "byxf", "ANY"):
            plain = "BFYX" if format == "ANY" else format.upper()
            buffers = tensor(0, "input", 0, 'format="%s"' % format) + tensor(1, "output", 0, 'format="%s"' % format)
            self.write("layers.xml", layer("Tanh", "hyperbolic", "t.cl", buffers))
            self.write("t.cl", "#if !defined(INPUT0_FORMAT_%s) || !defined(OUTPUT0_FORMAT_%s)\n#error no format\n#endif\n" % (plain, plain) +
                       "__kernel void hyperbolic(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {" + INDEX + "  out[o] = tanh(in[i]) + 0 * (b*7 + f);\n}\n")
            self.compare("graph (x: f32[2,3,4,5]) { return Tanh(x) }")
        # The elements are where the format says.
        self.write("layers.xml", layer("Sin", "first", "f.cl", tensor(0, "input", 0, 'format="BYXF"') + tensor(1, "output", 0, 'format="YXFB"')))
        self.write("f.cl", "__kernel void first(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {" + INDEX +
                   "  out[((y * OUTPUT0_DIMS[3] + x) * OUTPUT0_DIMS[1] + f) * OUTPUT0_DIMS[0] + b] = sin(in[((b * INPUT0_DIMS[2] + y) * INPUT0_DIMS[3] + x) * INPUT0_DIMS[1] + f]);\n}\n")
        self.compare("graph (x: f32[2,3,4,5]) { return Sin(x) }")

    def test_integers_and_lists(self):
        self.write("layers.xml", layer("AvgPool", "pool", "p.cl", ONE_TO_ONE, defines='<Define name="KERNEL" type="int[]" param="kernel"/><Define name="STRIDES" type="int[]" param="strides" default="1,1"/>'))
        self.write("p.cl", "__kernel void pool(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {" + INDEX + """
  const int kernel_sizes[] = {KERNEL[0], KERNEL[1]};
  float sum = 0;
  for (int v = 0; v < kernel_sizes[0]; ++v)
    for (int u = 0; u < kernel_sizes[1]; ++u)
      sum += in[b*INPUT0_PITCHES[0] + f*INPUT0_PITCHES[1] + (y*STRIDES[0] + v)*INPUT0_PITCHES[2] + (x*STRIDES[1] + u)*INPUT0_PITCHES[3]];
  out[o] = sum / (KERNEL[0] * KERNEL[1]);
}
""")
        self.compare('graph (x: f32[1,2,6,7]) { return AvgPool(x) {kernel = [2,3], strides = [2,2], pads_begin = [0,0], pads_end = [0,0], "exclude-pad" = true} }')

    def test_f16(self):
        self.write("layers.xml", layer("Relu", "relu", "r.cl", ONE_TO_ONE, sizes=""))
        self.write("r.cl", "__kernel void relu(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {\n  int i = get_global_id(0);\n  vstore_half(fmax(vload_half(i, in), 0.0f), i, out);\n}\n")
        self.compare("graph (x: f16[2,3,4]) { return Relu(Subtract(x, f16[] {0.5})) }")

    def test_internal_buffer_and_options(self):
        buffers = ONE_TO_ONE + tensor(2, "internal", 0, 'size="INPUT0_DIMS[0]*INPUT0_DIMS[1] + 2"')
        self.write("layers.xml", layer("Exp", "exponential", "e.cl", buffers, sizes="", options='<CompilerOptions options="-cl-mad-enable -DPLUS=0"/>'))
        self.write("e.cl", "__kernel void exponential(const __global float* in, __global float* out, __global float* between) {\n  int i = get_global_id(0);\n  between[i] = exp(in[i]);\n  out[i] = between[i] + PLUS;\n}\n")
        self.compare("graph (x: f32[3,5]) { return Exp(x) }")

    def test_dynamic_shapes(self):
        self.write("layers.xml", layer("Cos", "cosine", "c.cl", ONE_TO_ONE))
        self.write("c.cl", "__kernel void cosine(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {" + INDEX + "  out[o] = cos(in[i]);\n}\n")
        for dims in ([1, 2, 3, 4], [2, 1, 5, 1], [1, 2, 3, 4]):
            count = dims[0] * dims[1] * dims[2] * dims[3]
            write_npy(self.path("x.npy"), dims, [0.1 * i for i in range(count)])
            self.compare("graph (x: f32[?,?,?,?]) { return Cos(x) }", "--input", "x=x.npy")

    def test_unused_layers_are_reported(self):
        self.write("layers.xml", layer("Cos", "cosine", "c.cl", ONE_TO_ONE) + layer("Relu", "relu", "c.cl", ONE_TO_ONE))
        self.write("c.cl", "__kernel void cosine(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {}\n__kernel void relu(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {}\n")
        self.write("model.txt", "graph (x: f32[1,2,3,4,5]) { return Relu(x) }")
        r = self.graft("run", "model.txt", "-d", "GPU", "--extensions", "layers.xml")
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("the custom layer 'Cos' of '%s' is unused: the compiled model has no operation of this type" % os.path.realpath(self.path("layers.xml")), r.err)
        self.assertIn("is not used for 'v0' (Relu): custom layers have at most 4 dimensions, got 5", r.err)
        r = self.graft("run", "model.txt", "-d", "CPU", "-c", "layers.xml")
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("is unused: it is for GPU, where the model does not run", r.err)

    def test_a_layer_in_one_of_several_parts(self):
        self.write("layers.xml", layer("Cos", "cosine", "c.cl", ONE_TO_ONE))
        self.write("c.cl", "__kernel void cosine(const __global INPUT0_TYPE* in, __global OUTPUT0_TYPE* out) {%s out[o] = cos(in[i]); }" % INDEX)
        self.write("model.txt", "graph (x: f32[1,2,3,4]) { a = Cos(x) b = Relu(a) c = Sin(b) return c }")
        r = self.graft("run", "model.txt", "-d", "HETERO:GPU,CPU", "--affinity", "b=CPU", "-c", "layers.xml")
        self.assertEqual(r.status, 0, r.all)
        self.assertNotIn("unused", r.err)


class Faults(Gpu):
    def fails(self, *texts, xml=None, source=None, model="graph (x: f32[2,3]) { return Cos(x) }"):
        self.write("layers.xml", xml or layer("Cos", "cosine", "c.cl", ONE_TO_ONE, sizes=""))
        if source is not None:
            self.write("c.cl", source)
        self.write("model.txt", model)
        r = self.graft("run", "model.txt", "-d", "GPU", "--extensions", "layers.xml")
        self.assertEqual(r.status, 2, r.all)
        for text in texts:
            self.assertIn(text, r.err)

    def test_errors_of_the_compiler_name_the_line(self):
        self.fails("the OpenCL source does not compile", "c.cl:3:", "use of undeclared identifier 'nothing'", "compiling the kernel 'cosine' for",
                   source="// one\n__kernel void cosine(const __global float* in, __global float* out) {\n  out[0] = nothing;\n}\n")

    def test_what_does_not_fit(self):
        good = "__kernel void cosine(const __global float* in, __global float* out) { out[get_global_id(0)] = 0; }\n"
        self.fails("the kernel 'cosine' has 1 arguments, but 2 are described", source="__kernel void cosine(__global float* out) { out[0] = 0; }")
        self.fails("the source defines no kernel 'cosine'", source="__kernel void sine(const __global float* in, __global float* out) { out[0] = 0; }")
        for sizes, message in (('global="X" local="100000000"', "the global work size 1 is not a multiple of the local work size 100000000"),
                               ('global="B*100000000" local="100000000"', "work items in a group"),
                               ('global="X,Y" local="1"', "expected as many local work sizes as global ones, got 1 and 2"),
                               ('global="X" dim="input,3"', "the node has no input 3"),
                               ('global="X-5"', "expected a work size of at least 0")):
            self.fails(message, xml=layer("Cos", "cosine", "c.cl", ONE_TO_ONE, sizes="<WorkSizes %s/>" % sizes), source=good)
        self.fails("<Buffers> describes 0 outputs, the operation has 1", xml=layer("Cos", "cosine", "c.cl", tensor(0, "input") + tensor(1, "input"), sizes=""), source=good)

    def test_files(self):
        self.fails("layers.xml:2:3: cannot open", "nowhere.cl", xml=layer("Cos", "cosine", "nowhere.cl", ONE_TO_ONE))
        self.fails("<Data> arguments are not supported", xml=layer("Cos", "cosine", "c.cl", ONE_TO_ONE + '<Data arg-index="2" name="weights"/>'), source="")
        self.fails("expected <CustomLayer>, got <Layer>", xml="<Layer/>")

    def test_an_operation_without_a_kernel(self):
        self.write("model.txt", "graph (x: f32[2,3]) { return NonZero(x) }")
        r = self.graft("run", "model.txt", "-d", "GPU")
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("data-dependent output shapes are not supported on GPU", r.err)
        self.assertIn("HETERO:GPU,CPU", r.err)


class Definitions(Gpu):
    """OpenCL in the definition of an operation."""

    def test_kernels_of_an_extension(self):
        library = harness.built("extensions", "opencl_ops.so")
        self.write("model.txt", "graph (x: f32[4,6]) {\n  a = Leaky@cl(Subtract(x, f32[] {0.5})) {slope = 0.125}\n  return RowSum@cl(a), Relu(a)\n}")
        expected = self.results("REFERENCE", "--extensions", library)
        got = self.results("GPU", "--extensions", library)
        for (shape, a), (wanted, b) in zip(got, expected):
            self.assertEqual(shape, wanted)
            for p, q in zip(a, b):
                self.assertAlmostEqual(p, q, 5)
        explained = self.graft("explain", "model.txt", "-d", "GPU", "--extensions", library).out
        for kernel in ("leaky_cl", "row_sum_cl", "own_relu", "it never does"):
            self.assertIn(kernel, explained)

    @unittest.skipUnless(shutil.which("oclgrind"), "apt-get install oclgrind")
    def test_check_in_a_simulator(self):
        library = harness.built("extensions", "opencl_ops.so")
        for op, found in (("Beyond", "Invalid read of size 4 in the kernel 'beyond', line 4"),
                          ("Racing", "Read-write data race in the kernel 'racing', line 4")):
            r = self.graft("check", library, "--op", op, "--cases", "10")
            self.assertEqual(r.status, 2, r.all)
            self.assertIn(found, r.all)

    def test_operations_without_a_kernel(self):
        r = self.graft("ops", "--missing", "-d", "GPU")
        self.assertEqual(r.status, 0, r.all)
        self.assertRegex(r.out, r"(?m)^NonZero ")
        self.assertNotRegex(r.out, r"(?m)^Relu ")
        self.assertRegex(r.out, r"[0-9]+ operations without a kernel for GPU")


class Programs(Gpu):
    def test_the_disk_cache(self):
        self.write("model.txt", "graph (x: f32[2,3]) { return Cos(x) }")
        first = self.results("GPU")
        kept = [self.path("cache", f) for f in os.listdir(self.path("cache"))]
        self.assertEqual(len(kept), 1)
        self.assertEqual(self.results("GPU"), first)
        with open(kept[0], "r+b") as f:
            f.seek(40)
            f.write(b"damaged")
        r = self.graft("run", "model.txt", "-d", "GPU")
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("is damaged (wrong checksum); it is compiled again", r.err)
        self.assertNotIn("is damaged", self.graft("run", "model.txt", "-d", "GPU").err)

    def test_the_device(self):
        self.assertRegex(self.graft("devices").out, r"(?m)^GPU +.*OpenCL")


class WithoutOpencl(Gpu):
    def test_it_says_why(self):
        # A folder without drivers in the place of the system's.
        self.env["OCL_ICD_VENDORS"] = self.path("none")
        self.write("model.txt", "graph (x: f32[2,3]) { return Cos(x) }")
        r = self.graft("run", "model.txt", "-d", "GPU")
        self.assertEqual(r.status, 1, r.all)
        self.assertIn("the device GPU cannot be used: OpenCL is installed without a driver for any device", r.err)
        self.assertIn("apt-get install pocl-opencl-icd", r.err)
        self.assertEqual(self.graft("run", "model.txt", "-d", "CPU").status, 0)


if __name__ == "__main__":
    gpu_case.main()
