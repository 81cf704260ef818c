#!/usr/bin/env python3
"""The command line as a user meets it: exit codes, messages, files, and extensions built outside the tree by gcc and clang.

  tests/cli/test_cli.py --build build [unittest arguments]
"""
import json
import os
import shutil
import subprocess
import unittest

from harness import ROOT, Case, build_extension, built, graft, main, npy, onnx, read_npy, save


def compilers():
    clang = next((c for c in ("clang++-19", "clang++") if shutil.which(c)), None)
    return ["g++", clang or "clang++-19"]


class CliCase(Case):
    def custom_model(self):
        path = self.path("custom.onnx")
        nodes = [onnx.node("Relu", ["x"], ["a"]), onnx.node("Frob", ["a"], ["b"], name="first", domain="acme", gain=2.5, taps=[1, 2]),
                 onnx.node("Frob", ["b"], ["c"], name="second", domain="acme", gain=1.0, taps=[3]),
                 onnx.node("Twist", ["c", "x"], ["y"], name="third", domain="acme", mode="left")]
        save(path, nodes, [onnx.value("x", [3])], [onnx.value("y", [3])])
        return path


class Usage(CliCase):
    def test_help_names_every_command(self):
        r = graft("--help")
        self.assertEqual(r.status, 0)
        for command in ("convert", "run", "ops", "explain", "devices", "bench", "new"):
            self.assertIn(command, r.out)
            self.assertEqual(graft(command, "--help").status, 0)

    def test_mistakes_of_the_caller_end_with_1(self):
        m = self.plain_model()
        for arguments, said in [
                (["rum", m], "unknown command 'rum'"),
                ([], "no command given"),
                (["run"], "no model file given"),
                (["run", self.path("none.onnx")], "file not found"),
                (["run", m, "-d", "TOASTER"], "unknown device 'TOASTER'"),
                (["run", m, "--wobble"], "unknown option '--wobble'"),
                (["run", m, "--input", "z=" + m], "no input 'z'"),
                (["run", m, "--input_shape", "z[3]"], "no input 'z'"),
                (["run", m, "--output", "yy"], "no layer or tensor 'yy'"),
                (["run", m, "--output", "yy"], "did you mean y?"),
                (["run", m, "--extensions", self.path("none.so")], "extension not found"),
                (["convert", m, "--disable-pass", "fold_constant"], "did you mean fold_constants?")]:
            r = graft(*arguments)
            self.assertIn(said, r.err, arguments)
            self.assertEqual(r.status, 1, arguments)

    def test_mistakes_of_the_model_end_with_2(self):
        broken = self.path("broken.onnx")
        with open(self.plain_model(), "rb") as f:
            content = f.read()
        with open(broken, "wb") as f:
            f.write(content[:-7])
        for command in ("run", "convert", "explain"):
            r = graft(command, broken, *(["-o", self.path("out")] if command == "convert" else []))
            self.assertEqual(r.status, 2, r.all)
            self.assertIn("broken.onnx", r.err)
        self.assertFalse(os.path.exists(self.path("out", "broken.xml")))


