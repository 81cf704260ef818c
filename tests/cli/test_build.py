#!/usr/bin/env python3
"""graft build, and the CPU extensions of the generator: built and run after the documented edits and nothing else. Counts the
commands from the report on an unknown layer to its result.

  tests/cli/test_build.py --build build [unittest arguments]
"""
import json
import math
import os
import re
import subprocess

import test_scaffold
from extgen_case import ExtgenCase
from harness import built, graft, main, onnx, read_npy, save, write_npy, patience
from caffe_writer import caffemodel

# What the tutorial writes, and in which place.
COSH = """        float* src_data = inputs[0]->buffer();
        float* dst_data = outputs[0]->buffer();
        SizeVector dims = inputs[0]->getTensorDesc().getDims();
        int N = static_cast<int>((dims.size() > 0) ? dims[0] : 1);
        int C = static_cast<int>((dims.size() > 1) ? dims[1] : 1);
        int H = static_cast<int>((dims.size() > 2) ? dims[2] : 1);
        int W = static_cast<int>((dims.size() > 3) ? dims[3] : 1);
        parallel_for3d(N, C, H, [&](int b, int c, int h) {
            for (int w = 0; w < W; w++) {
                size_t i = ((static_cast<size_t>(b) * C + c) * H + h) * W + w;
                dst_data[i] = (exp(src_data[i]) + exp(-src_data[i])) / 2;
            }
        });
        return OK;
"""
QUICK = {"CMAKE_BUILD_TYPE": "Debug"}  # compiles faster
TBB = "/opt/intel/openvino/deployment_tools/inference_engine/external/tbb/"


class BuildCase(ExtgenCase):
    def edit(self, path, *changes):
        text = self.read(path)
        for old, new in changes:
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        self.write(path, text)

    def implement(self, path, body):
        """The two documented edits of a CPU kernel."""
        self.edit(path, ("            // addConfig(layer,", "            addConfig(layer,"), ("        return NOT_IMPLEMENTED;\n", body))

    def shell(self, command, status=0):
        env = dict(os.environ, PATH=built("bin") + os.pathsep + os.environ["PATH"], **QUICK)
        p = subprocess.run(["bash", "-c", command], cwd=self.folder, env=env, capture_output=True, text=True, timeout=patience(600))
        self.assertEqual(p.returncode, status, command + "\n" + p.stdout + p.stderr)
        return p

    def gives(self, want, *arguments, x=(0.5, -1, 2, 0, 3, -2), dims=(1, 2, 3, 1)):
        write_npy(self.path("x.npy"), list(dims), list(x))
        r = graft("run", *arguments, "--input", "=x.npy", "--output-dir", "out", cwd=self.folder, env=QUICK)
        self.assertEqual(r.status, 0, r.all)
        got = read_npy(self.path("out", "0.npy"))
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want):
            self.assertAlmostEqual(a, b, delta=1e-5 * max(1, abs(b)))


PAIR = {"folder/ops/pair.py": """
from mo.ops.op import Op


class Pair(Op):
    op = 'Pair'

    def __init__(self, graph, attrs):
        super().__init__(graph, {'type': self.op, 'op': self.op, 'in_ports_count': 2, 'out_ports_count': 1, 'infer': Pair.infer}, attrs)

    def supported_attrs(self):
        return ['gain']

    @staticmethod
    def infer(node):
        node.out_port(0).data.set_shape([1, node.in_port(0).data.get_shape()[1] - 2])
""", "folder/front/caffe/pair_ext.py": """
from mo.front.extractor import FrontExtractorOp
from ...ops.pair import Pair


class PairExtractor(FrontExtractorOp):
    op = 'Pair'
    enabled = True

    @classmethod
    def extract(cls, node):
        Pair.update_node_stat(node, {'gain': node.pb.pair_param.gain})
        return cls.enabled
"""}


