#!/usr/bin/env python3
"""How many threads a model runs on: affinity masks, GRAFT_NUM_THREADS, options and hints.

  tests/cli/test_threads.py --build build [unittest arguments]
"""
import json
import os
import shutil
import subprocess
import time
import unittest

from harness import Case, Ended, built, graft, main, patience

MODEL = "graph (x: f32[512,1024]) { return Tanh(Elu(x) {alpha = 1}) }\n"
CLEAN = {"GRAFT_NUM_THREADS": None, "OMP_NUM_THREADS": None}


def pinned(processors, *arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if k not in CLEAN}
    environment.update(variables)
    return Ended(subprocess.run(["taskset", "-c", processors, built("bin", "graft"), *arguments], capture_output=True, text=True,
                                timeout=patience(300), env=environment))


def one_processor():
    return str(min(os.sched_getaffinity(0)))


@unittest.skipUnless(shutil.which("taskset"), "needs taskset")
class Threads(Case):
    def model(self):
        return self.write("model.graft", MODEL)

    def bench(self, processors, *arguments, **variables):
        r = pinned(processors, "bench", self.model(), "--niter", "4", "--json", *arguments, **variables)
        self.assertEqual(r.status, 0, r.all)
        return json.loads(r.out), r.err

    def cpu(self, processors, **variables):
        r = pinned(processors, "devices", "--json", **variables)
        self.assertEqual(r.status, 0, r.all)
        return next(d for d in json.loads(r.out) if d["name"] == "CPU")

    def started(self, processors):
        """The most threads of a process that measures the latency."""
        p = subprocess.Popen(["taskset", "-c", processors, built("bin", "graft"), "bench", self.model(), "--hint", "latency", "-t", "1.5"],
                             stdout=subprocess.DEVNULL, env={k: v for k, v in os.environ.items() if k not in CLEAN})
        most = 0
        while p.poll() is None:
            try:
                most = max(most, len(os.listdir("/proc/%d/task" % p.pid)))
            except OSError:
                break
            time.sleep(0.01)
        self.assertEqual(p.wait(), 0)
        return most

    def test_one_processor_is_one_thread(self):
        one = one_processor()
        cpu = self.cpu(one)
        self.assertEqual(cpu["threads"], 1)
        if os.cpu_count() > 1:
            self.assertIn("1 of %d processors are in the affinity mask" % os.cpu_count(), cpu["threads_reason"])
            self.assertIn("1 thread: 1 of", pinned(one, "devices").out)
        self.assertEqual(self.bench(one)[0]["threads"], 1)
        self.assertEqual(self.started(one), 1)

    @unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "needs two processors")
    def test_others_start_when_there_are_processors(self):
        self.assertGreater(self.started(",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))), 1)

    def test_the_option_goes_before_the_environment(self):
        one = one_processor()
        self.assertEqual(self.bench(one, GRAFT_NUM_THREADS="3")[0]["threads"], 3)
        self.assertEqual(self.bench(one, "--nthreads", "2", GRAFT_NUM_THREADS="3")[0]["threads"], 2)
        cpu = self.cpu(one, GRAFT_NUM_THREADS="3")
        self.assertEqual((cpu["threads"], cpu["threads_reason"]), (3, "GRAFT_NUM_THREADS"))

    def test_what_is_ignored_is_said(self):
        one = one_processor()
        for bad in ("many", "0", "-2", "1025", ""):
            text = "ignoring GRAFT_NUM_THREADS: expected a number from 1 to 1024, got '%s'" % bad
            self.assertIn(text, self.bench(one, GRAFT_NUM_THREADS=bad)[1])
            self.assertIn(text, pinned(one, "devices", GRAFT_NUM_THREADS=bad).err)
            self.assertIn(text, pinned(one, "run", self.model(), GRAFT_NUM_THREADS=bad).err)
        self.assertIn("OMP_NUM_THREADS=7 has no effect: set GRAFT_NUM_THREADS", self.bench(one, OMP_NUM_THREADS="7")[1])
        self.assertNotIn("OMP", self.bench(one, "--nthreads", "1", OMP_NUM_THREADS="7")[1])
        self.assertNotIn("OMP", self.bench(one, OMP_NUM_THREADS="1")[1])
        for bad in ("-1", "1025", "x"):
            r = graft("bench", self.model(), "--nthreads", bad)
            self.assertEqual(r.status, 1, r.all)

    def test_hints_divide_the_threads(self):
        one = one_processor()
        for arguments, expected in ((("--hint", "throughput"), (4, 4)), ((), (4, 4)), (("--hint", "latency"), (1, 4)),
                                    (("--hint", "none"), (1, 4)), (("--nstreams", "2"), (2, 4)),
                                    (("--hint", "throughput", "--nthreads", "3"), (3, 3))):
            report, _ = self.bench(one, *arguments, GRAFT_NUM_THREADS="4")
            self.assertEqual((report["streams"], report["threads"]), expected, arguments)
        self.assertEqual(graft("run", self.model(), "--hint", "throughput").status, 0)
        r = graft("run", self.model(), "--hint", "fast")
        self.assertEqual(r.status, 1, r.all)


if __name__ == "__main__":
    main()
