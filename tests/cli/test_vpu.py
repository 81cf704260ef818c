#!/usr/bin/env python3
"""The device VPU: custom layers (MVCL) as users wrote them for Myriad, against the reference, and what happens when they are wrong.

  tests/cli/test_vpu.py --build build [unittest arguments]

Skipped, with the exit code 77, where there is no OpenCL: apt-get install pocl-opencl-icd.
"""
import os
import subprocess

import gpu_case
import harness
from gpu_case import Gpu
from harness import graft, write_npy

HALF = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"


def kernel(entry, source, parameters, sizes, more=""):
    return '  <Kernel entry="%s"%s>\n    <Source filename="%s"/>\n    <Parameters>\n%s    </Parameters>\n    <WorkSizes %s/>\n  </Kernel>\n' % (
        entry, more, source, "".join("      <%s/>\n" % p for p in parameters), sizes)


def layer(name, *kernels, where="", version="1"):
    return '<CustomLayer name="%s" type="MVCL" version="%s">\n%s%s</CustomLayer>\n' % (name, version, "  <Where %s/>\n" % where if where else "", "".join(kernels))


def tensor(name, kind, port=0, more='format="BFYX"'):
    return 'Tensor arg-name="%s" type="%s" port-index="%d" %s' % (name, kind, port, more)


def scalar(name, kind, source, port=0):
    return 'Scalar arg-name="%s" type="%s" port-index="%d" source="%s"' % (name, kind, port, source)


def local(name, size):
    return 'Data arg-name="%s" type="local_data" dim="input,0" size="%s"' % (name, size)


IN_OUT = [tensor("src", "input"), tensor("dst", "output")]
ALL = 'dim="output,0" global="X,Y,F" local="1,1,1"'

REORG = layer("ReorgYolo", kernel("reorg", "reorg.cl", IN_OUT + [scalar("w", "int", "I.X"), scalar("h", "int", "I.Y"), scalar("c", "int", "I.F"), scalar("stride", "int", "stride")],
                                  'dim="input,0" global="X,Y,F" local="X,1,1"'))
# Element (x, y) of channel f comes from a plane of stride times the size, as Darknet's layer reads its input.
REORG_CL = HALF + """
__kernel void reorg(const __global half* restrict src, __global half* restrict dst, int w, int h, int c, int stride) {
  const int x = get_global_id(0), y = get_global_id(1), f = get_global_id(2);
  const int planes = c / (stride * stride), place = f / planes;
  const int from_x = x * stride + place % stride, from_y = y * stride + place / stride;
  dst[(f * h + y) * w + x] = src[(f % planes * h * stride + from_y) * w * stride + from_x];
}
"""

GRN = layer("GRN", kernel("grn", "grn.bin", [tensor("src_data", "input"), tensor("dst_data", "output"), local("src", "X*F*2"), local("dst", "X*F*2"), scalar("C", "int", "I.F"), scalar("bias", "float", "bias")],
                          'dim="input,0" global="X,Y,1" local="X,1,1"'))
GRN_ARGUMENTS = "__global const half* restrict src_data, __global half* restrict dst_data, __local half* restrict src, __local half* restrict dst, int C, float bias"
GRN_CL = HALF + """
__kernel void __dma_preload_grn(%s) {
  const size_t line = get_local_size(0) * sizeof(half), plane = get_global_size(0) * get_global_size(1) * sizeof(half);
  WorkGroupDmaCreate3DTransaction(src_data + get_group_id(1) * get_global_size(0), src, line, line, line, line, C, plane, line, line, 0);
}
__kernel void __dma_postwrite_grn(%s) {
  const size_t line = get_local_size(0) * sizeof(half), plane = get_global_size(0) * get_global_size(1) * sizeof(half);
  WorkGroupDmaCreateStrideTransaction(dst, dst_data + get_group_id(1) * get_global_size(0), line, line, line, plane, line * C, 0);
}
__kernel void grn(%s) {
  float sum = bias;
  for (int c = 0; c < C; ++c) {
    float v = (float)src[c * get_local_size(0) + get_local_id(0)];
    sum = mad(v, v, sum);
  }
  half scale = (half)native_rsqrt(sum);
  for (int c = 0; c < C; ++c) dst[c * get_local_size(0) + get_local_id(0)] = src[c * get_local_size(0) + get_local_id(0)] * scale;
}
""" % ((GRN_ARGUMENTS,) * 3)

