#!/usr/bin/env python3
"""From the report on an unknown layer to numbers: the scaffold command is taken from what `graft convert` prints, run in a shell,
built as `graft new` says, given a formula, and the model must run.

  tests/cli/test_scaffold.py --build build [unittest arguments]
"""
import json
import os
import re
import struct
import subprocess

from harness import Case, built, graft, main, onnx, read_npy, save, write_npy, patience
from caffe_writer import caffemodel
from kaldi_writer import I, Matrix, Vector, nnet3

DT_FLOAT, DT_INT32 = 1, 3


# ---- TensorFlow, written by hand ----

def tf_shape(dims):
    return b"".join(onnx.data(2, onnx.number(1, d)) for d in dims)


def tf_tensor(dims, values):
    content = struct.pack("<%df" % len(values), *values)
    return onnx.number(1, DT_FLOAT) + onnx.data(2, tf_shape(dims)) + onnx.data(4, content)


def tf_node(name, op, inputs=(), **attributes):
    out = onnx.data(1, name) + onnx.data(2, op) + b"".join(onnx.data(3, i) for i in inputs)
    return onnx.data(1, out + b"".join(onnx.data(5, onnx.data(1, k) + onnx.data(2, v)) for k, v in attributes.items()))


def tf_input(name, dims):
    return tf_node(name, "Placeholder", dtype=onnx.number(6, DT_FLOAT), shape=onnx.data(7, tf_shape(dims)))


# Attributes of every kind that TensorFlow has.
TABLE = dict(T=onnx.number(6, DT_FLOAT), size=onnx.data(7, tf_shape([1, 3])), kinds=onnx.data(1, onnx.number(6, DT_FLOAT) + onnx.number(6, DT_INT32)),
             taps=onnx.data(1, onnx.number(3, 2) + onnx.number(3, 5)), mode=onnx.data(2, "hard"), sharp=onnx.number(5, 1), gain=onnx.varint(4 << 3 | 5) + struct.pack("<f", 0.5))
TABLE_BODY = """
  if (a.T != graft::DType::f32 || a.size != graft::Shape{1, 3} || a.mode != "hard" || !a.sharp) graft::fail("attributes differ");
  if (a.kinds != std::vector<graft::DType>{graft::DType::f32, graft::DType::i32} || a.taps != std::vector<int64_t>{2, 5}) graft::fail("lists differ");
  std::vector<double> x = ctx.input(0).to<double>(), table = a.table.to<double>();
  for (size_t i = 0; i < x.size(); ++i) x[i] = x[i] * a.gain + table[i];
  ctx.output(0).assign(x);
"""


def tf_table(table, op="AcmeTable", dims=(1, 3)):
    """x -> a layer with attributes of every kind -> Relu."""
    node = tf_node("table", op, ["x"], table=onnx.data(8, tf_tensor(*table)), **TABLE)
    return tf_input("x", dims) + node + tf_node("y", "Relu", ["table"], T=onnx.number(6, DT_FLOAT))


def saved_model(graphs):
    """`graphs`: tags and GraphDef of each."""
    return onnx.number(1, 1) + b"".join(onnx.data(2, onnx.data(1, b"".join(onnx.data(4, t) for t in tags)) + onnx.data(2, graph)) for tags, graph in graphs)


def checkpoint(name, dims, values):
    """The index and the data of a checkpoint with one variable."""
    def block(entries):
        return b"".join(onnx.varint(0) + onnx.varint(len(k)) + onnx.varint(len(v)) + k + v for k, v in entries) + struct.pack("<2I", 0, 1)

    data = struct.pack("<%df" % len(values), *values)
    entry = onnx.number(1, DT_FLOAT) + onnx.data(2, tf_shape(dims)) + onnx.number(5, len(data))
    entries = block([(b"", onnx.number(1, 1)), (name.encode(), entry)])
    places = [0, len(entries)]
    out = entries + bytes(5)
    for part in (block([]), block([(b"z", onnx.varint(0) + onnx.varint(len(entries)))])):
        places += [len(out), len(part)]
        out += part + bytes(5)
    footer = b"".join(onnx.varint(p) for p in places[2:]).ljust(40, b"\0")
    return out + footer + struct.pack("<Q", 0xdb4775248b80fb57), data


