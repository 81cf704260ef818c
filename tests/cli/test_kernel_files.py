#!/usr/bin/env python3
"""The .xml files of OpenCL kernels for GPU and VPU, checked by `graft extgen check`: what is valid, and each error with its line.

  tests/cli/test_kernel_files.py --build build [unittest arguments]
"""
import glob
import json
import re
import shutil
import subprocess
import unittest

from extgen_case import ExtgenCase
from harness import main

GPU = """<!-- A comment -->
<CustomLayer name="Twist" type="SimpleGPU" version="1">
  <Kernel entry="twist">
    <Source filename="twist.cl"/>
    <Define name="ANGLE" param="angle" type="float" default="0.5"/>
    <Define name="TAPS 3"/>
  </Kernel>
  <Buffers>
    <Tensor arg-index="0" type="input" port-index="0" format="bfyx"/>
    <Tensor arg-index="2" type="internal" port-index="0" size="INPUT0_DIMS[1]*4"/>
    <Tensor arg-index="1" type="output" port-index="0"/>
  </Buffers>
  <CompilerOptions options="-cl-mad-enable"/>
  <WorkSizes global="X, Y*1, (B*F+7)/8*8" local="1,1,8" dim="input,0"/>
</CustomLayer>
"""
GPU_SOURCE = """// __kernel void twist(int wrong) { }
#define UNUSED __kernel void twist(int wrong)
__attribute__((reqd_work_group_size(1, 1, 8)))
__kernel void twist(const __global float* x, /* the output, */ __global float* y,
                    __local float* scratch[2]) { }
kernel void other(void) { }
"""
VPU = """<CustomLayer name="Twist" type="MVCL" version="1">
  <Where normalize="1" size="&gt;=3"/>
  <Kernel entry="first" stage="0" max-shaves="4">
    <Source filename="first.cl"/>
    <Parameters>
      <Tensor arg-name="src" type="input" port-index="0" format="BYXF"/>
      <Tensor arg-name="acc" type="output_buffer" port-index="0" dim="output,0" size="4*F*Y"/>
      <Scalar arg-name="w" type="int" port-index="0" source="I.X"/>
    </Parameters>
    <WorkSizes dim="input,0" global="round(Y*factor),F,1" local="1,1,1"/>
  </Kernel>
  <Kernel entry="second" stage="1">
    <Source filename="second.bin"/>
    <Parameters>
      <Tensor arg-name="acc" type="input_buffer" port-index="0" dim="output,0" size="4*F*Y"/>
      <Tensor arg-name="dst" type="output" port-index="0"/>
      <Data arg-name="line" type="local_data" dim="input,0" size="X*2"/>
      <Data arg-name="w" type="data" source="weights"/>
    </Parameters>
    <WorkSizes dim="output,0" global="ceil(sqrt(Y)),F,1"/>
  </Kernel>
</CustomLayer>
"""
VPU_SOURCE = "__kernel void first(const __global half* restrict src, __global float* acc, int w) { }"
# As the guide of 2020 shows it: parameters and work sizes beside the kernel, any case.
OLD_VPU = """<customlayer name="Twist" type="mvcl" version="1" max-shaves="1">
  <kernel entry="first"><source filename="first.cl"/></kernel>
  <parameters>
    <tensor arg-name="src" type="Input" port-index="0" format="bfyx"/>
    <tensor arg-name="acc" type="output" port-index="0" format="BFYX"/>
    <scalar arg-name="w" type="INT" port-index="0" source="I.X"/>
  </parameters>
  <worksizes dim="input,0" global="Y,F,1" local="1,1,1"/>
</customlayer>
""".replace("customlayer", "CustomLayer")