class Passes(CliCase):
    tour = property(lambda self: built("extensions", "passes_tour.so"))

    def order(self, *extensions):
        r = graft("convert", self.plain_model(), "--list-passes", "--extensions", ",".join(extensions))
        self.assertEqual(r.status, 0, r.all)
        words = [line.split()[:2] for line in r.out.splitlines()]
        return [name for name, _ in words], dict(words)

    def test_passes_of_an_extension_stand_where_they_ask(self):
        names, phases = self.order(self.tour)
        self.assertLess(names.index("tour_one_abs"), names.index("remove_noops"))
        self.assertLess(names.index("tour_one_abs"), names.index("tour_doubled"))
        self.assertEqual(names[0], "tour_expand_frob")
        self.assertEqual(names.index("lower_opsets"), names.index("tour_negated") + 1)
        self.assertEqual({phases[n] for n in names[names.index("lower_opsets") + 1:]}, {"compile"})
        self.assertEqual((phases["tour_expand_frob"], phases["tour_doubled"], phases["tour_negated"]), ("front", "middle", "back"))

    def test_the_guide_names_every_pass(self):
        with open(os.path.join(ROOT, "docs", "guide", "passes.md")) as f:
            guide = f.read()
        self.assertEqual([n for n in self.order()[0] if "`%s`" % n not in guide], [])

    def test_an_order_that_cannot_be_is_shown(self):
        r = graft("convert", self.plain_model(), "-o", self.path("ir"), "--extensions", built("extensions", "passes_circle.so"))
        self.assertEqual(r.status, 1, r.all)
        self.assertIn("the order of passes is cyclic: chicken after egg after chicken", r.err)
        self.assertFalse(os.path.exists(self.path("ir", "plain.xml")))

    def test_a_front_pass_makes_an_unknown_layer_known(self):
        m = self.path("frob.onnx")
        save(m, [onnx.node("Frob", ["x"], ["a"], name="first", domain="acme", gain=2.5), onnx.node("Relu", ["a"], ["y"])],
             [onnx.value("x", [3])], [onnx.value("y", [3])])
        self.assertEqual(graft("convert", m, "-o", self.path("ir")).status, 2)
        r = graft("convert", m, "-o", self.path("ir"), "--extensions", self.tour, "--explain-passes")
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("tour_expand_frob", r.out)
        npy(self.path("x.npy"), [-1, 0, 2])
        r = graft("run", self.path("ir", "frob.xml"), "--input", "x=" + self.path("x.npy"), "--output-dir", self.path("out"))
        self.assertEqual(r.status, 0, r.all)
        self.assertEqual(read_npy(self.path("out", "0.npy")), [0, 1, 6])
        r = graft("convert", m, "-o", self.path("ir"), "--extensions", self.tour, "--disable-pass", "tour_expand_frob")
        self.assertEqual(r.status, 2, r.all)

    def test_an_entry_of_kind_general_calls_a_pass(self):
        m, config = self.path("net.prototxt"), self.path("r.json")
        with open(m, "w") as f:
            f.write('input: "x" input_shape { dim: 2 }\nlayer { name: "y" type: "ReLU" bottom: "x" top: "y" relu_param { negative_slope: 0.5 } }\n')
        with open(config, "w") as f:
            f.write('[{"id": "tour_other_slope", "match_kind": "general", "custom_attributes": {"slope": 0.25}}]')
        npy(self.path("x.npy"), [-4, 2])
        for options, wanted in (([], -2), (["--extensions", self.tour, "--transformations_config", config], -1)):
            r = graft("run", m, *options, "--input", "x=" + self.path("x.npy"), "--output-dir", self.path("out"))
            self.assertEqual(r.status, 0, r.all)
            self.assertEqual(read_npy(self.path("out", "0.npy")), [wanted, 2])
            r = graft("convert", m, *options, "-o", self.path("ir"))
            self.assertEqual(r.status, 0, r.all)
            r = graft("run", self.path("ir", "net.xml"), "--input", "x=" + self.path("x.npy"), "--output-dir", self.path("out"))
            self.assertEqual(read_npy(self.path("out", "0.npy")), [wanted, 2])

    def test_passes_are_left_out_and_asked_for(self):
        m = self.path("square.onnx")
        save(m, [onnx.node("Mul", ["x", "x"], ["a"]), onnx.node("Abs", ["a"], ["b"]), onnx.node("Abs", ["b"], ["y"])],
             [onnx.value("x", [3])], [onnx.value("y", [3])])
        def layers(*options):
            r = graft("convert", m, "-o", self.path("ir"), "--extensions", self.tour, "--json", *options)
            self.assertEqual(r.status, 0, r.all)
            return {p["name"]: p["changes"] for p in json.loads(r.out)["passes"]}
        self.assertEqual(layers()["tour_one_abs"], 1)
        self.assertNotIn("tour_one_abs", layers("--disable-pass", "tour_one_abs"))
        self.assertNotIn("tour_squared", layers())
        self.assertEqual(layers("--enable-pass", "tour_squared")["tour_squared"], 0)


