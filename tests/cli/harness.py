"""What the tests of the command line share: the program, small files, and a folder for each case."""
import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import onnx_writer as onnx  # noqa: E402
from patience import patience  # noqa: E402

_build = os.path.join(ROOT, "build")


def built(*names):
    """A path in the build folder."""
    return os.path.join(_build, *names)


class Ended:
    def __init__(self, process):
        self.status, self.out, self.err = process.returncode, process.stdout, process.stderr
        self.all = self.out + self.err


def graft(*arguments, cwd=None, env=None):
    return Ended(subprocess.run([built("bin", "graft"), *arguments], cwd=cwd, capture_output=True, text=True, timeout=patience(300),
                                env=dict(os.environ, **(env or {}))))


def save(path, nodes, inputs, outputs, tensors=(), opsets=None):
    """An ONNX model."""
    with open(path, "wb") as f:
        f.write(onnx.model("test", nodes, tensors, inputs, outputs, opsets or {"": 17, "acme": 1}))


def write_npy(path, dims, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % "".join("%d, " % d for d in dims)
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<%df" % len(values), *values))


def npy(path, values):
    write_npy(path, [len(values)], values)


def read_npy(path):
    with open(path, "rb") as f:
        content = f.read()
    start = 10 + struct.unpack("<H", content[8:10])[0]
    return list(struct.unpack("<%df" % ((len(content) - start) // 4), content[start:]))


def build_extension(source, folder, compiler):
    """Configures and builds a CMake project of an extension; the path of the library."""
    for command in (["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=" + compiler,
                     "-DGraft_DIR=" + built("cmake")], ["cmake", "--build", folder]):
        p = subprocess.run(command, capture_output=True, text=True)
        if p.returncode:
            raise AssertionError("%s\n%s%s" % (" ".join(command), p.stdout, p.stderr))
    found = [f for f in os.listdir(folder) if f.endswith(".so")]
    assert len(found) == 1, found
    return os.path.join(folder, found[0])


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="graft-cli-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, content):
        with open(self.path(name), "wb" if isinstance(content, bytes) else "w") as f:
            f.write(content)
        return self.path(name)

    def plain_model(self):
        path = self.path("plain.onnx")
        save(path, [onnx.node("Relu", ["x"], ["y"])], [onnx.value("x", [3])], [onnx.value("y", [3])])
        return path


def main():
    global _build
    p = argparse.ArgumentParser()
    p.add_argument("--build", default=_build)
    known, rest = p.parse_known_args()
    _build = os.path.abspath(known.build)
    unittest.main(module="__main__", argv=[sys.argv[0]] + rest, verbosity=1)