# What to replace in the GPU file, by what, and the message after the file name.
GPU_ERRORS = [
    ("</Kernel>", "</Kernal>", "7: invalid XML: start-end tags mismatch"),
    (GPU, "", "1: invalid XML: no document element found"),
    (GPU, "<Net/>", "1: expected <CustomLayer>, got <Net>"),
    (' name="Twist"', "", "2: <CustomLayer> has no attribute 'name'"),
    ('name="Twist"', 'name=" "', "2: the attribute 'name' of <CustomLayer> is empty"),
    ("SimpleGPU", "SimpleGpu", "2: attribute 'type': expected SimpleGPU or MVCL, got 'SimpleGpu'"),
    ('version="1"', 'version="2"', "2: attribute 'version': expected 1, got 2"),
    ('version="1"', 'version="one"', "2: attribute 'version': expected a number from 0, got 'one'"),
    ('version="1"', 'version="1" stage="0"', "2: <CustomLayer> has the unknown attribute 'stage', expected name, type, version"),
    ('version="1">', 'version="1">text', "2: expected elements in <CustomLayer>, got the text 'text'"),
    ("Kernel", "Kernels", "3: unexpected <Kernels> in <CustomLayer>, did you mean <Kernel>?"),
    (' entry="twist"', "", "3: <Kernel> has no attribute 'entry'"),
    ('entry="twist"', 'entry="turn"', "3: the sources define no kernel 'turn', they define twist, other"),
    ('<Source filename="twist.cl"/>', "", "3: <Kernel> has no <Source>"),
    ("twist.cl", "gone.cl", "3: cannot open 'gone.cl': No such file or directory"),
    ('Define name="ANGLE"', "Define", "5: <Define> has no attribute 'name'"),
    ('param="angle"', 'parm="angle"', "5: <Define> has the unknown attribute 'parm', did you mean param?"),
    ("<Buffers>", "<Buffers/><Buffers>", "8: <CustomLayer> has more than one <Buffers>"),
    ('arg-index="0" ', "", "9: <Tensor> has no attribute 'arg-index'"),
    ('arg-index="0"', 'arg-index="-1"', "9: attribute 'arg-index': expected a number from 0, got '-1'"),
    ('arg-index="2"', 'arg-index="3"', "10: arg-index: expected 0 to 2, one per argument, got 3"),
    ('arg-index="1"', 'arg-index="0"', "11: arg-index 0 is a duplicate"),
    (' port-index="0" format="bfyx"', ' format="bfyx"', "9: <Tensor> has no attribute 'port-index'"),
    ('type="input"', 'type="in"', "9: attribute 'type': expected one of input, output, internal, got 'in'"),
    ('"bfyx"', '"Bfyx"', "9: attribute 'format': expected one of BFYX, BYXF, FYXB, YXFB, ANY, got 'Bfyx'"),
    (' size="INPUT0_DIMS[1]*4"', "", "10: <Tensor> of type internal has no attribute 'size'"),
    ('type="internal"', 'type="input"', "10: the attribute 'size' requires type internal"),
    ("INPUT0_DIMS[1]*4", "INPUT0_DIMS*4", "10: attribute 'size': formula 'INPUT0_DIMS*4': expected one of B, F, Y, X, got 'INPUT0_DIMS'"),
    ('    <Tensor arg-index="2" type="internal" port-index="0" size="INPUT0_DIMS[1]*4"/>\n', "", "3: kernel 'twist' has 3 arguments, <Buffers> describes 2"),
    ("(B*F+7)/8*8", "(B*F+7/8*8", "14: attribute 'global': formula '(B*F+7/8*8': expected ')'"),
    ("Y*1", "Y*", "14: attribute 'global': formula 'Y*': expected a number or a variable at its end"),
    ("Y*1", "Y/(B-1)", "14: attribute 'global': formula 'Y/(B-1)': division by zero"),
    ("Y*1", "Z", "14: attribute 'global': formula 'Z': expected one of B, F, Y, X, got 'Z'"),
    ("Y*1", "-Y", "14: attribute 'global': formula '-Y': expected a number or a variable, got '-Y'"),
    ("Y*1", "Y Y", "14: attribute 'global': formula 'Y Y': expected an operator, got 'Y'"),
    ("Y*1", "(" * 5000, "14: attribute 'global': formula '((((("),
    ("Y*1", "99999*99999", "14: attribute 'global': formula '99999*99999': expected a value of at most 2147483647"),
    ('local="1,1,8"', 'local="1,1,8,1"', "14: attribute 'local': expected 1 to 3 formulas, got '1,1,8,1'"),
    ("input,0", "input 0", "14: attribute 'dim': expected output, input or input,N, got 'input 0'"),
]
VPU_ERRORS = [
    ('entry="first"', 'entry=""', "3: the attribute 'entry' of <Kernel> is empty"),
    ('stage="1"', 'stage="2"', "12: stage: expected 1, got 2; stages count from 0 without gaps"),
    (' stage="1"', "", "12: <Kernel> has no attribute 'stage'"),
    ("</Parameters>", "</Parameters><Parameters/>", "9: <Kernel> has more than one <Parameters>"),
    ('<WorkSizes dim="output,0" global="ceil(sqrt(Y)),F,1"/>', "", "12: <Kernel> has no <WorkSizes>"),
    ('arg-name="src"', 'arg-name="source"', "6: kernel 'first' has no argument 'source'"),
    ('      <Scalar arg-name="w" type="int" port-index="0" source="I.X"/>\n', "", "3: the argument 'w' of kernel 'first' is not described"),
    ("BYXF", "BFXY", "6: attribute 'format': expected one of BFYX, BYXF, FYX, YXF, BF, ANY, got 'BFXY'"),
    ('dim="output,0" size="4*F*Y"', 'dim="output,0"', "7: <Tensor> has no attribute 'size'"),
    ('type="int"', 'type="half"', "8: attribute 'type': expected one of int, float, got 'half'"),
    (' source="I.X"', "", "8: <Scalar> has no attribute 'source'"),
    ('dim="input,0" global="round', 'dim="input" global="round', "10: attribute 'dim': expected input,N or output,N, got 'input'"),
    ("round(Y", "cosh(Y", "10: attribute 'global': formula 'cosh(Y*factor)': expected one of floor, ceil, round, abs, sqrt, got 'cosh'"),
    ('dim="input,0" size="X*2"', 'dim="input,0" source="weights" size="X*2"', "17: <Data>: expected either 'source' or 'dim', got both"),
    ('type="local_data" dim="input,0" size="X*2"', 'type="local_data" source="weights"', "17: <Data> of type local_data has no attribute 'dim'"),
    ('arg-name="dst"', 'arg-name="acc"', "16: arg-name 'acc' is a duplicate"),
    ('size="&gt;=3"', 'size=""', "2: the attribute 'size' of <Where> is empty"),
    ('type="input_buffer" port-index="0"', 'type="input_buffer" port-index="1"', "15: no stage before this one has an output_buffer 1"),
    ('<Source filename="first.cl"/>', "", "3: <Kernel> has no <Source>"),
    ('type="input" port-index="0"', 'type="input"', "6: <Tensor> has no attribute 'port-index'"),
    ('type="input" port-index="0"', 'type="input" port-index="0" source="weights"', "6: the attribute 'source' requires type data"),
    ('type="MVCL"', 'type="MVLC"', "1: attribute 'type': expected SimpleGPU or MVCL, got 'MVLC'"),
]
# Stages as layers of their own, before 2020.4.
OLD_VPU_ERRORS = [
    ('max-shaves="1"', 'stage="1"', "1: stage: expected 0, got 1; stages count from 0 without gaps"),
    ('max-shaves="1"', 'max-shaves="many"', "1: attribute 'max-shaves': expected a number from 0, got 'many'"),
    ("<worksizes", "<worksize", "8: unexpected <worksize> in <CustomLayer>, did you mean <WorkSizes>?"),
    ("<parameters>", "<parameters><buffer arg-name=\"a\"/>", "3: unexpected <buffer> in <parameters>, expected one of Tensor, Data, Scalar"),
]