class Running(CliCase):
    def test_results_are_written_and_listed(self):
        m = self.plain_model()
        npy(self.path("x.npy"), [-1, 0, 2])
        for device in ("CPU", "REFERENCE"):
            r = graft("run", m, "--input", "x=" + self.path("x.npy"), "--output-dir", self.path(device), "-d", device)
            self.assertEqual(r.status, 0, r.all)
            self.assertEqual(read_npy(self.path(device, "0.npy")), [0, 0, 2])
            with open(self.path(device, "outputs.json")) as f:
                listed = json.load(f)
            self.assertIn("y", json.dumps(listed))

    def test_any_tensor_can_be_asked_for(self):
        m = self.path("chain.onnx")
        nodes = [onnx.node("Relu", ["x"], ["a"], name="first"), onnx.node("Abs", ["a"], ["b"], name="second"), onnx.node("Neg", ["b"], ["y"], name="third")]
        save(m, nodes, [onnx.value("x", [3])], [onnx.value("y", [3])])
        npy(self.path("x.npy"), [-1, 0, 2])
        for way in ([], ["--through-ir"], ["-d", "REFERENCE"]):
            wanted = ["--output", "y", "--output", "a", "--output", "second", "--output", "x"]
            r = graft("run", m, "--input", self.path("x.npy"), *wanted, "--output-dir", self.path("out"), *way)
            self.assertEqual(r.status, 0, r.all)
            with open(self.path("out", "outputs.json")) as f:
                self.assertEqual([o["name"] for o in json.load(f)], ["y", "a", "second", "x"])
            values = [read_npy(self.path("out", "%d.npy" % i)) for i in range(4)]
            self.assertEqual(values, [[0, 0, -2], [0, 0, 2], [0, 0, 2], [-1, 0, 2]], way)

    def test_an_output_folder_that_cannot_be_made_is_said(self):
        m = self.plain_model()
        npy(self.path("x.npy"), [1, 2, 3])
        r = graft("run", m, "--input", self.path("x.npy"), "--output-dir", m)
        self.assertNotEqual(r.status, 0)
        self.assertIn("plain.onnx", r.err)

    def test_bench_gives_json(self):
        r = graft("bench", self.plain_model(), "--niter", "5", "--json")
        self.assertEqual(r.status, 0, r.all)
        self.assertTrue(json.loads(r.out))


class Top(CliCase):
    def test_only_a_distribution_is_called_probability(self):
        m = self.write("same.graft", "graph (x: f32[4]) { return Relu(x) }\n")
        for values, title, first in (([6.8e-8, 0.25, 0.7, 0.05], "probability", ["2", "0.7"]), ([7.5, 0.25, 0, 6.8e-8], "score", ["0", "7.5"]),
                                     ([0.5, 0.25, 0.5, 6.8e-8], "score", ["0", "0.5"])):
            npy(self.path("x.npy"), values)
            r = graft("run", m, "-i", self.path("x.npy"), "--top", "4")
            self.assertEqual(r.status, 0, r.all)
            rows = [line.split() for line in r.out.splitlines()]
            at = rows.index(["classid", title])
            self.assertEqual(rows[at + 2], first)
            self.assertIn("6.8e-08", r.out)


class Pictures(CliCase):
    def test_a_model_that_decodes_gets_the_bytes_of_the_file(self):
        picture = self.write("p.ppm", b"P6 1 2 255\n" + bytes([1, 2, 3, 4, 5, 6]))
        for parameter, value in (("x: u8[?]", "x"), ("s: string[]", "u.2"), ("s: string[1]", "u.2")):
            unpack = "" if value == "x" else "u = StringTensorUnpack(s)\n"
            m = self.write("decode.graft", "graph (%s) {\n%sreturn ImageDecoder@graft(%s)\n}\n" % (parameter, unpack, value))
            r = graft("run", m, "-i", picture, "--output-dir", self.path("out"))
            self.assertEqual(r.status, 0, r.all)
            self.assertIn("u8[2,1,3]  min 1  mean 3.5  max 6", r.out)
            self.assertIn("is the 17 bytes of", r.err)