BUFFER = 'dim="output,0" size="4*F*Y"'
SOFTMAX = layer("Softmax",
                kernel("largest", "sm.cl", [tensor("src", "input"), tensor("most", "output_buffer", 0, BUFFER), scalar("w", "int", "I.X")], 'dim="input,0" global="Y,F"', ' stage="0"'),
                kernel("total", "sm.cl", [tensor("src", "input"), tensor("most", "input_buffer", 0, BUFFER), tensor("sum", "output_buffer", 1, BUFFER), scalar("w", "int", "I.X")], 'dim="input,0" global="Y,F"', ' stage="1" max-shaves="4"'),
                kernel("share", "sm.cl", IN_OUT + [tensor("most", "input_buffer", 0, BUFFER), tensor("sum", "input_buffer", 1, BUFFER)], ALL, ' stage="2"'))
SOFTMAX_CL = HALF + """
#define ROW (get_global_id(1) * get_global_size(0) + get_global_id(0))
__kernel void largest(const __global half* src, __global float* most, int w) {
  float m = -INFINITY;
  for (int x = 0; x < w; ++x) m = max(m, (float)src[ROW * w + x]);
  most[ROW] = m;
}
__kernel void total(const __global half* src, const __global float* most, __global float* sum, int w) {
  float s = 0;
  for (int x = 0; x < w; ++x) s += exp((float)src[ROW * w + x] - most[ROW]);
  sum[ROW] = s;
}
__kernel void share(const __global half* src, __global half* dst, const __global float* most, const __global float* sum) {
  const int row = get_global_id(2) * get_global_size(1) + get_global_id(1), i = row * get_global_size(0) + get_global_id(0);
  dst[i] = convert_half(exp((float)src[i] - most[row]) / sum[row]);
}
"""


class Vpu(Gpu):
    def compare(self, model, *arguments, tolerance=4e-3, device="VPU"):
        """The custom layer against the reference of the operation."""
        self.write("model.txt", model)
        expected = self.results("REFERENCE", *arguments)
        got = self.results(device, "-c", "layers.xml", *arguments)
        self.assertEqual([s for s, _ in got], [s for s, _ in expected])
        for (_, a), (_, b) in zip(got, expected):
            self.assertEqual(len(a), len(b))
            for p, q in zip(a, b):
                self.assertLessEqual(abs(p - q), tolerance * max(1, abs(q)), (p, q))

    def layers(self, xml, **sources):
        self.write("layers.xml", xml)
        for name, text in sources.items():
            self.write(name + ".cl", text)

    def explained(self, device="VPU"):
        return self.graft("explain", "model.txt", "-d", device, "-c", "layers.xml").out


