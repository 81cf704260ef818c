#!/usr/bin/env python3
"""Exported programs of PyTorch: what is read, and what broken files are told.

  tests/cli/test_pytorch.py --build build [unittest arguments]
"""
import io
import json
import zipfile


from harness import Case, graft, main, npy, read_npy
import pt2_writer as pt  # of scripts, which harness adds to the path

ADD = pt.node("torch.ops.aten.add.Tensor", [("self", pt.tensor("x")), ("other", pt.tensor("w"))], ["add"])
WEIGHT = [("parameter", "w", "lin.w")]


def values(**shapes):
    return {name: pt.meta(s) for name, s in shapes.items()}


def added(said=None, data=pt.floats(1, 2, 3), **more):
    document = pt.program([ADD], ["x"], ["add"], values(x=[3], w=[3], add=[3]), WEIGHT, **more)
    return document, {"lin.w": (data, said or pt.meta([3]))}


class Pytorch(Case):
    def file(self, content):
        path = self.path("m.pt2")
        with open(path, "wb") as f:
            f.write(content)
        return path

    def computed(self, content, x, extra=()):
        model, data, out = self.file(content), self.path("x.npy"), self.path("out")
        npy(data, x)
        ended = graft("run", model, "--input", "x=" + data, "--output-dir", out, *extra)
        self.assertEqual(ended.status, 0, ended.all)
        with open(out + "/outputs.json") as f:
            return [read_npy(out + "/" + o["file"]) for o in json.load(f)]

    def refused(self, content, *texts):
        ended = graft("run", self.file(content), "-d", "REFERENCE")
        self.assertEqual(ended.status, 2, ended.all)
        for t in texts:
            self.assertIn(t, ended.err)

    # ---- containers and weights ----

    def test_raw_weights(self):
        self.assertEqual(self.computed(pt.archive(*added()), [1, 1, 1]), [[2, 3, 4]])

    def test_deflated_entries(self):
        content = pt.archive(*added(), compression=zipfile.ZIP_DEFLATED)
        self.assertEqual(self.computed(content, [1, 1, 1]), [[2, 3, 4]])

    def test_strided_weights(self):
        document, weights = added(pt.meta([3], strides=[2], offset=1), pt.floats(0, 1, 0, 2, 0, 3))
        self.assertEqual(self.computed(pt.archive(document, weights), [0, 0, 0]), [[1, 2, 3]])

    def test_pickled_weights(self):
        document, _ = added(version=(8, 2))
        self.assertEqual(self.computed(pt.flat(document, pt.pickled_tensors({"lin.w": ([1, 2, 3], [3], [1])})), [1, 1, 1]), [[2, 3, 4]])

    def test_bare_infinity(self):
        node = pt.node("torch.ops.aten.clamp.default", [("self", pt.tensor("x")), ("max", {"as_float": float("inf")})], ["y"])
        document = json.dumps(pt.program([node], ["x"], ["y"], values(x=[2], y=[2]), version=(8, 2)))
        self.assertIn("Infinity", document)
        self.assertEqual(self.computed(pt.flat(document, pt.pickled_tensors({})), [1, 2]), [[1, 2]])

    # ---- writes in place ----

    def test_write_through_a_view(self):
        nodes = [pt.node("torch.ops.aten.clone.default", [("self", pt.tensor("x"))], ["clone"]),
                 pt.node("torch.ops.aten.slice.Tensor", [("self", pt.tensor("clone")), ("start", {"as_int": 1}), ("end", {"as_int": 3})], ["part"]),
                 pt.node("torch.ops.aten.view.default", [("self", pt.tensor("clone")), ("size", {"as_ints": [2, 2]})], ["before"]),
                 pt.node("torch.ops.aten.add_.Tensor", [("self", pt.tensor("part")), ("other", {"as_int": 10})], ["add_"]),
                 pt.node("torch.ops.aten.neg.default", [("self", pt.tensor("before"))], ["neg"])]
        shapes = values(x=[4], clone=[4], part=[2], before=[2, 2], add_=[2], neg=[2, 2])
        document = pt.program(nodes, ["x"], ["clone", "add_", "neg"], shapes)
        self.assertEqual(self.computed(pt.archive(document), [1, 2, 3, 4]), [[1, 12, 13, 4], [12, 13], [-1, -12, -13, -4]])

    def test_result_keeps_the_type_of_what_is_written(self):
        nodes = [pt.node("torch.ops.aten.clone.default", [("self", pt.tensor("x"))], ["clone"]),
                 pt.node("torch.ops.aten.mul_.Tensor", [("self", pt.tensor("clone")), ("other", {"as_int": 3})], ["mul_"])]
        document = pt.program(nodes, ["x"], ["mul_"], values(x=[2], clone=[2], mul_=[2]))
        self.assertEqual(self.computed(pt.archive(document), [1, 2]), [[3, 6]])

    # ---- what is not supported is named ----

    def test_unknown_operator(self):
        node = pt.node("torch.ops.acme.coshc.default", [("x", pt.tensor("x")), ("axes", {"as_ints": [0]}), ("gain", {"as_float": 2.0})],
                       ["y"], ("net.py", 41), "layers.3")
        document = pt.program([node], ["x"], ["y"], values(x=["s7"], y=["s7"]))
        self.refused(pt.archive(document), "acme::coshc", "axes", "gain")

    def test_skeleton(self):
        node = pt.node("torch.ops.acme.coshc.default", [("x", pt.tensor("x")), ("axes", {"as_ints": [0]}), ("gain", {"as_float": 2.0})], ["y"])
        model = self.file(pt.archive(pt.program([node], ["x"], ["y"], values(x=[2], y=[2]))))
        ended = graft("new", "--from-model", model, "-o", self.path("made"))
        self.assertEqual(ended.status, 0, ended.all)
        with open(self.path("made") + "/acme__coshc.cpp") as f:
            source = f.read()
        for t in ('graft::torch("acme::coshc")', 'inputs("x")', "float gain", "axes"):
            self.assertIn(t, source)
        self.assertNotIn("call.", source)

    def test_line_of_the_users_code(self):
        node = pt.node("torch.ops.aten.as_strided.default",
                       [("self", pt.tensor("x")), ("size", {"as_ints": [-1]}), ("stride", {"as_ints": [1]})], ["y"], ("net.py", 41), "layers.3")
        self.refused(pt.archive(pt.program([node], ["x"], ["y"], values(x=[2], y=[2]))), "aten::as_strided", "net.py:41 in layers.3")

    # ---- broken archives ----

    def test_schema_of_the_future(self):
        self.refused(pt.archive(*added(version=(9, 0))), "expected a program of schema version 5 to 8, got 9")

    def test_missing_program(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z:
            z.writestr("m/archive_format", "pt2")
        self.refused(out.getvalue(), "expected a program 'models/model.json'")

    def test_truncated(self):
        self.refused(pt.archive(*added())[:-30], "expected a ZIP archive")

    def test_entry_outside(self):
        self.refused(pt.archive(*added(), entries={"../x": b"1"}), "leads outside")

    def test_overlapping_entries(self):
        content = bytearray(pt.archive(*added(), entries={"m/a": b"12345678", "m/b": b"12345678"}))
        first, second = content.find(b"m/a12345678") - 30, content.rfind(b"PK\x01\x02", 0, content.rfind(b"m/b"))
        content[second + 42:second + 46] = first.to_bytes(4, "little")
        self.refused(bytes(content), "entries of the archive overlap")

    def test_bomb(self):
        content = pt.archive(*added(), entries={"m/zeros": b"\0" * (64 << 20)}, compression=zipfile.ZIP_DEFLATED)
        self.refused(content, "which exceeds the limit")

    def test_no_json(self):
        self.refused(pt.archive("{\"graph_module\": "), "invalid JSON")

    # ---- broken tensors ----

    def test_weight_beyond_its_storage(self):
        document, weights = added(pt.meta([3], strides=[2]))
        self.refused(pt.archive(document, weights), "lin.w", "expected a storage of more than 3 elements")

    def test_sizes_that_overflow(self):
        document, weights = added(pt.meta([2 ** 31, 2 ** 31, 2 ** 31]))
        self.refused(pt.archive(document, weights), "lin.w")

    def test_stride_that_overflows(self):
        document, weights = added(pt.meta([3], strides=[2 ** 63 - 1]))
        self.refused(pt.archive(document, weights), "expected a storage of more than 3 elements")

    def test_negative_offset(self):
        document, weights = added(pt.meta([3], offset=-1))
        self.refused(pt.archive(document, weights), "expected an offset of at least 0, got -1")

    def test_missing_tensor(self):
        self.refused(pt.archive(added()[0]), "the archive has no tensor 'lin.w'")

    # ---- pickles are data ----

    def test_function_in_a_pickle(self):
        state = pt.pickled_tensors({"lin.w": ([1, 2, 3], [3], [1])}, b"os\nsystem\n")
        self.refused(pt.flat(added()[0], state), "'os.system', which is not supported")

    def test_opcode_in_a_pickle(self):
        state = pt.pickled_tensors({"lin.w": ([1, 2, 3], [3], [1])}).replace(b"\x80\x02}(", b"\x80\x02i(")
        self.refused(pt.flat(added()[0], state), "uses opcode")

    # ---- broken graphs ----

    def test_value_that_is_not_produced(self):
        node = pt.node("torch.ops.aten.neg.default", [("self", pt.tensor("z"))], ["y"])
        self.refused(pt.archive(pt.program([node], ["x"], ["y"], values(x=[2], y=[2]))), "value 'z' is used before it is produced")

    def test_endless_branches(self):
        graph = {"inputs": [], "outputs": [], "nodes": [], "tensor_values": {}}
        for _ in range(80):
            node = pt.node("torch.ops.higher_order.cond", [("", {"as_bool": True}), ("", {"as_graph": {"name": "a", "graph": graph}}),
                                                           ("", {"as_graph": {"name": "b", "graph": graph}}), ("", {"as_tensors": []})], ["y"])
            graph = {"inputs": [], "outputs": [pt.tensor("y")], "nodes": [node], "tensor_values": {}}
            if len(json.dumps(graph)) > 1 << 20:
                break
        document = pt.program(graph["nodes"], ["x"], ["y"], values(x=[2], y=[2]))
        ended = graft("run", self.file(pt.archive(document)), "-d", "REFERENCE")
        self.assertEqual(ended.status, 2, ended.all)


main()