class KernelFiles(ExtgenCase):
    def setUp(self):
        super().setUp()
        self.write("twist.cl", GPU_SOURCE)
        self.write("first.cl", VPU_SOURCE)
        self.write("second.bin", "binary")

    def test_valid(self):
        self.write("gpu.xml", GPU + GPU.replace("Twist", "Swirl"))
        self.write("vpu.xml", VPU)
        self.write("old.xml", OLD_VPU)
        self.assertEqual(self.made("check", "gpu.xml", "vpu.xml", "old.xml").stdout,
                         "gpu.xml:2: Twist, GPU: twist\ngpu.xml:17: Swirl, GPU: twist\nvpu.xml:1: Twist, VPU: first, second\nold.xml:1: Twist, VPU: first\n")
        self.assertEqual(json.loads(self.made("check", "vpu.xml", "--json").stdout),
                         [{"file": "vpu.xml", "line": 1, "layer": "Twist", "device": "VPU", "kernels": ["first", "second"], "sources": ["first.cl", "second.bin"]}])

    def errors(self, whole, table):
        for old, new, message in table:
            with self.subTest(old=old[:60], new=new[:60]):
                self.assertIn(old, whole)
                self.write("k.xml", whole.replace(old, new, 2 if old == "Kernel" else 1))
                r = self.extgen("check", "k.xml")
                self.assertEqual(r.returncode, 2, r.all)
                line, _, rest = message.partition(": ")
                self.assertRegex(r.stderr, "error: k\\.xml:%s:[0-9]+: %s" % (line, re.escape(rest)))

    def test_gpu_errors(self):
        self.errors(GPU, GPU_ERRORS)

    def test_vpu_errors(self):
        self.errors(VPU, VPU_ERRORS)
        self.errors(OLD_VPU, OLD_VPU_ERRORS)

    def test_columns(self):
        self.write("k.xml", VPU.replace('entry="first" ', ""))
        self.assertIn("error: k.xml:3:3: <Kernel> has no attribute 'entry'", self.extgen("check", "k.xml").stderr)
        self.write("k.xml", '<CustomLayer name="a" type="MVCL" version="1"><Kernel entry="b"></Kernel></CustomLayer>')
        self.assertIn("error: k.xml:1:47: <Kernel> has no <Source>", self.extgen("check", "k.xml").stderr)

    def test_compiled_kernels_are_checked_by_their_source(self):
        self.write("second.cl", "__kernel void second(__global float* acc, __global half* dst, __local half* line) { }")
        self.write("k.xml", VPU)
        self.assertIn("error: k.xml:18:7: kernel 'second' has no argument 'w'", self.extgen("check", "k.xml").stderr)

    def test_hostile(self):
        self.write("k.xml", "<CustomLayer>" * 200000)
        self.assertEqual(self.extgen("check", "k.xml").returncode, 2)
        tensors = "".join('<Tensor arg-index="%d" type="input" port-index="0"/>\n' % i for i in range(120000))
        self.write("k.xml", GPU.replace("<Buffers>", "<Buffers>" + tensors))
        self.assertIn("expected at most 100000 elements, got more", self.extgen("check", "k.xml").stderr)