class Explaining(CliCase):
    def test_what_is_explained_is_what_runs(self):
        m = self.path("swish.onnx")
        save(m, [onnx.node("Sigmoid", ["x"], ["s"]), onnx.node("Mul", ["x", "s"], ["y"])], [onnx.value("x", [3])], [onnx.value("y", [3])])
        for device, wanted in (("CPU", ["Swish"]), ("REFERENCE", ["Sigmoid", "Multiply"])):
            r = graft("explain", m, "-d", device, "--json")
            self.assertEqual(r.status, 0, r.all)
            explained = [(k["node"], k["type"], k["kernel"]) for k in json.loads(r.out)["kernels"]]
            r = graft("bench", m, "-d", device, "--niter", "1", "--pc", "--json")
            self.assertEqual(r.status, 0, r.all)
            ran = [(o["name"], o["type"], o["kernel"]) for o in json.loads(r.out)["operations"]]
            self.assertEqual(sorted(explained), sorted(ran))
            self.assertEqual([t for _, t, _ in explained], wanted)

    def test_results_have_the_fields_that_are_documented(self):
        fields = {name: {f["name"] for f in rows} for name, rows in json.loads(graft("--describe").out)["results"].items()}
        m = self.path("relu.onnx")
        save(m, [onnx.node("Relu", ["x"], ["y"])], [onnx.value("x", [3])], [onnx.value("y", [3])])
        shown = json.loads(graft("explain", m, "--json").out)
        self.assertEqual(set(shown), fields["Report"] | fields["Explanation"] | {"model", "inputs", "outputs", "input_groups", "output_groups"})
        self.assertEqual(set(shown["kernels"][0]), fields["Choice"])
        self.assertEqual(set(shown["claims"][0]), fields["Claim"])
        shown = json.loads(graft("convert", m, "-o", self.path("out"), "--json").out)
        self.assertEqual(set(shown), fields["ConvertReport"] | {"seconds", "peak_memory_bytes"})
        self.assertEqual(set(json.loads(graft("explain", m, "--query", "--json").out)), fields["QueryResult"])
        self.assertEqual(set(json.loads(graft("ops", "Relu", "--json").out)[0]), fields["OpInfo"] | {"kind"})

    def test_selected_layers(self):
        m = self.path("chain.onnx")
        save(m, [onnx.node("Relu", ["x"], ["a"], name="block/relu"), onnx.node("Exp", ["a"], ["b"], name="block/exp"),
                 onnx.node("Sin", ["b"], ["y"], name="head")], [onnx.value("x", [3])], [onnx.value("y", [3])])

        def shown(*options):
            r = graft("explain", m, "-d", "REFERENCE", "--json", *options)
            self.assertEqual(r.status, 0, r.all)
            data = json.loads(r.out)
            return [c["layer"] for c in data["claims"]], [k["node"] for k in data["kernels"]]

        self.assertEqual(shown("--node", "block/*"), (["block/relu", "block/exp"], ["block/relu", "block/exp"]))
        self.assertEqual(shown("--type", "S?n"), (["head"], ["head"]))
        self.assertEqual(shown("--type", "ReLU,Relu", "--node", "*relu"), (["block/relu"], ["block/relu"]))
        self.assertEqual(len(shown()[1]), 3)
        r = graft("explain", m, "--node", "block")
        self.assertEqual(r.status, 1, r.all)
        self.assertIn("no layer of the file and no operation that runs matches 'block'", r.err)

    def test_layers_that_become_nothing_share_a_line(self):
        m = self.path("identities.onnx")
        names = ["x", *("v%d" % i for i in range(5)), "y"]
        nodes = [onnx.node("Identity", [a], [b], name="same_" + b) for a, b in zip(names, names[1:-1])]
        save(m, nodes + [onnx.node("Relu", ["v4"], ["y"], name="act")], [onnx.value("x", [3])], [onnx.value("y", [3])])
        r = graft("explain", m)
        self.assertEqual(r.status, 0, r.all)
        lines = [line.split() for line in r.out.splitlines() if " by " in line]
        self.assertEqual([" ".join(line) for line in lines], [
            "5 layers Identity by built-in -> nothing to compute: same_v0, same_v1 and 3 more",
            "act Relu by built-in -> Relu"])
        self.assertEqual(len(json.loads(graft("explain", m, "--json").out)["claims"]), 6)

    def test_convolutions_take_the_fastest_kernel(self):
        m = self.path("conv.graph")
        for size, channels, kernel in ((20, 16, "winograd4_f32"), (13, 16, "winograd2_f32"), (7, 16, "direct_f32"), (20, 8, "direct_f32")):
            with open(m, "w") as f:
                f.write("graph (x: f32[1,%d,%d,%d]) { return Convolution(x, f32[16,%d,3,3] fill(1)) {pads_begin = [1,1], pads_end = [1,1]} }" % (channels, size, size, channels))
            r = graft("explain", m, "--json")
            self.assertEqual(r.status, 0, r.all)
            self.assertEqual([k["kernel"] for k in json.loads(r.out)["kernels"] if k["type"] == "FusedConvolution"], [kernel])

    def test_quantized_layers_run_with_bytes(self):
        def levels(x, scale, zero):
            y = "Round(Divide(%s, f32[] {%g})) {mode = \"half_to_even\"}" % (x, scale)
            return "Convert(Clamp(Add(%s, f32[] {%d})) {min = 0, max = 255}) {destination_type = u8}" % (y, zero)

        def numbers(q, scale, zero):
            return "Multiply(Subtract(Convert(%s) {destination_type = f32}, f32[] {%d}), f32[] {%g})" % (q, zero, scale)

        m = self.write("bytes.graft", "graph (x: f32[1,4,5,5]) {\n q = %s\n d = %s\n c = Convolution(d, %s)\n r = %s\n return Relu(Add(%s, d))\n}\n" % (
            levels("x", 0.1, 7), numbers("q", 0.1, 7), numbers("i8[4,4,1,1] random(1, -9, 9)", 0.5, 0), levels("c", 0.2, 9), numbers("r", 0.2, 9)))
        r = graft("explain", m, "--json")
        self.assertEqual(r.status, 0, r.all)
        kernels = [(k["type"], k["kernel"]) for k in json.loads(r.out)["kernels"] if k["type"] != "Reorder"]
        self.assertEqual(kernels, [("Quantize", "simd_8"), ("QuantizedConvolution", "direct_u8")])