class CpuExtensions(BuildCase):
    def test_the_tutorial(self):
        """Its answers and its edits, also those of CMakeLists.txt; built as it says, in a folder `build`."""
        self.made("new", "--ie-cpu-ext", "--output_dir=cl_cosh", answers=["cosh", "q", "n"])
        cpu = "cl_cosh/user_ie_extensions/cpu"
        self.edit(cpu + "/ext_cosh.cpp", ('#include "ext_base.hpp"\n', '#include "ext_base.hpp"\n#include "ie_parallel.hpp"\n'))
        self.implement(cpu + "/ext_cosh.cpp", COSH)
        self.edit(cpu + "/CMakeLists.txt", ('set(TARGET_NAME "user_cpu_extension")', 'set(TARGET_NAME "cosh_cpu_extension")'),
                  ("   ${InferenceEngine_INCLUDE_DIRS}\n)", '   ${InferenceEngine_INCLUDE_DIRS}\n   "%sinclude"\n)\nlink_directories(\n"%slib"\n)' % (TBB, TBB)),
                  ("${InferenceEngine_LIBRARIES} ${intel_omp_lib})", "${InferenceEngine_LIBRARIES} ${intel_omp_lib} tbb)"))
        self.shell("cd %s && mkdir -p build && cd build && cmake .. && make" % cpu)
        self.write("net.prototxt", 'input: "x" input_shape { dim: 1 dim: 2 dim: 3 dim: 1 }\nlayer { name: "c" type: "cosh" bottom: "x" top: "y" }')
        want = [math.cosh(v) for v in (0.5, -1, 2, 0, 3, -2)]
        self.gives(want, "net.prototxt", "-l", cpu + "/build/libcosh_cpu_extension.so")

    def test_a_custom_layer_of_mxnet(self):
        """The extractor of --mo-mxnet-ext, the operation and the kernel: a model is converted with the first two, and run with the third."""
        for custom, op in (("y", "Custom"), ("n", "twist")):
            self.made("new", "--mo-mxnet-ext", "--mo-op", "--ie-cpu-ext", "--output_dir=" + op,
                      answers=[custom, "twist", *([] if custom == "y" else ["n"]), "n", "angle", "q", "n", "y", "1", "", "n", "n", "angle float", "q", "n"])
            self.edit(op + "/user_mo_extensions/front/mxnet/twist_ext.py", ("param.str('angle')", "param.float('angle')"))
            cpu = op + "/user_ie_extensions/cpu"
            self.implement(cpu + "/ext_twist.cpp", """        const float* x = inputs[0]->cbuffer().as<const float*>();
        float* y = outputs[0]->buffer().as<float*>();
        parallel_for(inputs[0]->size(), [&](size_t i) { y[i] = x[i] * angle_; });
        return OK;
""")
            attrs = {"angle": "2.5", **({"op_type": "twist"} if op == "Custom" else {})}
            nodes = [{"op": "null", "name": "x", "attrs": {"__shape__": "(1, 2, 3, 1)"}, "inputs": []},
                     {"op": op, "name": "t", "attrs": attrs, "inputs": [[0, 0, 0]]}, {"op": "negative", "name": "n", "inputs": [[1, 0, 0]]}]
            self.write("m-symbol.json", json.dumps({"nodes": nodes, "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}))
            r = graft("convert", "m-symbol.json", "--extensions", op + "/user_mo_extensions", "-o", "ir", cwd=self.folder)
            self.assertEqual(r.status, 0, r.all)
            self.assertRegex(self.read("ir/m-symbol.xml"), 'type="twist"[^>]*>\\s*<data angle="2.5"')
            want = [-2.5 * v for v in (0.5, -1, 2, 0, 3, -2)]
            self.gives(want, "ir/m-symbol.xml", "--extensions", cpu)
            self.gives(want, "m-symbol.json", "--extensions", op + "/user_mo_extensions," + cpu)

    def test_shapes_of_the_folder_in_a_direct_run(self):
        """The library has no shape function, and the operation two inputs: `infer` of the folder's class says the shape."""
        self.made("new", "--ie-cpu-ext", "--output_dir=two", answers=["Pair", "gain float", "q", "n"])
        cpu = "two/user_ie_extensions/cpu"
        self.implement(cpu + "/ext_pair.cpp", """        const float* x = inputs[0]->cbuffer().as<const float*>();
        const float* z = inputs[1]->cbuffer().as<const float*>();
        float* y = outputs[0]->buffer().as<float*>();
        for (size_t i = 0; i < outputs[0]->size(); i++) y[i] = gain_ * (x[i] + z[i]);
        return OK;
""")
        one = "{DataConfigurator(ConfLayout::PLN)}, {"
        self.edit(cpu + "/ext_pair.cpp", (one, one.replace("PLN)}", "PLN), DataConfigurator(ConfLayout::PLN)}")))
        for path, text in PAIR.items():
            os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
            self.write(path, text)
        self.write("net.prototxt", 'input: "x" input_shape { dim: 1 dim: 6 }\nlayer { name: "n" type: "Power" bottom: "x" top: "n" power_param { scale: -3 } }\n'
                   'layer { name: "p" type: "Pair" bottom: "x" bottom: "n" top: "y" pair_param { gain: 2 } }')
        self.gives([-4 * v for v in (0.5, -1, 2, 0)], "net.prototxt", "--extensions", "folder," + cpu, dims=(1, 6))

    def test_before_the_edits(self):
        self.from_config(ie_op={"op": "Cosh", "plugin": "cpu"})
        self.assertEqual(self.shell("graft build .").stdout, "user_ie_extensions/cpu/build/libuser_cpu_extension.so\n")
        self.write("m.graph", 'graph (x: f32[2] "x") { y = Cosh@extension(x) : f32[2] "y" return y }')
        r = graft("run", "m.graph", "--extensions", ".", cwd=self.folder, env=QUICK)
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("Cosh", r.err)

    def test_parameters_of_every_type(self):
        params = [{"name": "turns", "type": "int"}, {"name": "angle", "type": "float"}, {"name": "sharp", "type": "bool", "default": False},
                  {"name": "mode", "type": "string"}, {"name": "taps", "type": "listint"}, {"name": "weights", "type": "listfloat"},
                  {"name": "offset", "type": "int", "default": 7}, {"name": "gain", "type": "float", "default": 0.5}, {"name": "tag", "type": "string", "default": "a\"b\\"},
                  {"name": "more", "type": "listint", "default": [1, 2]}, {"name": "half", "type": "listfloat", "default": 0.25}]
        self.from_config(ie_op={"op": "Twist", "plugin": "cpu", "params": params})
        body = """        const float* x = inputs[0]->cbuffer().as<const float*>();
        float* y = outputs[0]->buffer().as<float*>();
        y[0] = x[0] + turns_; y[1] = angle_; y[2] = sharp_; y[3] = mode_ == "hard"; y[4] = taps_[0] + 10 * taps_[1]; y[5] = weights_[1];
        y[6] = offset_; y[7] = gain_; y[8] = tag_ == "a\\"b\\\\"; y[9] = more_[1]; y[10] = half_[0];
        return OK;
"""
        self.implement("user_ie_extensions/cpu/ext_twist.cpp", body)
        attributes = '{turns = 3, angle = 1.5, sharp = true, mode = "hard", taps = [4, 5], weights = [0.5, 2.5]}'
        self.write("m.graph", 'graph (x: f32[11] "x") { y = Twist@extension(x) %s : f32[11] "y" return y }' % attributes)
        self.gives([13, 1.5, 1, 1, 54, 2.5, 7, 0.5, 1, 2, 0.25], "m.graph", "--extensions", "user_ie_extensions/cpu", x=[10] * 11, dims=[11])

    def test_two_operations_in_one_library(self):
        for op, factor in (("Twice", 2), ("Thrice", 3)):
            self.from_config(ie_op={"op": op, "plugin": "cpu"})
            self.implement("user_ie_extensions/cpu/ext_%s.cpp" % op.lower(), """        const float* x = inputs[0]->cbuffer().as<const float*>();
        float* y = outputs[0]->buffer().as<float*>();
        for (size_t i = 0; i < inputs[0]->size(); i++) y[i] = %d * x[i];
        return OK;\n""" % factor)
            self.shell("graft build user_ie_extensions")
        self.write("m.graph", 'graph (x: f32[2] "x") { a = Twice@extension(x) : f32[2] y = Thrice@extension(a) : f32[2] "y" return y }')
        self.gives([6, 12], "m.graph", "--extensions", ".", x=[1, 2], dims=[2])


class Building(BuildCase):
    def test_scaffold(self):
        self.shell("graft new Twist")
        self.assertEqual(self.shell("graft build twist").stdout, "twist/build/libtwist.so\n")
        self.assertEqual(json.loads(self.shell("graft build twist/ --json").stdout), {"libraries": ["twist/build/libtwist.so"]})
        self.assertEqual(self.shell("cd twist && graft build .").stdout, "build/libtwist.so\n")
        # A library of an earlier name is not taken for the result.
        self.edit("twist/CMakeLists.txt", ("add_library(twist ", "add_library(swirl "), ("target_link_libraries(twist ", "target_link_libraries(swirl "))
        self.assertEqual(self.shell("graft build twist").stdout, "twist/build/libswirl.so\n")

    def test_errors(self):
        os.mkdir(self.path("empty"))
        self.write("file", "")
        for folder, message in (("empty", "'empty' has no CMakeLists.txt"), ("file", "expected a directory, got 'file'"), ("gone", "expected a directory, got 'gone'")):
            self.assertIn("error: " + message, self.shell("graft build " + folder, 1).stderr)
        self.shell("graft new Twist")
        self.edit("twist/twist.cpp", ("#include <graft/extension.hpp>", "#include <graft/extension.hpp>\n#error a mistake\n"))
        for command in ("graft build twist", "graft ops Twist --extensions twist"):
            r = self.shell(command, 2)
            self.assertEqual(r.stdout, "")
            self.assertIn("error: #error a mistake", r.stderr)
            self.assertIn("error: cannot build 'twist'\nhint: the command was: cmake --build twist/build", r.stderr)
        self.write("twist/CMakeLists.txt", "nonsense(")
        self.assertIn("error: cannot configure 'twist'\nhint: the command was: cmake -S twist -B twist/build", self.shell("graft build twist", 2).stderr)
        self.write("twist/CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(x CXX)\n")
        self.assertIn("error: 'twist' builds no shared library", self.shell("graft build twist", 2).stderr)
        r = self.shell("PATH=%s; graft build twist" % built("bin"), 2)
        self.assertIn("error: cannot run cmake: No such file or directory\nhint: building extensions requires CMake", r.stderr)

    def test_a_source_that_changes(self):
        self.shell("graft new Twist --domain acme")
        save(self.path("m.onnx"), [onnx.node("Twist", ["x"], ["y"], domain="acme")], [onnx.value("x", [2])], [onnx.value("y", [2])])
        for factor in (2, 3):
            text = self.read("twist/twist.cpp")
            body = "{\n  std::vector<double> x = ctx.input(0).to<double>();\n  for (double& v : x) v *= %d;\n  ctx.output(0).assign(x);\n}\n" % factor
            text = re.sub(r"(void twist_run\([^{]*)\{.*?\n\}\n", lambda m: m[1] + body, text, flags=re.S)
            self.write("twist/twist.cpp", text)
            self.gives([factor, 2 * factor], "m.onnx", "--extensions", "twist", x=[1, 2], dims=[2])


class FromReportToResult(BuildCase):
    """At most three commands and one edited file after the report."""

    def three_commands(self, body, want, *model, x=(1, -2, 3)):
        report = self.shell("graft convert %s -o ir" % " ".join(model), 2).stderr
        commands = [re.search(r"^All at once: (graft new .*)$|^    scaffold    (graft new .*)$", report, re.M).group(0).split(" ", 1)[1].strip()]
        commands[0] = commands[0][commands[0].index("graft new"):]
        source = self.shell(commands[0]).stdout.split("\n")[0]
        text, count = re.subn(r"(void \w+_run\([^{]*\{)\n  graft::fail\([^\n]*\n\}", lambda m: m[1] + body + "}", self.read(source))
        self.assertEqual(count, 1)
        self.write(source, text)  # the one edit
        write_npy(self.path("x.npy"), [1, len(x)], list(x))
        folder, name = os.path.dirname(source), os.path.splitext(model[0])[0]
        commands += ["graft convert %s -o ir --extensions %s" % (" ".join(model), folder),
                     "graft run ir/%s.xml --extensions %s --input =x.npy --output-dir out" % (name, folder)]
        for c in commands[1:]:
            self.shell(c)
        self.assertLessEqual(len(commands), 3)
        for a, b in zip(read_npy(self.path("out", "0.npy")), want):
            self.assertAlmostEqual(a, b, places=5)

    def test_onnx(self):
        save(self.path("m.onnx"), [onnx.node("Twist", ["x"], ["a"], domain="acme", gain=2.5), onnx.node("Relu", ["a"], ["y"])],
             [onnx.value("x", [1, 3])], [onnx.value("y", [1, 3])])
        self.three_commands(test_scaffold.SCALED.replace("FACTOR", "a.gain"), [2.5, 0, 7.5], "m.onnx")

    def test_caffe(self):
        self.write("net.prototxt", test_scaffold.NET)
        self.three_commands(test_scaffold.SCALED.replace("FACTOR", "a.alpha"), [0.5, 0, 1.5], "net.prototxt")

    def test_caffe_with_weights(self):
        self.write("net.prototxt", test_scaffold.NET)
        self.write("other.caffemodel", caffemodel({"twist": ("TwistNorm", [([3], [1, 2, 3])])}))
        body = "\n  std::vector<double> x = ctx.input(0).to<double>(), w = ctx.input(1).to<double>();\n  for (size_t i = 0; i < x.size(); ++i) x[i] *= w[i];\n  ctx.output(0).assign(x);\n"
        self.three_commands(body, [1, 0, 9], "net.prototxt", "other.caffemodel")

    def test_tensorflow(self):
        self.write("table.pb", test_scaffold.tf_table(([1, 3], [10, 20, 30])))
        self.three_commands(test_scaffold.TABLE_BODY, [11, 0, 32], "table.pb", x=(2, -100, 4))


if __name__ == "__main__":
    main()