CLANG = shutil.which("clang") or next(iter(sorted(glob.glob("/usr/bin/clang-[0-9]*"))), None)
# The macros that the GPU defines for one input and one output.
MACROS = ["-DINPUT0_TYPE=float", "-DOUTPUT0_TYPE=float", "-DINPUT0_OFFSET=0", "-DOUTPUT0_OFFSET=0", "-Dangle=0.5f"] + [
    "-D%s_%s=((int[]){1,2,3,4})" % (t, m) for t in ("INPUT0", "OUTPUT0") for m in ("DIMS", "PITCHES")]
GPU_BODY = """
    const uint x = get_global_id(0), y = get_global_id(1), bf = get_global_id(2);
    const uint f = bf % OUTPUT0_DIMS[1], b = bf / OUTPUT0_DIMS[1];
    const uint i = INPUT0_OFFSET + b * INPUT0_PITCHES[0] + f * INPUT0_PITCHES[1] + y * INPUT0_PITCHES[2] + x * INPUT0_PITCHES[3];
    output[i] = (OUTPUT0_TYPE)(cosh(input0[i]) * angle);
"""
VPU_BODY = "    const int i = (get_global_id(2) * H + get_global_id(1)) * W + get_global_id(0);\n    dst[i] = (half)(src[i] * (half)angle);\n"


class GeneratedKernels(ExtgenCase):
    """What extgen writes for GPU and VPU is valid, and compiles once its body is written."""

    def kernels(self):
        self.from_config(ie_op={"op": "Cosh", "plugin": ["gpu", "vpu"], "params": [{"name": "angle", "type": "float"}]})
        return [("gpu", MACROS, GPU_BODY), ("vpu", [], VPU_BODY)]

    def test_xml(self):
        self.kernels()
        self.assertEqual(self.made("check", "user_ie_extensions").stdout,
                         "user_ie_extensions/gpu/cosh_kernel.xml:5: Cosh, GPU: cosh_kernel\nuser_ie_extensions/vpu/cosh_kernel.xml:6: Cosh, VPU: cosh_kernel\n")

    def test_types_of_parameters(self):
        params = [{"name": "a", "type": "int"}, {"name": "b", "type": "bool", "default": True}, {"name": "c", "type": "string", "default": "x\"<&"},
                  {"name": "d", "type": "listint", "default": [1, 2]}, {"name": "e", "type": "listfloat", "default": 0.5}]
        self.from_config(ie_op={"op": "Cosh", "plugin": "cldnn", "params": params})
        text = self.read("user_ie_extensions/gpu/cosh_kernel.xml")
        for line in ('name="a" param="a" type="int"/>', 'name="b" param="b" type="int" default="1"/>', 'type="string" default="x&quot;&lt;&amp;"/>',
                     'type="int[]" default="1,2"/>', 'type="float[]" default="0.5"/>'):
            self.assertIn(line, text)
        self.made("check", "user_ie_extensions")

    @unittest.skipUnless(CLANG, "no OpenCL compiler: clang")
    def test_compiled(self):
        for folder, macros, body in self.kernels():
            path = self.path("user_ie_extensions", folder, "cosh_kernel.cl")
            command = [CLANG, "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-fsyntax-only", "-Werror", "-Wno-pedantic-core-features", *macros, path]
            p = subprocess.run(command, capture_output=True, text=True)
            self.assertIn("cosh_kernel is not implemented: edit cosh_kernel.cl", p.stderr)
            text = self.read(path)
            begin, end = text.index("    // Replace this line"), text.rindex("}")
            self.write(path, text[:begin] + body + text[end:])
            p = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(p.returncode, 0, p.stderr)
        self.made("check", "user_ie_extensions")


if __name__ == "__main__":
    main()