class Ops(CliCase):
    def json_of(self, *arguments):
        r = graft("ops", *arguments, "--json")
        self.assertEqual(r.status, 0, r.all)
        return json.loads(r.out)

    def test_a_layer_of_a_framework_says_what_it_becomes(self):
        r = graft("ops", "Mul")
        self.assertEqual(r.status, 0, r.all)
        self.assertRegex(r.out, r"onnx +Mul.* Multiply \(opset1\)")
        self.assertRegex(r.out, r"tensorflow +Mul +Multiply \(opset1\)")
        self.assertRegex(graft("ops", "eltwise").out, "caffe +Eltwise.*expanded by a rule")
        layer = self.json_of("AddV2")
        self.assertEqual([(e["kind"], e["name"]) for e in layer], [("layer", "AddV2")])
        rule = layer[0]["rules"][0]
        self.assertEqual((rule["framework"], rule["type"], rule["op"], rule["opset"]), ("tensorflow", "AddV2", "Add", "opset1"))
        self.assertEqual(set(rule), {"framework", "type", "domain", "since", "until", "op", "opset", "expanded", "conditions", "origin", "layer", "versions", "imported_as", "where"})

    def test_layers_of_a_framework(self):
        for framework, there in (("caffe", "ReLU"), ("onnx", "Gemm"), ("tensorflow", "BiasAdd"), ("tf", "BiasAdd"), ("mxnet", "LeakyReLU")):
            r = graft("ops", "--framework", framework)
            self.assertEqual(r.status, 0, r.all)
            self.assertRegex(r.out, "(?m)^%s " % there)
            rules = self.json_of("--framework", framework)
            self.assertIn(there, [x["type"] for x in rules])
            self.assertEqual({x["framework"] for x in rules}, {"tensorflow" if framework == "tf" else framework})
        with_extension = graft("ops", "--framework", "caffe", "--extensions", built("extensions", "teaching.so")).out
        self.assertRegex(with_extension, r"(?m)^Doubled .*, from .*teaching\.so$")
        self.assertEqual(graft("ops", "--framework", "caffee").status, 1)
        self.assertEqual(graft("ops", "Relu", "--framework", "caffe").status, 1)

    def test_operations_have_their_rules(self):
        elu = [o for o in self.json_of() if o["name"] == "Elu"][0]
        self.assertEqual({r["framework"] for r in elu["rules"]}, set(elu["frameworks"]))
        leaky = [r for r in elu["rules"] if r["framework"] == "mxnet"][0]
        self.assertEqual(leaky["conditions"], {"act_type": '"elu"'})
        self.assertEqual(self.json_of("elu")[0]["rules"], elu["rules"])

    def test_names_of_layers_are_suggested(self):
        for arguments in (["BiasAd"], ["BiasAd", "--json"]):
            r = graft("ops", *arguments)
            self.assertEqual(r.status, 1, r.all)
            self.assertIn("did you mean BiasAdd?", r.err)


