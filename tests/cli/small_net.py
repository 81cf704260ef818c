"""A small Caffe net with weights, and what the tests of `graft convert` ask of a conversion."""
import json
import re

from harness import Case, graft, read_npy, write_npy
from caffe_writer import caffemodel

# conv1 has two outputs: the sum of channels weighted 1, 2, 3, and the second channel less the first.
WEIGHTS = [1, 2, 3, -1, 1, 0]
NET = """
name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 1 dim: 2 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1" convolution_param { num_output: 2 kernel_size: 1 bias_term: false } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "mid" type: "Power" bottom: "conv1" top: "half" power_param { scale: 0.5 } }
layer { name: "sum" type: "Eltwise" bottom: "conv1" bottom: "half" top: "sum" }
"""
UNKNOWN = 'layer { name: "frob" type: "Frobnicate" bottom: "sum" top: "end" }\n'
X = [1, 2, 3, 4, 5, 6]  # channels (1, 2), (3, 4), (5, 6)


def conv1(x):
    """What conv1 makes of x, channel by channel."""
    c = [x[0:2], x[2:4], x[4:6]]
    return [sum(w * v[i] for w, v in zip(WEIGHTS[0:3], c)) for i in (0, 1)] + [sum(w * v[i] for w, v in zip(WEIGHTS[3:6], c)) for i in (0, 1)]


def relu(x):
    return [max(0, v) for v in x]


class ConvertCase(Case):
    def net(self, text=NET, name="net"):
        self.write(name + ".caffemodel", caffemodel({"conv1": ("Convolution", [([2, 3, 1, 1], WEIGHTS)])}))
        return [self.write(name + ".prototxt", text), self.path(name + ".caffemodel")]

    def convert(self, *arguments, out="out"):
        """The report of a conversion that must go well."""
        r = graft("convert", *arguments, "-o", self.path(out), "--json", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        report = json.loads(r.out)
        report["notes"] = r.err
        return report

    def refused(self, said, *arguments, status=1, hint=None):
        r = graft("convert", *arguments, "-o", self.path("out"), cwd=self.folder)
        self.assertIn(said, r.err, arguments)
        self.assertEqual(r.status, status, r.all)
        if hint:
            self.assertIn(hint, r.err)
        return r

    def run_ir(self, report, *values):
        """Values are (dims, numbers) in the order of the inputs; a list of numbers for each output."""
        given = []
        for i, (dims, numbers) in enumerate(values):
            write_npy(self.path("in%d.npy" % i), dims, numbers)
            given += ["--input", "=" + self.path("in%d.npy" % i)]
        r = graft("run", report["xml"], *given, "--output-dir", self.path("results"), "-d", "REFERENCE")
        self.assertEqual(r.status, 0, r.all)
        with open(self.path("results", "outputs.json")) as f:
            return [read_npy(self.path("results", o["file"])) for o in json.load(f)]

    def check(self, got, want, places=5):
        self.assertEqual(len(got), len(want))
        for g, w in zip(got, want):
            self.assertAlmostEqual(g, w, places=places)

    def names(self, report, what="inputs"):
        return [p["layer"] for p in report[what]]

    def xml(self, report):
        with open(report["xml"]) as f:
            return f.read()

    def types(self, report):
        return re.findall(r'<layer [^>]*type="(\w+)"', self.xml(report))
