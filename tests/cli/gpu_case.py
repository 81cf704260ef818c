"""What the tests of the device GPU share."""
import json
import os
import struct
import sys

import harness
from harness import Case, graft


def product(dims):
    out = 1
    for d in dims:
        out *= d
    return out


def values(path):
    """The elements of a .npy file, whatever their type."""
    with open(path, "rb") as f:
        content = f.read()
    start = 10 + struct.unpack("<H", content[8:10])[0]
    code = {"<f4": "f", "<f2": "e", "<i4": "i", "<i8": "q", "|b1": "?"}[content[10:start].decode().split("'descr': '")[1].split("'")[0]]
    return list(struct.unpack("<%d%s" % ((len(content) - start) // struct.calcsize(code), code), content[start:]))


class Gpu(Case):
    def setUp(self):
        super().setUp()
        self.env = {"GRAFT_OPENCL_CACHE": self.path("cache")}

    def graft(self, *arguments):
        return graft(*arguments, cwd=self.folder, env=self.env)

    def results(self, device, *arguments):
        r = self.graft("run", "model.txt", "-d", device, "--output-dir", device, *arguments)
        self.assertEqual(r.status, 0, r.all)
        with open(self.path(device, "outputs.json")) as f:
            return [(o["shape"], values(self.path(device, o["file"]))) for o in json.load(f)]

    def compare(self, model, *arguments, tolerance=1e-5, extensions=("layers.xml",)):
        """The custom layer against the reference of the operation."""
        self.write("model.txt", model)
        expected = self.results("REFERENCE", *arguments)
        more = ["--extensions", ",".join(extensions)] if extensions else []
        got = self.results("GPU", *more, *arguments)
        self.close(got, expected, tolerance)

    def close(self, got, expected, tolerance):
        self.assertEqual([s for s, _ in got], [s for s, _ in expected])
        for (_, a), (_, b) in zip(got, expected):
            self.assertEqual(len(a), len(b))
            for p, q in zip(a, b):
                self.assertLessEqual(abs(p - q), tolerance * max(1, abs(q)), (p, q))

    def explained(self):
        return self.graft("explain", "model.txt", "-d", "GPU", "--extensions", "layers.xml").out


def main():
    """Skipped, with the exit code 77, where there is no OpenCL."""
    if "--build" in sys.argv:
        harness._build = os.path.abspath(sys.argv[sys.argv.index("--build") + 1])
    if "GPU " not in graft("devices").out or "GPU        not available" in graft("devices").out:
        print("skipped: there is no OpenCL here; apt-get install pocl-opencl-icd")
        sys.exit(77)
    harness.main()