class Verdict(CliCase):
    def test_all_that_is_missing_is_said_at_once_and_nothing_written(self):
        m = self.custom_model()
        r = graft("convert", m, "-o", self.path("out"))
        self.assertEqual(r.status, 2)
        for part in ("acme::Frob", "acme::Twist", "first, second", "third", "gain = 2.5 | 1", "taps", "mode", "f32[3]", "2 layer types are unknown", "graft new"):
            self.assertIn(part, r.err)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_stubs_are_written_on_request_and_read_again(self):
        m = self.custom_model()
        r = graft("convert", m, "-o", self.path("out"), "--stub-unknown")
        self.assertEqual(r.status, 0, r.all)
        with open(self.path("out", "custom.xml")) as f:
            written = f.read()
        self.assertIn('type="Frob"', written)
        r = graft("explain", self.path("out", "custom.xml"))
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("3 of 6 layers", r.err)

    def test_scaffolds_build_and_load_before_any_edit(self):
        m = self.custom_model()
        for from_model in (m, None):
            if from_model is None:
                graft("convert", m, "-o", self.path("out"), "--stub-unknown")
                from_model = self.path("out", "custom.xml")
            folder = self.path("new-" + os.path.splitext(os.path.basename(from_model))[1][1:])
            r = graft("new", "--from-model", from_model, "-o", folder)
            self.assertEqual(r.status, 0, r.all)
            library = build_extension(folder, folder + "-build", "g++")
            r = graft("convert", m, "-o", self.path("done"), "--extensions", library)
            self.assertEqual(r.status, 0, r.all)
        r = graft("new", "Solo", "-o", self.path("solo"))
        self.assertEqual(r.status, 0, r.all)
        library = build_extension(self.path("solo"), self.path("solo-build"), "g++")
        self.assertIn("Solo", graft("ops", "--extensions", library).out)


