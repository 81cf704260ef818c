"""The build backend of pyproject.toml: CMake builds the library and the module, and they are packed into a wheel.

The wheel is for the interpreter that runs this, and for systems with the libraries that libgraft.so links (pugixml, PNG,
JPEG, zlib): it is no "manylinux" wheel. GRAFT_BUILD_DIR names the build folder, build/wheel-cp311 by default; CMAKE_ARGS has more
arguments for CMake.
"""
import base64
import hashlib
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TAG = "cp%d%d" % sys.version_info[:2]


def _fact(file, pattern):
    with open(os.path.join(ROOT, file), encoding="utf-8") as f:
        return re.search(pattern, f.read(), re.M).group(1)


def _metadata():
    version = _fact("CMakeLists.txt", r"project\(graft VERSION ([0-9.]+)")
    lines = ["Metadata-Version: 2.1", "Name: graft", "Version: " + version,
             "Summary: " + _fact("pyproject.toml", r'^description = "(.*)"'),
             "Requires-Python: " + _fact("pyproject.toml", r'^requires-python = "(.*)"')]
    lines += ["Requires-Dist: " + d for d in re.findall(r'"(.*?)"', _fact("pyproject.toml", r"^dependencies = \[(.*)\]"))]
    return version, "\n".join(lines) + "\n"


def get_requires_for_build_wheel(config_settings=None):
    """Debian's pybind11 suffices for the versions of Python that it knows."""
    known = os.path.exists("/usr/include/pybind11/pybind11.h") and sys.version_info < (3, 12)
    return [] if known else ["pybind11>=2.12"]


def _build():
    folder = os.environ.get("GRAFT_BUILD_DIR") or os.path.join(ROOT, "build", "wheel-" + TAG)
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DGRAFT_TESTS=OFF",
                    "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG", "-DGRAFT_WHEEL=ON", "-DGRAFT_PYTHON=" + sys.executable,
                    *shlex.split(os.environ.get("CMAKE_ARGS", ""))], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "graft_python"], check=True)
    return folder


def _contents(folder):
    """Pairs of name in the wheel and file."""
    package = os.path.join(folder, "python", "graft")
    for place, folders, names in os.walk(package, followlinks=True):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".py", ".pyi", ".typed")) or (name.startswith("_native") and TAG[2:] in name):
                file = os.path.join(place, name)
                yield "graft/" + os.path.relpath(file, package).replace(os.sep, "/"), file
    yield "graft/libgraft.so.0", os.path.join(folder, "lib", "libgraft.so.0")


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    version, metadata = _metadata()
    name = "graft-%s.dist-info" % version
    os.makedirs(os.path.join(metadata_directory, name))
    with open(os.path.join(metadata_directory, name, "METADATA"), "w", encoding="utf-8") as f:
        f.write(metadata)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    version, metadata = _metadata()
    folder = _build()
    tag = "%s-%s-%s" % (TAG, TAG, re.sub("[-.]", "_", sysconfig.get_platform()))
    info = "graft-%s.dist-info" % version
    name = "graft-%s-%s.whl" % (version, tag)
    record = []
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(path, content):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append("%s,sha256=%s,%d" % (path, digest, len(content)))
            wheel.writestr(path, content)

        for path, file in _contents(folder):
            with open(file, "rb") as f:
                add(path, f.read())
        add(info + "/METADATA", metadata.encode())
        add(info + "/WHEEL", ("Wheel-Version: 1.0\nGenerator: graft\nRoot-Is-Purelib: false\nTag: %s\n" % tag).encode())
        record.append(info + "/RECORD,,")
        wheel.writestr(info + "/RECORD", "\n".join(record) + "\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    version, metadata = _metadata()
    base = "graft-" + version
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    with tarfile.open(os.path.join(sdist_directory, base + ".tar.gz"), "w:gz") as out:
        for name in filter(None, files):
            out.add(os.path.join(ROOT, name), base + "/" + name)
        facts = os.path.join(sdist_directory, "PKG-INFO")
        with open(facts, "w", encoding="utf-8") as f:
            f.write(metadata)
        out.add(facts, base + "/PKG-INFO")
        os.remove(facts)
    return base + ".tar.gz"