class CustomLayers(Vpu):
    def test_reorg(self):
        self.layers(REORG, reorg=REORG_CL)
        self.compare("graph (x: f32[1,8,6,4]) { return ReorgYolo(x) {stride = 2} }")
        self.compare("graph (x: f16[1,8,6,4]) { return ReorgYolo(x) {stride = 2} }")
        self.assertRegex(self.explained(), r"Kernels on HETERO:VPU,CPU\n Part 0 on VPU\n.*ReorgYolo +custom_layer")

    def test_manual_dma_from_a_compiled_kernel(self):
        self.layers(GRN, grn=GRN_CL)
        self.write("grn.bin", "compiled")
        self.compare("graph (x: f32[1,5,4,7]) { return GRN(x) {bias = 0.25} }")

    def test_stages_share_buffers(self):
        self.layers(SOFTMAX, sm=SOFTMAX_CL)
        self.compare("graph (x: f32[1,3,4,7]) { return Softmax(x) {axis = 3} }")

    def test_the_batch_is_split(self):
        self.layers(SOFTMAX + GRN + REORG, sm=SOFTMAX_CL, grn=GRN_CL, reorg=REORG_CL)
        self.compare("graph (x: f32[3,4,4,6]) { a = Softmax(x) {axis = 3} b = GRN(a) {bias = 1} return ReorgYolo(b) {stride = 2} }")

    def test_dynamic_shapes(self):
        self.layers(SOFTMAX + GRN, sm=SOFTMAX_CL, grn=GRN_CL)
        for dims in ([1, 2, 3, 4], [2, 1, 5, 2], [1, 2, 3, 4], [0, 2, 3, 4], [1, 2, 3, 0]):
            count = dims[0] * dims[1] * dims[2] * dims[3]
            write_npy(self.path("x.npy"), dims, [0.1 * i for i in range(count)])
            self.compare("graph (x: f32[?,?,?,?]) { return GRN(Softmax(x) {axis = 3}) {bias = 1} }", "--input", "x=x.npy")

    def test_formats_and_vectors(self):
        # Channels last, eight at a time, and with literals and functions of half.
        for format in ("BYXF", "YXF", "yxf"):
            f = 'format="%s"' % format
            self.layers(layer("Elu", kernel("elu", "elu.cl", [tensor("src", "input", 0, f), tensor("dst", "output", 0, f), scalar("alpha", "float", "alpha")], 'dim="output,0" global="F/8,X,Y" local="1,X,1"')),
                        elu=HALF + """
__kernel void elu(const __global half8* restrict src, __global half8* restrict dst, float alpha) {
  const int i = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
  half8 v = src[i], zero = (half8)(0.0h);
  half8 low = (exp(v) - 1.0h) * (half)alpha;
  dst[i] = max(v, zero) + min(low, (half)0.0f);
}
""")
            self.compare("graph (x: f32[1,16,3,5]) { return Elu(Subtract(x, f32[] {0.5})) {alpha = 0.3} }", tolerance=1e-2)

    def test_old_nesting_and_old_stages(self):
        def stage(n, entry, arguments):
            return '<CustomLayer name="Tanh" type="MVCL" version="1" stage="%d" max-shaves="1"><Kernel entry="%s"><Source filename="t.cl"/></Kernel><Parameters>%s</Parameters><WorkSizes dim="input,0" global="X*Y*F,1,1" local="1,1,1"/></CustomLayer>' % (
                n, entry, "".join("<%s/>" % a for a in arguments))
        self.layers(stage(0, "twice", [tensor("src", "input"), tensor("acc", "output_buffer", 3, 'dim="input,0" size="X*Y*F*4"')]) +
                    stage(1, "finish", [tensor("acc", "input_buffer", 3, 'dim="input,0" size="X*Y*F*4"'), tensor("dst", "output")]),
                    t="__kernel void twice(__global const float* src, __global float* acc) { acc[get_global_id(0)] = 2 * src[get_global_id(0)]; }\n"
                      "__kernel void finish(__global const float* acc, __global half* dst) { vstore_half(1 - 2 / (exp(acc[get_global_id(0)]) + 1), get_global_id(0), dst); }\n")
        self.compare("graph (x: f32[1,2,3,5]) { return Tanh(x) }")

    def test_weights_lists_and_literals(self):
        self.layers(layer("PRelu", kernel("prelu", "p.cl", IN_OUT + ['Data arg-name="slope" type="data" source="weights"', scalar("one", "int", "1"), scalar("c", "int", "O0.F")], ALL)),
                    p=HALF + """__kernel void prelu(__global const half* src, __global half* dst, __global const half* slope, int one, int c) {
  int f = get_global_id(2), i = (f * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
  dst[i] = f < c && one == 1 ? (src[i] > 0 ? src[i] : src[i] * slope[f]) : (half)9;
}""")
        self.compare("graph (x: f32[2,3,2,4]) { return PRelu(Subtract(x, f32[] {0.5}), f32[3] {0.25, 0.5, 2}) }")
        self.layers(layer("AvgPool", kernel("pool", "a.cl", IN_OUT + [scalar("k", "int", "kernel", 1), scalar("s", "int", "strides", 1), scalar("w", "int", "I.X"), scalar("h", "int", "I.Y")], ALL)),
                    a=HALF + """__kernel void pool(__global const half* src, __global half* dst, int k, int s, int w, int h) {
  float sum = 0;
  for (int x = 0; x < k; ++x) sum += src[(get_global_id(2) * h + get_global_id(1)) * w + get_global_id(0) * s + x];
  dst[(get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0)] = sum / k;
}""")
        self.compare('graph (x: f32[1,2,3,8]) { return AvgPool(x) {kernel = [1,3], strides = [1,2], pads_begin = [0,0], pads_end = [0,0], "exclude-pad" = true} }')

    def test_copies_of_work_items_and_groups(self):
        self.layers(layer("Sigmoid", kernel("item", "s.cl", IN_OUT + [scalar("w", "int", "I.X")], 'dim="input,0" global="Y,F,1" local="1,1,1"')) +
                    layer("Negative", kernel("group", "s.cl", IN_OUT + [local("line", "X*2"), scalar("w", "int", "I.X")], 'dim="input,0" global="X,Y,F" local="X,1,1"')),
                    s=HALF + """
__kernel void item(__global const half* src, __global half* dst, int w) {
  half line[64];
  int row = get_global_id(1) * get_global_size(0) + get_global_id(0);
  item_dma_event_t e = WorkItemDmaCreateTransaction(src + row * w, line, w * sizeof(half), 0);
  WaitWorkItemDmaEvents(1, &e);
  for (int x = 0; x < w; ++x) line[x] = 1.0h / (1.h + exp(-line[x]));
  e = WorkItemDmaCreateStrideTransaction(line, dst + row * w, 2, 4, 2, 4, w * sizeof(half), 0);
  WaitWorkItemDmaEvents(1, &e);
}
__kernel void group(__global const half* src, __global half* dst, __local half* line, int w) {
  int row = get_global_id(2) * get_global_size(1) + get_global_id(1), x = get_local_id(0);
  event_t e = async_work_group_copy(line, src + row * w, w, 0);
  wait_group_events(1, &e);
  line[x] = -line[x];
  barrier(CLK_LOCAL_MEM_FENCE);
  e = async_work_group_copy(dst + row * w, line, w, 0);
  wait_group_events(1, &e);
}
""")
        self.compare("graph (x: f32[1,2,3,6]) { return Sigmoid(x), Negative(x) }")

    def test_where_selects_an_alternative(self):
        def alternative(where, value):
            return layer("Elu", kernel("k%s" % value, "e.cl", IN_OUT, 'dim="output,0" global="X*Y*F"'), where=where)
        self.layers(alternative('alpha="&gt;=4"', 1) + alternative('alpha="&lt;1" none="2"', 2) + alternative('alpha="!=2"', 3) + alternative('alpha="2.0"', 4),
                    e="\n".join("__kernel void k%d(__global const float* src, __global float* dst) { dst[get_global_id(0)] = %d; }" % (i, i) for i in (1, 2, 3, 4)))
        for alpha, chosen in ((5, 1), (0.5, 3), (2, 4)):
            self.write("model.txt", "graph (x: f32[1,1,1,2]) { return Elu(x) {alpha = %s} }" % alpha)
            self.assertEqual(self.results("VPU", "-c", "layers.xml")[0][1], [chosen, chosen])

    def test_generated_by_extgen(self):
        p = subprocess.run([harness.built("bin", "graft"), "extgen", "new", "--ie-vpu-ext", "--output_dir", "made"], cwd=self.folder, capture_output=True, text=True, input="Elu\nalpha float\nq\nn\n")
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        folder = os.path.join("made", "user_ie_extensions", "vpu")
        path = self.path(folder, "elu_kernel.cl")
        with open(path) as f:
            text = f.read()
        begin, end = text.index("    // Replace this line"), text.rindex("}")
        body = "    const int i = (get_global_id(2) * H + get_global_id(1)) * W + get_global_id(0);\n    dst[i] = src[i] > 0 ? src[i] : (half)alpha * (exp(src[i]) - 1);\n"
        self.write(path, text[:begin] + body + text[end:])
        self.write("model.txt", "graph (x: f32[2,3,4,5]) { return Elu(Subtract(x, f32[] {0.5})) {alpha = 0.5} }")
        expected = self.results("REFERENCE")
        got = self.results("VPU", "-c", os.path.join(folder, "elu_kernel.xml"))
        for p, q in zip(got[0][1], expected[0][1]):
            self.assertLessEqual(abs(p - q), 4e-3)


