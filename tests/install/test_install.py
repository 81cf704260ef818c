#!/usr/bin/env python3
"""Installs a build and uses it from outside: by find_package, by pkg-config, and as a program.

    tests/install/test_install.py --build build
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
MODEL = "graph (x: f32[2]) { return y = Triple@consumer(x) }"


def run(*command, **more):
    r = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if r.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}\n{r.stdout}{r.stderr}")
    return r.stdout


class Installed(unittest.TestCase):
    build = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="install-", dir=cls.build))
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", cls.build, "--prefix", cls.prefix)
        # Moved: nothing may depend on where it was installed first.
        moved = cls.folder / "moved"
        cls.prefix.rename(moved)
        cls.prefix = moved
        cls.libraries = next(cls.prefix.rglob("libgraft.so")).parent

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def check_consumer(self, program, environment=None):
        model = self.folder / "m.graph"
        model.write_text(MODEL)
        out = run(program, model, self.folder / "m.xml", env={**os.environ, **(environment or {})}).splitlines()
        self.assertEqual(out[0], "3 -6 by Triple")
        self.assertEqual(out[1], "3 layers")
        self.assertIn("Triple", out[2])
        self.assertTrue((self.folder / "m.bin").exists())

    def test_find_package(self):
        build = self.folder / "by_cmake"
        run("cmake", "-S", HERE, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_BUILD_TYPE=Debug")
        run("cmake", "--build", build)
        self.check_consumer(build / "consumer")

    def test_python(self):
        interpreter = pathlib.Path(self.build, "python", "interpreter")
        if not interpreter.exists():
            self.skipTest("the package for Python is not built")
        package = next(self.prefix.rglob("graft-python"))
        code = "import graft; print(graft.__file__); print(graft.Core().available_devices)"
        out = run(interpreter.read_text().strip(), "-c", code, env={**os.environ, "PYTHONPATH": str(package)})
        self.assertIn(str(package), out)
        self.assertIn("CPU", out)
        operations = self.folder / "my_ops.py"
        operations.write_text("import graft\n@graft.op\ndef Twice(x):\n    return x + x\n")
        program = next(self.prefix.rglob("bin/graft"))
        self.assertIn("CPU:traced", run(program, "ops", "Twice", "-l", operations))

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_pkg_config(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "graft", env=environment).split()
        self.assertEqual(run("pkg-config", "--modversion", "graft", env=environment).strip(),
                         run(self.prefix / "bin/graft", "--version").split()[1])
        program = self.folder / "by_pkg_config"
        run(os.environ.get("CXX", "c++"), "-std=c++20", "-Wall", "-Wextra", "-Werror", HERE / "consumer.cpp", "-o", program, *flags)
        self.check_consumer(program)

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_several_extensions_in_one_program(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "graft", env=environment).split()
        folder = self.folder / "parts"
        folder.mkdir()
        for name, factor in (("one", 2), ("two", 3)):
            (folder / f"{name}.cpp").write_text(f"""#include <graft/extension.hpp>
                GRAFT_EXTENSION("{name}", "{factor}.0") {{
                  return graft::op("Times{factor}", "parts").elementwise(graft::scalar([](auto x) {{ return {factor} * x; }}));
                }}""")
        (folder / "own.cpp").write_text("""#include <graft/extension.hpp>
            GRAFT_EXTENSION_ENTRY(own_extension, "own", "1.0") {
              return graft::op("Less", "parts").elementwise(graft::scalar([](auto x) { return x - 1; }));
            }""")
        (folder / "main.cpp").write_text("""#include <cstdio>
            #include <graft/toolkit.hpp>
            const graft_extension* own_extension(const graft_host*);
            int main(int, char** argv) try {
              graft::Core core;
              core.add_extension(graft_extension_entry);
              core.add_extension(own_extension);
              graft::InferRequest request = core.compile_model(core.read_model(argv[1])).create_infer_request();
              float x = 5;
              request.set_input_tensor(0, graft::Tensor::wrap(graft::DType::f32, {1}, &x));
              request.infer();
              std::printf("%g\\n", request.get_output_tensor(0).data<float>()[0]);
              for (const graft::ExtensionInfo& e : core.extensions()) std::printf("%s %s\\n", e.name.c_str(), e.version.c_str());
            } catch (const graft::Error& e) {
              std::printf("%s\\n", e.message().c_str());
            }""")
        model = folder / "m.graph"
        model.write_text("graph (x: f32[1]) { return Less@parts(Times2@parts(Times3@parts(x))) }")
        sources = [folder / f"{n}.cpp" for n in ("main", "one", "two", "own")]
        run(os.environ.get("CXX", "c++"), "-std=c++20", "-Wall", "-Wextra", "-Werror", *sources, "-o", folder / "parts", *flags)
        out = run(folder / "parts", model).splitlines()
        self.assertEqual(out[0], "29")
        self.assertEqual(sorted(out[1:]), ["one+two 2.0+3.0", "own 1.0"])

    def test_what_the_guides_use(self):
        program = self.prefix / "bin/graft"
        headers = pathlib.Path(run(program, "--include-dir").strip())
        self.assertTrue(headers.is_relative_to(self.prefix))
        source = next(self.prefix.rglob("share/graft"))  # $GRAFT_SOURCE
        run(sys.executable, source / "examples/edges/make_model.py", self.folder / "edges.onnx", "16", "16")
        library = self.folder / "cosh.so"
        run(os.environ.get("CXX", "c++"), "-std=c++20", "-fPIC", "-shared", f"-I{headers}", source / "examples/extension-cosh/cosh.cpp", "-o", library)
        self.assertIn("CoshC", run(program, "explain", self.folder / "edges.onnx", "--extensions", library))

    def compile_errors(self, source, standard):
        path = self.folder / "slip.cpp"
        path.write_text(source)
        command = [os.environ.get("CXX", "c++"), f"-std={standard}", "-fsyntax-only", f"-I{self.prefix / 'include'}", str(path)]
        r = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
        return [line for line in r.stderr.splitlines() if ": error: " in line]

    def test_what_is_no_formula_gives_one_error(self):
        for formula, message in (("[](auto, auto, auto, auto, auto) { return 0; }", "a formula takes one to three elements"),
                                 ("[](std::string) { return 0; }", "a formula takes one to three elements"),
                                 ("[=](auto x) { return x * factor; }", "a formula is a lambda without captures")):
            errors = self.compile_errors(f"""#include <graft/extension.hpp>
                graft::Definitions define(float factor) {{ return graft::op("Bad", "acme").elementwise({formula}); }}""", "c++20")
            self.assertIn(message, errors[0], errors)

    def test_slips_of_an_author_give_one_error(self):
        for member in ("std::vector<int>", "std::vector<bool>", "std::pair<int, int>"):
            errors = self.compile_errors(f"""#include <graft/extension.hpp>
                struct Bad {{ {member} v{{}}; static constexpr std::tuple schema{{graft::attr("v", &Bad::v, "v")}}; }};
                GRAFT_EXTENSION("acme", "1.0") {{
                  return graft::op<Bad>("Bad", "acme").elementwise([](auto x, const Bad&) {{ return x; }});
                }}""", "c++20")
            self.assertEqual(len(errors), 1, errors)
            self.assertIn("a vector of int64_t, float, double", errors[0])
        errors = self.compile_errors("#include <graft/extension.hpp>\n", "c++17")
        self.assertEqual(len(errors), 1, errors)
        self.assertIn("compile with -std=c++20", errors[0])

    def test_program(self):
        program = self.prefix / "bin/graft"
        self.assertIn("CPU", run(program, "devices"))
        folder = pathlib.Path(run(program, "--cmake-dir").strip())
        self.assertTrue((folder / "GraftConfig.cmake").exists())
        self.assertTrue(folder.is_relative_to(self.prefix))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--build", type=pathlib.Path, required=True)
    args, rest = p.parse_known_args()
    Installed.build = args.build.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