class Extensions(CliCase):
    def test_the_example_built_by_gcc_and_by_clang(self):
        m = self.path("cosh.onnx")
        save(m, [onnx.node("CoshC", ["x"], ["y"], domain="acme", gain=2.0)], [onnx.value("x", [3])], [onnx.value("y", [3])])
        npy(self.path("x.npy"), [0, 1, -2])
        for compiler in compilers():
            library = build_extension(os.path.join(ROOT, "examples", "extension-cosh"), self.path(compiler), compiler)
            linked = subprocess.run(["ldd", library], capture_output=True, text=True).stdout
            self.assertNotIn("graft", linked)
            r = graft("convert", m, "-o", self.path(compiler), "--extensions", library)
            self.assertEqual(r.status, 0, r.all)
            for model in (m, self.path(compiler, "cosh.xml")):
                for device in ("CPU", "REFERENCE"):
                    r = graft("run", model, "--input", self.path("x.npy"), "--output-dir", self.path("r"), "-d", device, "--extensions", library)
                    self.assertEqual(r.status, 0, r.all)
                    for got, want in zip(read_npy(self.path("r", "0.npy")), [1.0, 3.7621957, 27.308233]):
                        self.assertAlmostEqual(got, want, places=4)

    def test_a_built_in_can_be_overridden_and_the_report_says_so(self):
        m = self.plain_model()
        npy(self.path("x.npy"), [-1, 0, 2])
        library = built("extensions", "override_relu.so")
        r = graft("run", m, "--input", self.path("x.npy"), "--output-dir", self.path("r"), "--extensions", library)
        self.assertEqual(r.status, 0, r.all)
        self.assertEqual(read_npy(self.path("r", "0.npy")), [100, 100, 102])
        # Its Relu is another one than the passes know: what looks like a Clamp is none.
        m = self.path("clamp.txt")
        with open(m, "w") as f:
            f.write("graph (x: f32[3]) { return Minimum(Relu(x), f32[] {101}) }")
        for options, wanted in (([], [0, 0, 2]), (["--extensions", library], [100, 100, 101])):
            r = graft("run", m, "--input", self.path("x.npy"), "--output-dir", self.path("r"), *options)
            self.assertEqual(r.status, 0, r.all)
            self.assertEqual(read_npy(self.path("r", "0.npy")), wanted)
        r = graft("explain", m, "--extensions", library)
        self.assertIn("override", r.all)

    def test_a_crash_says_which_kernel_it_was(self):
        if "sanitize" in built():
            self.skipTest("the sanitizers have handlers of their own")
        m = self.path("crash.txt")
        with open(m, "w") as f:
            f.write("graph (x: f32[3]) { y = Crash@slips(x) return y }")
        for device in ("CPU", "REFERENCE"):
            r = graft("run", m, "-d", device, "--extensions", built("extensions", "slips.so"))
            self.assertEqual(r.status, -11, r.all)
            self.assertIn("error: the kernel 'reference' of slips.so crashed (Segmentation fault) while running 'y' (Crash)", r.all)

    def test_slips_in_definitions_are_warnings(self):
        r = graft("ops", "Abs", "--extensions", built("extensions", "lint.so"))
        self.assertEqual(r.status, 0, r.all)
        for slip in ("the default of attribute 'size' of Bounded is not valid: expected a value of at least 1, got 0",
                     "the default of attribute 'mode' of Bounded is not valid: expected one of hard, fast, got 'soft'",
                     "Silent of lint has neither a shape function nor a decomposition",
                     "Silent of lint has neither a kernel nor a decomposition",
                     "the decomposition of Broken is not valid: line 1:",
                     "the decomposition of Stranger uses Frobnicate, which does not exist",
                     "the decomposition of TwoInputs has 1 inputs, the operation has 2",
                     "kernel 'fast' is for Elu of opset99, which does not exist; there is Elu of opset1",
                     "kernel 'fast' is for Frobnicate of opset1, which does not exist",
                     "kernel 'fast' of Elu is for the device TPU, which does not exist; there are CPU, GPU, VPU, REFERENCE",
                     "the rule for Bounded of onnx sets the attribute 'depth', which Bounded does not have",
                     "the rule for Lost of onnx creates Lost of lint, which does not exist",
                     "the rule for Bounded of torch: there is no such framework; there are caffe, kaldi",
                     "the pass 'lint_pass' runs after 'no_such_pass', which does not exist"):
            self.assertIn("lint.so': " + slip, r.err)
        self.assertEqual(r.err.count("warning: "), 14, r.err)
        for library in ("api_tour", "passes_tour", "recorded_ops", "teaching", "first_release", "slips"):
            self.assertNotIn("warning", graft("ops", "Abs", "--extensions", built("extensions", library + ".so")).err)

    def test_a_rule_without_the_domain_of_a_layer_is_named(self):
        m = self.path("acme.onnx")
        save(m, [onnx.node("AcmeOp", ["x"], ["y"], domain="acme")], [onnx.value("x", [3])], [onnx.value("y", [3])])
        library = built("extensions", "lint.so")
        r = graft("convert", m, "-o", self.path("ir"), "--extensions", library)
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("note        extension 'lint' has a rule for onnx AcmeOp, not for onnx acme::AcmeOp", r.all)

    def test_what_is_no_extension_is_refused(self):
        for name, content in (("empty.so", b""), ("text.so", b"hello")):
            with open(self.path(name), "wb") as f:
                f.write(content)
            r = graft("ops", "--extensions", self.path(name))
            self.assertIn(name, r.err)
            self.assertIn(r.status, (1, 2))


if __name__ == "__main__":
    main()