class Device(Vpu):
    def test_other_operations_run_on_the_cpu(self):
        self.layers(REORG, reorg=REORG_CL)
        for device in ("VPU", "MYRIAD", "HDDL", "HETERO:VPU,CPU", "HETERO:MYRIAD,CPU"):
            self.compare("graph (x: f32[1,4,4,4]) { a = Relu(x) b = ReorgYolo(a) {stride = 2} return Sin(b) }", device=device)
            explained = self.explained(device)
            self.assertIn("Kernels on HETERO:VPU,CPU", explained)
            self.assertRegex(explained, r"Part 0 on CPU\n +a +Relu")
            self.assertRegex(explained, r"Part 1 on VPU, after phase 0\n +b +ReorgYolo +custom_layer")

    def test_without_layers(self):
        self.write("model.txt", "graph (x: f32[1,4]) { return Sin(x) }")
        r = self.graft("run", "model.txt", "-d", "VPU")
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("no custom layers are loaded for VPU: all operations run on CPU", r.err)
        self.assertRegex(self.graft("explain", "model.txt", "-d", "VPU", "--query").out, r"Sin +CPU")

    def test_unused_layers_are_reported(self):
        self.layers(REORG + layer("Cos", kernel("c", "c.cl", IN_OUT, ALL)), reorg=REORG_CL, c="__kernel void c(__global const half* src, __global half* dst) {}")
        self.write("model.txt", "graph (x: f32[1,2,3,4,5]) { return Cos(x) }")
        r = self.graft("run", "model.txt", "-d", "VPU", "-c", "layers.xml")
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("the custom layer 'ReorgYolo' of '%s' is unused: the compiled model has no operation of this type" % os.path.realpath(self.path("layers.xml")), r.err)
        self.assertIn("is not used for 'v0' (Cos): VPU: no VPU kernel accepts Cos: custom_layer declined with 'layers.xml:15:1: custom layers have at most 4 dimensions, got 5'", r.err)
        r = self.graft("run", "model.txt", "-d", "CPU", "-c", "layers.xml")
        self.assertIn("is unused: it is for VPU, where the model does not run", r.err)

    def test_fusions_leave_configured_layers_alone(self):
        self.layers(layer("Relu", kernel("relu", "r.cl", IN_OUT, 'dim="output,0" global="X*Y*F"')), r=HALF + "__kernel void relu(__global const half* src, __global half* dst) { int i = get_global_id(0); dst[i] = fmax(src[i], (half)0); }")
        self.compare("graph (x: f32[1,2,4,4]) { w = f32[2,2,1,1] random(1, -1, 1) c = Convolution(x, w) {strides = [1,1], pads_begin = [0,0], pads_end = [0,0], dilations = [1,1]} return Relu(c) }")
        self.assertRegex(self.explained(), r"Relu +custom_layer")

    def test_it_is_absent_without_opencl(self):
        self.env["OCL_ICD_VENDORS"] = self.path("none")
        self.write("model.txt", "graph (x: f32[2,3]) { return Cos(x) }")
        r = self.graft("run", "model.txt", "-d", "MYRIAD")
        self.assertEqual(r.status, 1, r.all)
        self.assertIn("the device VPU cannot be used: OpenCL is installed without a driver for any device", r.err)
        self.assertRegex(self.graft("devices").out, r"(?m)^VPU +not available")