NET = """
input: "data" input_shape { dim: 1 dim: 3 }
layer { name: "twist" type: "TwistNorm" bottom: "data" top: "twist"
        twist_norm_param { alpha: 0.5 mode: HARD inner { taps: 1 taps: 2 } } }
layer { name: "relu" type: "ReLU" bottom: "twist" top: "twist" }
"""
SCALED = """
  std::vector<double> x = ctx.input(0).to<double>();
  for (double& v : x) v *= FACTOR;
  ctx.output(0).assign(x);
"""


class ScaffoldCase(Case):
    def shell(self, command):
        """Runs a line that a user would paste, in the folder of the case."""
        env = dict(os.environ, PATH=built("bin") + os.pathsep + os.environ["PATH"], CMAKE_BUILD_TYPE="Debug")
        p = subprocess.run(["bash", "-c", command], cwd=self.folder, env=env, capture_output=True, text=True, timeout=patience(600))
        self.assertEqual(p.returncode, 0, command + "\n" + p.stdout + p.stderr)
        return p.stdout

    def command_of(self, *arguments, all_at_once=False):
        """The scaffold command from the report of a conversion."""
        r = graft("convert", *arguments, "-o", "ir", cwd=self.folder)
        self.assertEqual(r.status, 2, r.all)
        found = re.findall(r"^All at once: (graft new .*)$" if all_at_once else r"^    scaffold    (graft new .*)$", r.err, re.M)
        self.assertEqual(len(found), 1, r.err)
        return found[0]

    def cases(self, library, test):
        p = subprocess.run([built("bin", "graft_tests"), "--extensions", library, test], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)

    def read(self, *names):
        with open(self.path(*names)) as f:
            return f.read()

    def grown(self, body, *arguments, all_at_once=False):
        """Report, scaffold, build, cases, formula, build, cases: the source and the arguments that use it."""
        said = self.shell(self.command_of(*arguments, all_at_once=all_at_once))
        source = said.split("\n")[0]
        build = re.search(r"Build it:\n  (.*)\n", said)[1]
        use = re.search(r"Use it:\n  (graft convert .*)\n", said)[1]
        library = use.split(" --extensions ")[1]
        self.shell(build)
        self.cases(library, source[:-4] + ".test")
        self.shell(use + " -o ir --silent")  # converts before any edit
        text = self.read(source)
        text, count = re.subn(r"(void \w+_run\([^{]*\{)\n  graft::fail\([^\n]*\n\}", lambda m: m[1] + body + "}", text)
        self.assertEqual(count, 1, text)
        self.write(source, text)
        self.shell(build)
        test = self.read(source[:-4] + ".test")
        self.write(source[:-4] + ".test", re.sub(r"^error: .*\n", "", test, flags=re.M))
        self.cases(library, source[:-4] + ".test")
        self.shell(use + " -o ir --silent")
        return text, library

    def ir_gives(self, name, library, x, want, dims=None):
        write_npy(self.path("x.npy"), dims or [1, len(x)], x)
        for device in ("CPU", "REFERENCE"):
            r = graft("run", "ir/%s.xml" % name, "--extensions", library, "--input", "=x.npy", "--output-dir", "out", "-d", device, cwd=self.folder)
            self.assertEqual(r.status, 0, r.all)
            got = read_npy(self.path("out", "0.npy"))
            self.assertEqual(len(got), len(want))
            for a, b in zip(got, want):
                self.assertAlmostEqual(a, b, places=5)


