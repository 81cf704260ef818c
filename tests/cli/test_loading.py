#!/usr/bin/env python3
"""Libraries of extensions: those that are not whole, what they find beside them, and kernels that crash."""
import os
import subprocess

from harness import ROOT, Case, built, graft, main


class Loading(Case):
    def plain_model(self):
        return self.write("plain.txt", "graph (x: f32[3]) { return Relu(x) }")

    def test_a_crash_on_another_thread_or_without_stack_says_so_too(self):
        if "sanitize" in built():
            self.skipTest("the sanitizers have handlers of their own")
        line = "error: the kernel 'reference' of slips.so crashed (%s) while running 'y' (%s)"
        for op, reason, where, status in (
                ("StackOverflow", "Segmentation fault", "", -11), ("OverflowInPieces", "Segmentation fault", "", -11),
                ("Exits", "exit was called", "", -6), ("OwnThreadThrows", "uncaught exception: no such table", ", on another thread", -6),
                ("OwnThreadCrashes", "Segmentation fault", ", on another thread", -11)):
            m = self.path("crash.txt")
            with open(m, "w") as f:
                f.write("graph (x: f32[3]) { y = %s@slips(x) return y }" % op)
            for device in ("CPU", "REFERENCE"):
                r = graft("run", m, "-d", device, "--extensions", built("extensions", "slips.so"))
                self.assertEqual(r.status, status, r.all)
                self.assertIn(line % (reason, op) + where + "\n", r.err)
                self.assertEqual(r.err.count("the kernel '"), 1, r.err)

    def test_an_operation_without_a_shape_function_is_no_bug_of_ours(self):
        m = self.path("silent.txt")
        with open(m, "w") as f:
            f.write("graph (x: f32[3]) { return Silent@lint(x) }")
        r = graft("run", m, "--extensions", built("extensions", "lint.so"))
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("error: the definition of Silent in lint has neither a shape function nor a decomposition\n", r.err)

    def test_check_names_the_kernel_that_writes_outside(self):
        m = self.path("outside.txt")
        for op, wanted, status in (("WriteOutside", "the kernel 'reference' of slips.so writes outside of its outputs", 2),
                                   ("WriteFarOutside", "the kernel 'reference' of slips.so crashed (Segmentation fault) while running 'y'", -11)):
            if status < 0 and "sanitize" in built():
                continue
            with open(m, "w") as f:
                f.write("graph (x: f32[16]) { y = %s@slips(x) return y }" % op)
            r = graft("run", m, "--check", "--extensions", built("extensions", "slips.so"))
            self.assertEqual(r.status, status, r.all)
            self.assertIn(wanted, r.err)
            self.assertNotIn("mean", r.out)  # the model itself was not run

    def test_a_library_that_is_not_whole_is_refused(self):
        with open(built("extensions", "slips.so"), "rb") as f:
            whole = f.read()
        m = self.plain_model()
        for name, content, message in (
                ("half.so", whole[:len(whole) // 2], "the shared library is truncated"),
                ("nearly.so", whole[:-1], "the shared library is truncated"),
                ("header.so", whole[:100], "the shared library is truncated"),
                ("start.so", whole[:10], "expected a shared library, got a file of another format"),
                ("empty.so", b"", "expected a shared library, got an empty file"),
                ("text.so", b"#!/bin/sh\nexit 0\n" * 9, "expected a shared library, got a file of another format"),
                ("other.dll", b"MZ\x90\0" * 32, "expected a shared library for Linux, got one for Windows"),
                ("other.dylib", b"\xcf\xfa\xed\xfe" * 32, "expected a shared library for Linux, got one for macOS"),
                ("object.so", whole[:16] + b"\x01" + whole[17:], "expected a shared library, got an object file"),
                ("machine.so", whole[:18] + b"\x08\x00" + whole[20:], "the shared library is for another machine")):
            with open(self.path(name), "wb") as f:
                f.write(content)
            r = graft("run", m, "--extensions", self.path(name))
            self.assertEqual(r.status, 2, name + ": " + r.all)
            self.assertIn(message, r.err)
            self.assertIn("while loading the extension", r.err)
        with open(self.path("data.c"), "w") as f:
            f.write("long graft_extension_entry[4] = {1, 2, 3, 4};\n")
        subprocess.run(["gcc", "-shared", "-fPIC", self.path("data.c"), "-o", self.path("data.so")], check=True)
        r = graft("run", m, "--extensions", self.path("data.so"))
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("expected 'graft_extension_entry' to be a function, got data", r.err)

    def test_a_library_finds_what_is_beside_it(self):
        with open(self.path("dep.c"), "w") as f:
            f.write("int beside(void) { return 7; }\n")
        with open(self.path("ext.cpp"), "w") as f:
            f.write("""#include <dlfcn.h>
#include <graft/extension.hpp>
extern "C" int beside(void);
GRAFT_EXTENSION("beside", "1") {
  Dl_info here{};
  dladdr(reinterpret_cast<void*>(&graft_extension_entry), &here);
  return graft::op("Seven", "acme").doc(beside() == 7 ? "seven" : "other")
      .inputs("x").infer([](graft::Infer& ctx, const graft::NoAttributes&) { ctx.output(0, ctx.input(0)); })
      .reference([](graft::Run& ctx, const graft::NoAttributes&) {
        Dl_info here{};
        dladdr(reinterpret_cast<void*>(&graft_extension_entry), &here);
        graft::fail("loaded as ", here.dli_fname);
      });
}
""")
        include = os.path.join(ROOT, "include")
        subprocess.run(["gcc", "-shared", "-fPIC", self.path("dep.c"), "-o", self.path("libbeside.so"), "-Wl,-soname,libbeside.so"], check=True)
        subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", "-I" + include, self.path("ext.cpp"), "-o", self.path("ext.so"),
                        "-L" + self.path(), "-lbeside", "-Wl,-rpath,$ORIGIN"], check=True)
        self.assertIn("seven", graft("ops", "Seven", "--extensions", self.path("ext.so")).out)
        m = self.path("seven.txt")
        with open(m, "w") as f:
            f.write("graph (x: f32[3]) { return Seven@acme(x) }")
        for environment in ({}, {"GRAFT_EXTENSIONS_IN_PLACE": "1"}):
            r = graft("run", m, "--extensions", self.path("ext.so"), env=environment)
            self.assertIn("loaded as " + os.path.realpath(self.path("ext.so")), r.err)


if __name__ == "__main__":
    main()