class Faults(Vpu):
    GOOD = HALF + "\n__kernel void cosine(const __global half* src, __global half* dst) { dst[get_global_id(0)] = cos(src[get_global_id(0)]); }\n"

    def fails(self, *texts, parameters=IN_OUT, sizes='dim="output,0" global="X*Y*F"', source=GOOD, xml=None, model="graph (x: f32[1,1,2,3]) { return Cos(x) }"):
        self.layers(xml or layer("Cos", kernel("cosine", "c.cl", parameters, sizes)), c=source)
        self.write("model.txt", model)
        r = self.graft("run", "model.txt", "-d", "VPU", "-c", "layers.xml")
        self.assertEqual(r.status, 2, r.all)
        for text in texts:
            self.assertIn(text, r.err)

    def test_errors_of_the_compiler_name_the_line(self):
        self.fails("the OpenCL source does not compile", "c.cl:4:", "use of undeclared identifier 'nothing'", "compiling the kernel 'cosine' for 'v0' (Cos)",
                   source=HALF + "// two\n__kernel void cosine(const __global half* src, __global half* dst) {\n  dst[0] = nothing * 0.5h;\n}\n")

    def test_arguments(self):
        self.fails("layers.xml:2:3: the argument 'n' of kernel 'cosine' is not described", source="__kernel void cosine(__global half* src, __global half* dst, int n) {}")
        self.fails("layers.xml:6:7: kernel 'cosine' has no argument 'dst'", source="__kernel void cosine(__global half* src) {}")
        self.fails("layers.xml:2:3: the sources define no kernel 'cosine', they define sine", source="__kernel void sine(__global half* src, __global half* dst) {}")
        self.fails("layers.xml:7:7: argument 'n' is a pointer in the source", parameters=IN_OUT + [scalar("n", "int", "I.X")], source="__kernel void cosine(__global half* src, __global half* dst, __global int* n) {}")
        self.fails("layers.xml:5:7: argument 'src' is no pointer in the source", source="__kernel void cosine(float src, __global half* dst) {}")
        self.fails("layers.xml:7:7: argument 'l' does not point to local memory", parameters=IN_OUT + [local("l", "4")], source="__kernel void cosine(__global half* src, __global half* dst, __global int* l) {}")
        self.fails("expected argument 'src' to point to half, float, int or the like, got 'thing'", source="__kernel void cosine(__global thing* src, __global half* dst) {}")
        self.fails("layers.xml:7:7: expected weights or biases as source of argument 'w', got 'kernel'", parameters=IN_OUT + ['Data arg-name="w" type="data" source="kernel"'], source="__kernel void cosine(__global half* src, __global half* dst, __global half* w) {}")

    def test_work_sizes(self):
        for sizes, message in (('dim="output,0" global="X" local="2"', "the global work size 3 is not a multiple of the local work size 2"),
                               ('dim="output,0" global="100000000" local="100000000"', "work items in a group"),
                               ('dim="output,0" global="X,Y" local="1"', "expected as many local work sizes as global ones, got 1 and 2"),
                               ('dim="output,0" global="X" local="X-3"', "layers.xml:2:3: expected a local work size of at least 1, got 0"),
                               ('dim="output,0" global="X-5"', "layers.xml:2:3: expected a global work size of at least 0, got X-5 = -2")):
            self.fails(message, sizes=sizes)

    def test_sizes_of_buffers(self):
        self.fails("layers.xml:7:7: expected a size of at least 0 of the buffer, got X-9 = -6", parameters=IN_OUT + [local("l", "X-9")], source="__kernel void cosine(__global half* src, __global half* dst, __local int* l) {}")

    def test_local_memory(self):
        arguments = "const __global half* src, __global half* dst, __local half* l"
        body = "__kernel void cosine(%s) { dst[get_global_id(0)] = src[get_global_id(0)]; }\n" % arguments
        self.fails("layers.xml:2:3: the kernel 'cosine' uses 102404 bytes of local memory in a work group, the VPU has 102400", parameters=IN_OUT + [local("l", "102404")], source=HALF + body)
        self.fails("the kernel 'cosine' uses 120000 bytes of local memory in a work group (manual DMA needs it twice), the VPU has 102400", parameters=IN_OUT + [local("l", "60000")],
                   source=HALF + body + "__kernel void __dma_preload_cosine(%s) {}\n" % arguments)
        self.fails("bytes of local memory in a work group, expected at most 102400",
                   source=HALF + "__kernel void cosine(const __global half* src, __global half* dst) { __local float l[30000]; int i = get_global_id(0); l[i] = src[i]; barrier(CLK_LOCAL_MEM_FENCE); dst[i] = l[i ^ 1]; }")

    def test_manual_dma(self):
        self.fails("layers.xml:2:3: '__dma_preload_cosine' has 1 arguments, expected the 2 of 'cosine'", source=self.GOOD + "__kernel void __dma_preload_cosine(const __global half* src) {}")
        self.fails("argument 'dst' of '__dma_postwrite_cosine' has another type than 'dst' of 'cosine'", source=self.GOOD + "__kernel void __dma_postwrite_cosine(const __global half* src, __global float* dst) {}")

    def test_buffers(self):
        two = layer("Cos", kernel("a", "c.cl", [tensor("src", "input"), tensor("t", "output_buffer", 0, 'dim="input,0" size="X"')], ALL, ' stage="0"'),
                    kernel("b", "c.cl", [tensor("t", "input_buffer", 0, 'dim="input,0" size="X*2"'), tensor("dst", "output")], ALL, ' stage="1"'))
        self.fails("layers.xml:13:7: expected at most 3 bytes, the size of buffer 0, got 6", xml=two, source="__kernel void a(__global half* src, __global half* t) {} __kernel void b(__global half* t, __global half* dst) {}")
        self.fails("layers.xml:13:7: no stage before this one has an output_buffer 0", xml=two.replace('type="output_buffer" port-index="0"', 'type="output_buffer" port-index="1"'))

    def test_files(self):
        self.fails("layers.xml:2:3: cannot open 'c2.cl'", xml=layer("Cos", kernel("cosine", "c2.cl", IN_OUT, ALL)))
        self.write("only.bin", "compiled")
        self.fails("layers.xml:2:3: 'only.bin' is compiled for a SHAVE processor, and there is no .cl file beside it", xml=layer("Cos", kernel("cosine", "only.bin", IN_OUT, ALL)))


if __name__ == "__main__":
    gpu_case.main()