class FromReportToNumbers(ScaffoldCase):
    def test_onnx(self):
        m = self.path("it's a model.onnx")
        save(m, [onnx.node("Twist", ["x"], ["a"], domain="acme", gain=2.5, taps=[1, 2]), onnx.node("Twist", ["a"], ["b"], domain="acme", gain=2.0, taps=[3], mode="hard"),
                 onnx.node("Relu", ["b"], ["y"])], [onnx.value("x", [1, 3])], [onnx.value("y", [1, 3])])
        source, library = self.grown(SCALED.replace("FACTOR", "a.gain * (a.mode ? 1 : 10)"), os.path.basename(m))
        self.assertIn('.import(graft::onnx("Twist").domain("acme"))', source)
        self.assertIn("std::optional<std::string> mode;", source)
        self.ir_gives("it's a model", library, [1, -2, 3], [50, 0, 150])

    def test_tensorflow(self):
        self.write("table.pb", tf_table(([1, 3], [10, 20, 30])))
        source, library = self.grown(TABLE_BODY, "table.pb")
        self.assertIn('.import(graft::tensorflow("AcmeTable"))', source)
        for member in ("graft::DType T ", "graft::Shape size;", "std::vector<graft::DType> kinds;", "std::vector<int64_t> taps;", "graft::TensorView table;", "bool sharp"):
            self.assertIn(member, source)
        self.assertNotIn("graph", source)
        self.assertIn('"table" = f32[1,3] {10, 20, 30}', self.read("acmetable", "acmetable.test"))
        self.ir_gives("table", library, [2, -100, 4], [11, 0, 32])

    def test_saved_model(self):
        os.makedirs(self.path("saved"))
        large = ([1, 300], [float(i) for i in range(300)])
        graphs = [(["serve"], tf_input("x", [1, 3]) + tf_node("y", "Relu", ["x"], T=onnx.number(6, DT_FLOAT))), (["train", "gpu"], tf_table(large))]
        self.write("saved/saved_model.pb", saved_model(graphs))
        _, library = self.grown(TABLE_BODY, "--saved_model_dir", "saved", "--saved_model_tags", "train,gpu", all_at_once=True)
        case = self.read("acmetable", "acmetable.test")
        self.assertRegex(case, r'# Truncated attributes: "table"\n== AcmeTable\n')
        self.assertRegex(case, r'"table" = f32\[1,\d\d\] \{0, 1, 2, ')
        self.ir_gives("saved_model", library, [2, -100, 4], [1, 0, 4])

    def test_a_graph_with_its_checkpoint(self):
        graph = tf_input("x", [1, 3]) + tf_node("v", "VariableV2", dtype=onnx.number(6, DT_FLOAT), shape=onnx.data(7, tf_shape([1, 3])))
        graph += tf_node("y", "AcmeScaled", ["x", "v"], T=onnx.number(6, DT_FLOAT))
        self.write("graph.pb", graph)
        self.write("net.meta", onnx.data(2, graph))
        for name, content in zip(("values.ckpt.index", "values.ckpt.data-00000-of-00001"), checkpoint("v", [1, 3], [1, 2, 3])):
            self.write(name, content)
        self.assertIn("--from-model net.meta --input_checkpoint values.ckpt.index", self.command_of("--input_meta_graph", "net.meta", "--input_checkpoint", "values.ckpt"))
        body = """
  std::vector<double> x = ctx.input(0).to<double>(), v = ctx.input(1).to<double>();
  for (size_t i = 0; i < x.size(); ++i) x[i] *= v[i];
  ctx.output(0).assign(x);
"""
        source, library = self.grown(body, "graph.pb", "--input_checkpoint", "values.ckpt")
        self.assertIn('.inputs("x0, x1")', source)
        self.ir_gives("graph", library, [2, -1, 4], [2, -2, 12])

    def test_caffe_without_weights(self):
        self.write("net.prototxt", NET)
        source, library = self.grown(SCALED.replace("FACTOR", "a.alpha * a.inner_taps[1]"), "net.prototxt")
        self.assertIn('.attr("alpha", "twist_norm_param.alpha")', source)
        self.assertIn("float alpha = 0;  // seen: 0.5", source)
        self.ir_gives("net", library, [1, -2, 3], [1, 0, 3])
        # An IR that was written before the operation was known has the fields under their paths.
        r = graft("convert", "net.prototxt", "-o", "ir", "--stub-unknown", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        self.assertIn('twist_norm_param.alpha="0.5"', self.read("ir", "net.xml"))
        self.ir_gives("net", library, [1, -2, 3], [1, 0, 3])

    def test_caffe_with_weights(self):
        self.write("net.prototxt", NET)
        self.write("other.caffemodel", caffemodel({"twist": ("TwistNorm", [([3], [1, 2, 3]), ([1], [7])])}))
        body = """
  std::vector<double> x = ctx.input(0).to<double>(), w = ctx.input(1).to<double>(), b = ctx.input(2).to<double>();
  for (size_t i = 0; i < x.size(); ++i) x[i] = x[i] * w[i] * a.alpha + b[0];
  ctx.output(0).assign(x);
"""
        for arguments in (["net.prototxt", "other.caffemodel"], ["--input_model", "other.caffemodel", "--input_proto", "net.prototxt"]):
            command = self.command_of(*arguments)
            self.assertIn("net.prototxt", command)
            self.assertIn("other.caffemodel", command)
        source, library = self.grown(body, "net.prototxt", "other.caffemodel")
        self.assertIn('.inputs("x0, blob0, blob1")', source)
        self.ir_gives("net", library, [2, -8, 4], [8, 0, 13])

    def test_kaldi(self):
        """Tokens become attributes, vectors and matrices inputs, in the order of the attribute `weights`."""
        config = ["input-node name=input dim=3", "component-node name=t component=c input=input", "output-node name=output input=t"]
        twist = ("c", "TwistComponent", [("Dim", I(3)), ("Angle", 0.5), ("On", True), ("Params", Vector([1, 2, 3])), ("Shift", Matrix([[1, 1, 2]]))])
        body = """
  std::vector<double> x = ctx.input(0).to<double>(), w = ctx.input(1).to<double>(), b = ctx.input(2).to<double>();
  for (size_t i = 0; i < x.size(); ++i) x[i] = x[i] * w[i % w.size()] * a.Angle + b[i % b.size()];
  ctx.output(0).assign(x);
"""
        for file, binary in (("final.mdl", True), ("text.mdl", False)):
            self.write(file, nnet3(config, [twist], binary))
            self.assertIn(file, self.command_of(file))
        source, library = self.grown(body, "final.mdl")
        for part in ("kaldi(\"TwistComponent\")", '.inputs("x0, blob0, blob1")', "float Angle", "bool On", 'seen: ["Params", "Shift"]'):
            self.assertIn(part, source)
        self.ir_gives("final", library, [2, -8, 4, 0, 2, 6], [2, -7, 8, 1, 3, 11], [2, 3])

    def test_an_operation_of_a_replacement_file(self):
        self.write("cells.prototxt", """input: "x" input_shape { dim: 1 dim: 3 }
            layer { name: "first" type: "ReLU" bottom: "x" top: "a" }
            layer { name: "cell/left" type: "Sigmoid" bottom: "a" top: "b" }
            layer { name: "cell/join" type: "TanH" bottom: "b" top: "c" }
            layer { name: "last" type: "ReLU" bottom: "c" top: "d" }""")
        self.write("my replacements.json", json.dumps([
            {"id": "Fold", "match_kind": "scope", "instances": ["cell"], "op": "RidgeFold@acme", "custom_attributes": {"depth": 3, "inner": {"gain": 0.5}},
             "inputs": [[{"node": "left$", "port": 0}]], "outputs": [{"node": "join$", "port": 0}]},
            {"id": "None", "match_kind": "scope", "instances": ["nowhere"], "op": "Relu",
             "inputs": [[{"node": "left$", "port": 0}]], "outputs": [{"node": "join$", "port": 0}]}]))
        options = ["--transformations_config", "my replacements.json", "--allow-unmatched"]
        r = graft("convert", "cells.prototxt", *options, "-o", "ir", cwd=self.folder)
        self.assertIn("unknown operation 'RidgeFold' of acme in replacement 'Fold' of my replacements.json", r.err)
        source, library = self.grown(SCALED.replace("FACTOR", "a.depth * a.inner_gain"), "cells.prototxt", *options)
        self.assertNotIn(".import(", source)
        self.ir_gives("cells", library, [2, -8, 4], [3, 0, 6])
        r = graft("convert", "cells.prototxt", *options, "-o", "stub", "--stub-unknown", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        r = graft("run", "stub/cells.xml", "--extensions", library, "--input", "=x.npy", "--output-dir", "out", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        self.assertEqual(read_npy(self.path("out", "0.npy")), [3, 0, 6])


class Commands(ScaffoldCase):
    def test_all_that_reads_the_model_is_in_the_command(self):
        self.write("table.pb", tf_input("more", [1, 3]) + tf_table(([1, 3], [1, 2, 3])))
        known = self.path("lib.so")
        os.symlink(built("extensions", "teaching.so"), known)
        command = self.command_of("table.pb", "--input", "x[2 3]{f32},more->[1 2 3]", "--output", "y", "--extensions", known)
        self.assertIn("graft new AcmeTable --from-model table.pb --input 'x[2 3]{f32}' --input 'more->[1 2 3]' --output y --extensions", command)
        self.shell(command)
        self.assertIn("x0: f32[2,3]", self.read("acmetable", "acmetable.test"))
        command = self.command_of("table.pb", "--input_shape", "x[4,3]", "--input_shape", "more[?,3]")
        self.assertIn("--input_shape 'x[4,3]' --input_shape 'more[?,3]'", command)
        r = graft("convert", "table.pb", "--stub-unknown", "-o", "ir", "--silent", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        os.rename(self.path("ir", "table.bin"), self.path("away.bin"))
        r = graft("run", "ir/table.xml", "away.bin", cwd=self.folder)
        self.assertIn("--from-model ir/table.xml away.bin\n", r.err)
        self.write("map.xml", '<m><CustomLayer NativeType="Known" hasParam="false" outputShape="in0"/></m>')
        self.write("net.prototxt", NET + 'layer { name: "k" type: "Known" bottom: "twist" top: "k" }')
        command = self.command_of("net.prototxt", "-k", "map.xml")
        self.assertEqual(command, "graft new TwistNorm --from-model net.prototxt -k map.xml")
        self.shell(command)

    def test_weights_by_name(self):
        self.write("net.prototxt", NET)
        self.write("other.caffemodel", caffemodel({"twist": ("TwistNorm", [([3], [1, 2, 3])])}))
        for i, given in enumerate((["-m", "net.prototxt", "-w", "other.caffemodel"], ["--input_proto", "net.prototxt", "--input_model", "other.caffemodel"],
                                   ["--from-model", "net.prototxt", "-w", "other.caffemodel"], ["--from-model", "other.caffemodel", "net.prototxt"])):
            r = graft("new", *given, "-o", "new%d" % i, cwd=self.folder)
            self.assertEqual(r.status, 0, r.all)
            self.assertIn('.inputs("x0, blob0")', self.read("new%d" % i, "twistnorm.cpp"))

    def test_what_contradicts_is_refused(self):
        self.write("table.pb", tf_table(([1, 3], [1, 2, 3])))
        for said, *arguments in (("--framework: expected tensorflow, the framework of the model, got caffe", "--from-model", "table.pb", "--framework", "caffe"),
                                 ("no unknown layer of type 'Relu'", "Relu", "--from-model", "table.pb"),
                                 ("no unknown layer of the domain 'acme'", "--from-model", "table.pb", "--domain", "acme"),
                                 ("file not found: 'AcmeTable'", "--from-model", "table.pb", "AcmeTable"),
                                 ("--transformations_config requires a model", "Solo", "--transformations_config", "table.pb"),
                                 ("--domain requires --framework onnx", "Solo", "--framework", "caffe", "--domain", "acme")):
            r = graft("new", *arguments, "-o", "new", cwd=self.folder)
            self.assertEqual(r.status, 1, r.all)
            self.assertIn(said, r.err)
        for framework in ("tf", "tensorflow"):
            r = graft("new", "--from-model", "table.pb", "--framework", framework, "-o", framework, cwd=self.folder)
            self.assertEqual(r.status, 0, r.all)
        r = graft("new", "Solo", "--framework", "tf", "-o", "solo", cwd=self.folder)
        self.assertIn('graft::tensorflow("Solo")', self.read("solo", "solo.cpp"))

    def test_ambiguous_names_keep_their_message(self):
        self.write("net.prototxt", NET.replace("twist_norm_param {", "other_param { alpha: 2 beta: 3 } twist_norm_param {"))
        self.shell(self.command_of("net.prototxt"))
        source = self.read("twistnorm", "twistnorm.cpp")
        self.assertIn('"other_param.alpha"', source)
        self.assertIn('"twist_norm_param.alpha"', source)
        self.assertIn('.attr("beta", "other_param.beta")', source)
        self.assertNotIn('.attr("alpha"', source)

    def test_what_only_some_layers_have(self):
        m = self.path("some.onnx")
        graph = onnx.data(1, "body") + onnx.data(6, onnx.data(2, "g")) + onnx.number(20, 5)
        table = onnx.data(1, "table") + onnx.data(5, onnx.tensor("", [2], [1.0, 2.0])) + onnx.number(20, 4)
        nodes = [onnx.node("Some", ["x", "", "x"], ["a", "b"], domain="acme", gain=1, taps=[1.5]) + onnx.data(5, table) + onnx.data(5, graph),
                 onnx.node("Some", ["a"], ["c"], domain="acme", gain=2.5, taps=[2, 3]),
                 onnx.node("Many", ["c", "b", "x"], ["d"], domain="acme"), onnx.node("Many", [], ["e"], domain="acme"), onnx.node("Add", ["d", "e"], ["y"])]
        save(m, nodes, [onnx.value("x", [1, 3])], [onnx.value("y", [1, 3])])
        said = self.shell(re.search(r"All at once: (.*)", graft("convert", "some.onnx", "-o", "ir", cwd=self.folder).err)[1])
        source = self.read("some_ops", "some_ops.cpp")
        for part in ("std::optional<graft::TensorView> table;", "float gain = 0;", "std::vector<float> taps;", '.inputs("x0, more...")', '.inputs("more...")', '.outputs("y0, y1")',
                     "// 'body' is a graph, which cannot be an attribute"):
            self.assertIn(part, source)
        self.shell(re.search(r"Build it:\n  (.*)\n", said)[1])
        self.cases("some_ops/build/libsome_ops.so", "some_ops/some_ops.test")
        self.assertIn("Many@acme()", self.shell("graft explain some.onnx --text --extensions some_ops/build/libsome_ops.so"))

    def test_python_layers_of_caffe(self):
        self.write("net.prototxt", """input: "x" input_shape { dim: 1 dim: 3 }
            layer { name: "p" type: "Python" bottom: "x" top: "y"
                    python_param { module: "my.mod" layer: "MyProposal" param_str: "{'stride': 16, 'scales': [8, 16]}" } }""")
        self.shell(self.command_of("net.prototxt"))
        source = self.read("myproposal", "myproposal.cpp")
        self.assertIn('.attr("stride", "python_param.param_str.stride")', source)
        self.assertNotIn("module", source)
        self.assertNotIn("param_str;", source)
        # A rule may name the module too, and then goes before one that does not.
        self.write("myproposal/myproposal.cpp", source.replace('graft::caffe("MyProposal")', 'graft::caffe("my.mod.MyProposal")'))
        self.shell("cmake -S myproposal -B b -DGraft_DIR=$(graft --cmake-dir) && cmake --build b")
        r = graft("convert", "net.prototxt", "-o", "ir", "--extensions", "b/libmyproposal.so", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        self.assertNotIn("warning", r.err)
        self.write("net.prototxt", self.read("net.prototxt").replace("my.mod", "other"))
        r = graft("convert", "net.prototxt", "-o", "ir", "--extensions", "b/libmyproposal.so", cwd=self.folder)
        self.assertEqual(r.status, 2, r.all)

    def test_a_loaded_definition_that_does_not_take_the_layer_is_named(self):
        m = self.path("m.onnx")
        save(m, [onnx.node("Doubled", ["x"], ["y"], domain="acme")], [onnx.value("x", [3])], [onnx.value("y", [3])])
        r = graft("convert", m, "-o", "ir", "--extensions", built("extensions", "teaching.so"), cwd=self.folder)
        self.assertEqual(r.status, 2)
        self.assertIn("note        extension 'teaching' has a rule for caffe Doubled, not for onnx acme::Doubled", r.err)


class HostileNames(ScaffoldCase):
    NAMES = ["a\n#error injected", "a\\", '"; #error injected', "*/ #error", "operator", "NULL", "x{y}z", "\x1b[31m", "schema", "x.y", "x_y", "std"]

    def test_nothing_of_a_model_becomes_code(self):
        m = self.path("m.onnx")
        attributes = {name: name for name in self.NAMES}
        nodes = [onnx.node("Test", ["x"], ["a"], domain="acme\n#error injected\\", **attributes),
                 onnx.node("Weird\n#error 1 \\", ["a"], ["b"], domain="acme", **attributes), onnx.node("graft", ["b"], ["c"], domain="acme"),
                 onnx.node("Twist", ["c"], ["d"], domain="acme"), onnx.node("Twist", ["d"], ["y"], domain="other")]
        save(m, nodes, [onnx.value("x", [3])], [onnx.value("y", [3])], opsets={"": 17, "acme": 1, "other": 1, "acme\n#error injected\\": 1})
        r = graft("convert", m, "-o", "ir", cwd=self.folder)
        self.assertEqual(r.status, 2)
        self.assertNotIn("\x1b", r.err)
        commands = re.findall(r"scaffold    (graft new .*)", r.err) + re.findall(r"All at once: (graft new .*)", r.err)
        self.assertEqual(len(commands), 6, r.err)
        for i, command in enumerate(commands):
            said = self.shell(command + " -o new%d" % i)
        self.assertRegex(commands[1], r"^graft new \$'Weird\\n#error 1 \\\\' --from-model")
        source = self.read("new5", "m_ops.cpp")
        for line in source.split("\n"):
            self.assertFalse(line.startswith("#error"), source)
        self.shell(re.search(r"Build it:\n  (.*)\n", said)[1])
        library = "new5/build/libm_ops.so"
        self.shell("graft convert m.onnx -o ir --silent --extensions " + library)
        self.cases(library, "new5/m_ops.test")
        self.shell(re.search(r"Build it:\n  (.*)\n", self.shell("graft new Test --from-model m.onnx -o alone"))[1])
        self.shell("graft new --from-model m.onnx -o py --python")
        compile(self.read("py", "m_ops.py"), "m_ops.py", "exec")
        if os.path.exists(built("python", "interpreter")):
            self.shell("graft convert m.onnx -o ir --silent --extensions py/m_ops.py")


class Declared(ScaffoldCase):
    """What the model says of the outputs, and how numbers are written."""

    def model(self):
        nodes = [onnx.node("Peaks", ["x"], ["places", "heights"], domain="acme", eps=1e-5, steps=[0.1, 2.0]),
                 onnx.node("Identity", ["heights"], ["same"])]
        save(self.path("m.onnx"), nodes, [onnx.value("x", [2, 3])], [onnx.value("places", [2, 3], 7), onnx.value("heights", [4, "n"])])

    def test_types_and_shapes_of_outputs(self):
        self.model()
        self.shell("graft new --from-model m.onnx")
        source = self.read("peaks", "peaks.cpp")
        self.assertIn("ctx.output(0, graft::DType::i64, ctx.shape(0));  // as the model declares it", source)
        self.assertIn("ctx.output(1, ctx.type(0), graft::Shape{4, graft::Dim()});  // as the model declares it", source)

    def test_shortest_numbers(self):
        self.model()
        self.shell("graft new --from-model m.onnx")
        self.assertIn("seen: 1e-05", self.read("peaks", "peaks.cpp"))
        self.assertIn("seen: [0.1, 2.0]", self.read("peaks", "peaks.cpp"))
        self.assertIn('"eps" = 1e-05', self.read("peaks", "peaks.test"))

    def test_python(self):
        self.model()
        said = self.shell("graft new --from-model m.onnx --python")
        self.assertEqual(said.split("\n")[:2], ["peaks/peaks.py", "peaks/peaks.test"])
        self.assertNotIn("Build it", said)
        self.assertIn("peaks_run in peaks/peaks.py", said)
        source = self.read("peaks", "peaks.py")
        self.assertIn("return [('i64', x0.shape),\n            (x0.dtype, (4, None))]", source)
        self.assertIn("def peaks_run(x0, *, eps: float, steps: list[float]):", source)
        self.assertIn("# eps: seen 1e-05", source)
        if not os.path.exists(built("python", "interpreter")):
            self.skipTest("the package for Python is not built")
        r = graft("run", "m.onnx", "--extensions", "peaks/peaks.py", "--quiet", cwd=self.folder)
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("error: " + re.search("^error: (.*)$", self.read("peaks", "peaks.test"), re.M)[1], r.err)
        self.shell(re.search(r"Use it:\n  (graft convert .*)\n", said)[1] + " -o ir --silent")
        text, count = re.subn(r"    raise graft.Error\(.*\n", "    return np.argsort(x0, 1), np.full((4, 1), eps + steps[1], np.float32)\n", source)
        self.assertEqual(count, 1, source)
        self.write("peaks/peaks.py", text)
        write_npy(self.path("x.npy"), [2, 3], [3, 1, 2, 7, 8, 9])
        self.shell("graft run m.onnx --input x=x.npy --extensions peaks/peaks.py --output_dir out --quiet")
        with open(self.path("out", "outputs.json")) as f:
            files = {entry["name"]: entry["file"] for entry in json.load(f)}
        for height in read_npy(self.path("out", files["heights"])):
            self.assertAlmostEqual(height, 2.00001, 6)

    def test_python_by_name_and_with_awkward_fields(self):
        self.shell("graft new Wave --domain acme --python")
        self.assertIn("@graft.op('Wave', opset='acme', outputs='y0', shape=wave_shape, onnx='acme::Wave')", self.read("wave", "wave.py"))
        self.write("net.prototxt", """input: "data" input_shape { dim: 1 dim: 3 }
            layer { name: "t" type: "TwistNorm" bottom: "data" top: "t" twist_norm_param { lambda: 0.5 mode: HARD x0: 3 } }""")
        self.shell("graft new --from-model net.prototxt --python")
        source = self.read("twistnorm", "twistnorm.py")
        self.assertIn("lambda_: float", source)
        self.assertIn("x0_2: int", source)
        self.assertIn("graft.rule('TwistNorm', attrs={'lambda_': 'twist_norm_param.lambda'", source)
        if os.path.exists(built("python", "interpreter")):
            self.shell("graft convert net.prototxt --extensions twistnorm/twistnorm.py -o ir --silent")
        r = graft("new", "Wave", "--python", "--gpu", cwd=self.folder)
        self.assertEqual(r.status, 1, r.all)
        self.assertIn("--gpu", r.err)


if __name__ == "__main__":
    main()
