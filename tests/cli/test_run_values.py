#!/usr/bin/env python3
"""What `graft run` makes of given values and names: rows, ranks that decide what a layer means, outputs with the name of a layer.

  tests/cli/test_run_values.py --build build [unittest arguments]
"""
import json

from harness import Case, graft, main, onnx, read_npy, save, write_npy


class RunValues(Case):
    def run_model(self, *arguments):
        r = graft("run", *arguments, "--output-dir", "out", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        return r, read_npy(self.path("out", "0.npy"))

    # ---- a vector where a row is expected ----

    def rows(self, dims):
        save(self.path("m.onnx"), [onnx.node("MatMul", ["x", "w"], ["y"])], [onnx.value("x", dims)], [onnx.value("y", [dims[0], 2])],
             [onnx.tensor("w", [3, 2], [1, 2, 3, 4, 5, 6])])
        return "m.onnx"

    def test_a_vector_is_a_row(self):
        write_npy(self.path("x.npy"), [3], [1, 10, 100])
        for dims in ([1, 3], ["n", 3]):
            r, y = self.run_model(self.rows(dims), "--input", "x=x.npy")
            self.assertEqual(y, [531, 642])
            self.assertIn("input 'x': the vector of 3 values is taken as the row [1,3]", r.err)

    def test_and_of_an_ir(self):
        write_npy(self.path("x.npy"), [3], [1, 10, 100])
        r = graft("convert", self.rows([1, 3]), "--silent", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        r, y = self.run_model("m.xml", "--input", "x=x.npy")
        self.assertEqual(y, [531, 642])
        self.assertIn("is taken as the row [1,3]", r.err)

    def test_only_where_it_can_mean_nothing_else(self):
        write_npy(self.path("x.npy"), [4], [1, 10, 100, 1000])
        for dims in ([1, 3], [2, 4]):
            r = graft("run", self.rows(dims), "--input", "x=x.npy", cwd=self.folder)
            self.assertNotEqual(r.status, 0, r.all)
            self.assertNotIn("is taken as the row", r.err)

    # ---- a layer that does something else for another rank ----

    def where(self, kind):
        inputs = [{"op": "null", "name": n, "inputs": []} for n in ("c", "a", "b")]
        nodes = inputs + [{"op": kind, "name": "w", "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]}]
        self.write("m-symbol.json", json.dumps({"nodes": nodes, "arg_nodes": [0, 1, 2], "node_row_ptr": [0, 1, 2, 3, 4], "heads": [[3, 0, 0]],
                                                "attrs": {"mxnet_version": ["int", 10900]}}))
        write_npy(self.path("c.npy"), [2], [1, 0])
        write_npy(self.path("a.npy"), [2, 2], [1, 2, 3, 4])
        write_npy(self.path("b.npy"), [2, 2], [-1, -2, -3, -4])
        return ["m-symbol.json", "--input", "c=c.npy", "--input", "a=a.npy", "--input", "b=b.npy"]

    def test_where_with_a_vector_selects_rows(self):
        self.assertEqual(self.run_model(*self.where("where"))[1], [1, 2, -3, -4])

    def test_where_of_numpy_broadcasts(self):
        self.assertEqual(self.run_model(*self.where("_npi_where"))[1], [1, -2, 3, -4])

    def test_where_in_an_ir_without_ranks(self):
        arguments = self.where("where")
        r = graft("convert", arguments[0], "-n", "m", "--silent", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        self.assertEqual(self.run_model("m.xml", *arguments[1:])[1], [1, 2, -3, -4])

    def test_an_input_that_is_an_output_too(self):
        nodes = [{"op": "null", "name": "zz", "inputs": []}, {"op": "BlockGrad", "name": "a", "inputs": [[0, 0, 0]]}]
        self.write("m-symbol.json", json.dumps({"nodes": nodes, "arg_nodes": [0], "node_row_ptr": [0, 1, 2], "heads": [[1, 0, 0]], "attrs": {}}))
        write_npy(self.path("x.npy"), [2], [1, 2])
        self.assertEqual(self.run_model("m-symbol.json", "--input", "zz=x.npy")[1], [1, 2])

    # ---- an output with the name of a layer ----

    def power(self, name, bottom, top, scale, shift):
        return 'layer { name: "%s" type: "Power" bottom: "%s" top: "%s" power_param { scale: %g shift: %g } }\n' % (name, bottom, top, scale, shift)

    def caffe(self, *layers):
        self.write("m.prototxt", 'input: "x" input_shape { dim: 1 dim: 3 }\n' + "".join(layers))
        write_npy(self.path("x.npy"), [1, 3], [1, 2, 3])
        return ["m.prototxt", "--input", "x=x.npy"]

    def test_the_output_goes_before_a_layer_of_its_name(self):
        model = self.caffe(self.power("fc1", "x", "fc1", 2, 0), self.power("norm", "fc1", "fc1", 1, 0.5))
        self.assertEqual(self.run_model(*model)[1], [2.5, 4.5, 6.5])
        self.assertEqual(self.run_model(*model, "--output", "fc1")[1], [2.5, 4.5, 6.5])
        self.assertEqual(self.run_model(*model, "--output", "norm")[1], [2.5, 4.5, 6.5])

    def test_also_where_several_layers_have_it(self):
        model = self.caffe(self.power("sum", "x", "a", 2, 0), self.power("sum", "a", "sum", 1, 1))
        self.assertEqual(self.run_model(*model, "--output", "sum")[1], [3, 5, 7])


if __name__ == "__main__":
    main()
