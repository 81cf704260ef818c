#!/usr/bin/env python3
"""Wrong input for the extension generator: a clear error with exit status 1 (2 for files that cannot be written), and nothing
half-written.

  tests/cli/test_extgen_errors.py --build build [unittest arguments]
"""
import os
import subprocess
import unittest

from extgen_case import ExtgenCase
from harness import built, main

OP = ["n", "Twist", "", "", "n", "n"]  # answers for --mo-op

# Configuration files, and the message after "FILE:".
CONFIGS = [
    ('{"mo_op": {"op": "Twist"},\n "mo_op2": }', "2:12: invalid JSON: "),
    ('{"mo_op": {"op": "Twist"\n', "2:1: invalid JSON: "),
    ('', "1:1: invalid JSON: "),
    ('{"mo_op": {"op": "Tw\nist"}}', "1:21: invalid JSON: "),
    ('[1]', " expected an object, got an array"),
    ('{}', " nothing to generate"),
    ('[' * 100000, " expected at most 16 levels of nesting, got more"),
    ('{"mo_op": {"op": "Twist", "op": "Swirl"}}', " the key 'op' is a duplicate"),
    ('{"mo_opp": {"op": "Twist"}}', " unknown key 'mo_opp'\nhint: did you mean mo_op?"),
    ('{"mo_op": {"op": "Twist"}, "output_dir": 3}', " 'output_dir': expected a directory, got a number"),
    ('{"mo_op": 3}', " 'mo_op': expected an object, got a number"),
    ('{"mo_op": {}}', " 'mo_op.op' is missing"),
    ('{"mo_op": {"op": 3}}', " 'mo_op.op': expected a string, got a number"),
    ('{"mo_op": {"op": "Twist", "change_shap": true}}', " 'mo_op' has the unknown key 'change_shap'\nhint: did you mean change_shape?"),
    ('{"mo_op": {"op": "Twist", "change_shape": "no"}}', " 'mo_op.change_shape': expected true or false, got a string"),
    ('{"mo_op": {"op": "Twist", "supported_attrs": "a"}}', " 'mo_op.supported_attrs': expected an array, got a string"),
    ('{"mo_op": {"op": "Twist", "supported_attrs": [1]}}', " 'mo_op.supported_attrs': expected strings, got a number"),
    ('{"mo_op": {"op": "Twist", "supported_attrs": ["a", "a"]}}', " 'mo_op.supported_attrs': 'a' is a duplicate"),
    ('{"mo_op": {"op": "Twist", "supported_attrs": ["a"], "internal_attrs": ["a"]}}', " 'mo_op.internal_attrs': 'a' is also in supported_attrs"),
    ('{"mo_op": {"op": "../../etc/x"}}', " 'mo_op.op': expected an operation name of letters, digits and _, got '../../etc/x'"),
    ('{"mo_op": {"op": "T\'; import os; \'"}}', " 'mo_op.op': expected an operation name of letters, digits and _, got 'T'; import os; ''"),
    ('{"mo_op": {"op": ""}}', " 'mo_op.op': expected an operation name of letters, digits and _, got ''"),
    ('{"mo_op": {"op": "double"}}', " 'mo_op.op': expected an operation name that is no reserved word of C++, got 'double'"),
    ('{"mo_op": {"op": "%s"}}' % ("x" * 300), " 'mo_op.op': expected an operation name of letters, digits and _, got 'xxxxx"),
    ('{"mo_caffe_extractor": {"op": "Twist"}}', " 'mo_caffe_extractor.param_name' is missing"),
    ('{"mo_caffe_extractor": {"op": "Twist", "pythonic": true}}', " 'mo_caffe_extractor.module' is missing"),
    ('{"mo_caffe_extractor": {"op": "Twist", "param_name": "a b"}}', " 'mo_caffe_extractor.param_name': expected a name of letters, digits and _, got 'a b'"),
    ('{"mo_caffe_extractor": {"op": "Twist", "pythonic": true, "module": "a..b"}}', " 'mo_caffe_extractor.module': expected names of letters, digits and _, joined by dots, got 'a..b'"),
    ('{"mo_caffe_extractor": {"op": "Twist", "param_name": "p", "allCopy": true, "params": [{"old_name": "a"}]}}', " 'mo_caffe_extractor.params' has no effect: all parameters are copied"),
    ('{"mo_caffe_extractor": {"op": "Twist", "param_name": "p", "params": [{}]}}', " 'mo_caffe_extractor.params[0].old_name' is missing"),
    ('{"mo_caffe_extractor": {"op": "Twist", "param_name": "p", "params": [{"old_name": "a", "type": "i"}]}}', " 'mo_caffe_extractor.params[0]' has the unknown key 'type'"),
    ('{"mo_caffe_extractor": {"op": "Twist", "param_name": "p", "params": [{"old_name": "a", "default": {}}]}}', " 'mo_caffe_extractor.params[0].default': expected a number, string, boolean or array of them, got an object"),
    ('{"mo_mxnet_extractor": {"op": "Twist", "params": [{"old_name": "a"}, {"old_name": "b", "new_name": "a"}]}}', " 'mo_mxnet_extractor.params': 'a' is a duplicate"),
    ('{"mo_mxnet_extractor": {"op": "Twist", "flatten": true}}', " 'mo_mxnet_extractor' has the unknown key 'flatten'"),
    ('{"mo_tf_extractor": {"op": "Twist", "params": [{"old_name": "a", "type": "list.x"}]}}', " 'mo_tf_extractor.params[0].old_name': type of 'a': expected one of b, f, i,"),
    ('{"mo_tf_extractor": {"op": "Twist", "all_copy": true, "allCopy": true}}', " 'mo_tf_extractor.allCopy' is a duplicate of 'all_copy'"),
    ('{"mo_tf_extractor": {"op": "Twist", "op_class_name": "A"}}', " 'mo_tf_extractor.op_class_path' is missing"),
    ('{"mo_tf_extractor": {"op": "Twist", "op_class_path": "a"}}', " 'mo_tf_extractor.op_class_name' is missing"),
    ('{"mo_tf_extractor": {"op": "Twist", "layer": "T", "all_copy": true}, "mo_op": {"op": "Other"}}', " the TensorFlow extractor refers to the operation 'Twist', but 'mo_op.op' is 'Other'"),
    ('{"mo_onnx_extractor": {"op": "Twist", "params": [{"old_name": "a", "new_name": "1"}]}}', " 'mo_onnx_extractor.params[0].old_name': expected a name of letters, digits and _, got '1'"),
    ('{"mo_kaldi_extractor": {"op": "Twist", "allCopy": true}}', " 'mo_kaldi_extractor' has the unknown key 'allCopy'"),
    ('{"ie_op": {"op": "Twist"}}', " 'ie_op.plugin' is missing"),
    ('{"ie_op": {"op": "Twist", "plugin": "tpu"}}', " 'ie_op.plugin': expected cpu, cldnn or vpu, got 'tpu'"),
    ('{"ie_op": {"op": "Twist", "plugin": []}}', " 'ie_op.plugin': expected a plugin, got an empty array"),
    ('{"ie_op": {"op": "Twist", "plugin": ["gpu", "cldnn"]}}', " 'ie_op.plugin': \"cldnn\" is a duplicate"),
    ('{"ie_op": {"op": "Twist", "plugin": "cpu", "params": [{"name": "a", "type": "double"}]}}', " 'ie_op.params[0].name': type of 'a': expected one of int, float, bool, string, listfloat, listint, got 'double'"),
    ('{"ie_op": {"op": "Twist", "plugin": "vpu", "params": [{"name": "a", "type": "string"}]}}', " 'ie_op.params[0].name': type of 'a': expected one of int, float, got 'string'"),
    ('{"ie_op": {"op": "Twist", "plugin": "cpu", "params": [{"name": "a", "type": "int", "default": "x"}]}}', " 'ie_op.params[0].name': default of 'a': expected a value of type int, got '\"x\"'"),
    ('{"ie_op": {"op": "Twist", "plugin": "cpu", "params": [{"type": "int"}]}}', " 'ie_op.params[0].name' is missing"),
]

# Flags, answers from a pipe, and the message.
DIALOGUES = [
    ([], [], "nothing to generate: no part was selected"),
    (["--mo-op"], OP[:3], "the input ended before the last question was answered"),
    (["--mo-op"], [], "the input ended before the last question was answered"),
    (["--mo-op"], OP[:5], "the input ended before the last question was answered"),
    (["--mo-op"], ["n", "1Twist"], "answer 2: expected an operation name of letters, digits and _, got '1Twist'"),
    (["--mo-op"], ["n", ""], "answer 2: expected an operation name of letters, digits and _, got ''"),
    (["--mo-op"], ["n", "Twist", "a b-c"], "answer 3: expected a name of letters, digits and _, got 'b-c'"),
    (["--mo-op"], OP[:5] + ["y", "9"], "expected a number from 1 to 5, got '9'"),
    (["--mo-tf-ext", "--mo-op"], ["Twist", "n", "a b nothing"], "answer 3: type of 'b': expected one of b, f, i,"),
    (["--mo-tf-ext", "--mo-op"], ["Twist", "n", "a b i extra"], "answer 3: expected <old name> [new name] [type], got 'a b i extra'"),
    (["--mo-tf-ext", "--mo-op"], ["Twist", "n", "a", "a"], "answer 3: 'a' is a duplicate"),
    (["--mo-caffe-ext"], ["y", "my module"], "answer 2: expected names of letters, digits and _, joined by dots, got 'my module'"),
    (["--mo-caffe-ext"], ["n", "x" * 70000], "expected an answer of at most 65536 characters"),
    (["--mo-caffe-ext"], ["n", "Twist\x1b[2J"], "answer 2: expected a layer type of letters, digits and _ . > / : -, got 'Twist\\x1b[2J'"),
    (["--ie-cpu-ext"], ["Twist", "angle"], "answer 2: expected <parameter> <type>, got 'angle'"),
    (["--ie-vpu-ext"], ["Twist", "angle string"], "answer 2: type of 'angle': expected one of int, float, got 'string'"),
]


class WrongInput(ExtgenCase):
    def untouched(self, before):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(before))

    def test_configurations(self):
        for content, message in CONFIGS:
            with self.subTest(content=content[:100]):
                self.write("config.json", content)
                r = self.extgen("config.json")
                self.assertEqual(r.returncode, 1, r.all)
                self.assertIn("error: config.json:" + message, r.stderr)
                self.assertEqual(r.stdout, "")
                self.untouched(["config.json"])

    def test_dialogues(self):
        for flags, answers, message in DIALOGUES:
            with self.subTest(flags=flags, answers=[a[:40] for a in answers]):
                r = self.extgen("new", *flags, "-o", "out", answers=answers)
                self.assertEqual(r.returncode, 1, r.all)
                self.assertIn("error: " + message, r.stderr)
                self.untouched([])

    def test_end_of_input_at_every_question(self):
        answers = ["n", "Twist", "twist_param", "y", "y", "n", "y", "a b 1", "q", "n", "y", "", "", "n", "n", "y"]
        self.made("new", "--mo-caffe-ext", "--mo-op", "-o", "whole", answers=answers)
        for n in range(len(answers) - 1):
            r = self.extgen("new", "--mo-caffe-ext", "--mo-op", "-o", "out", answers=answers[:n])
            self.assertEqual(r.returncode, 1, r.all)
            self.assertIn("hint: nothing was written", r.stderr)
        self.untouched(["whole"])

    def test_words_of_the_command_line(self):
        for words, message in [((), "expected 'new', 'check' or a configuration file"), (("nothing.json",), "file not found: 'nothing.json'"),
                               ((".",), "expected a configuration file, got the directory '.'"), (("new", "--mo-op2"), "unknown option '--mo-op2'"),
                               (("check",), ""), (("check", "nothing.xml"), "file not found: 'nothing.xml'"), (("check", "."), "'.' has no .xml file")]:
            r = self.extgen(*words)
            self.assertEqual(r.returncode, 1, r.all)
            self.assertIn(message, r.stderr)
        self.assertIn("hint: did you mean --mo-op?", self.extgen("new", "--mo-op2").stderr)

    def test_check_of_a_folder_passes_over_other_xml(self):
        """An IR and a mapping file are no kernels; a broken kernel file is an error."""
        self.made("new", "--ie-gpu-ext", "-o", "out", answers=["Twist", "q", "n"])
        self.write("out/model.xml", '<?xml version="1.0"?>\n<!-- <CustomLayer> -->\n<net name="m" version="11"><layers/></net>')
        self.write("out/CustomLayersMapping.xml", "<CustomLayersMapping/>")
        r = self.extgen("check", "out")
        self.assertEqual((r.returncode, len(r.stdout.splitlines())), (0, 1), r.all)
        self.assertIn("Twist", r.stdout)
        self.write("out/broken.xml", "<CustomLayr/>")
        self.assertEqual(self.extgen("check", "out").returncode, 2)
        os.remove(self.path("out/broken.xml"))
        self.assertEqual(self.extgen("check", "out/model.xml").returncode, 2)

    def test_output_dir_is_a_file(self):
        self.write("taken", "")
        for folder in ("taken", "taken/below"):
            r = self.extgen("new", "--mo-op", "--output_dir", folder, answers=OP)
            self.assertEqual(r.returncode, 1, r.all)
            self.assertIn("error: expected a directory, got the file 'taken'", r.stderr)

    def test_something_in_the_way(self):
        self.config(mo_op={"op": "Twist"}, ie_op={"op": "Twist", "plugin": "cpu"})
        os.mkdir(self.path("out"))
        self.write("out/user_mo_extensions", "")
        r = self.extgen("config.json", "-o", "out")
        self.assertIn("error: expected a directory, got the file 'out/user_mo_extensions'", r.stderr)
        os.remove(self.path("out/user_mo_extensions"))
        os.makedirs(self.path("out/user_mo_extensions/ops/twist.py"))
        r = self.extgen("config.json", "-o", "out")
        self.assertIn("error: expected a file, got the directory 'out/user_mo_extensions/ops/twist.py'", r.stderr)
        self.assertEqual(self.files("out"), [])
        self.assertEqual(os.listdir(self.path("out")), ["user_mo_extensions"])

    @unittest.skipIf(os.geteuid() == 0 and not os.path.exists("/usr/bin/setpriv"), "root may write everywhere")
    def test_read_only_folder(self):
        self.config(mo_op={"op": "Twist"}, ie_op={"op": "Twist", "plugin": "cpu"})
        os.makedirs(self.path("whole"))
        os.makedirs(self.path("inside/user_ie_extensions/cpu"))
        os.chmod(self.folder, 0o755)
        for path in ("config.json", "whole", "inside", "inside/user_ie_extensions", "inside/user_ie_extensions/cpu"):
            os.chmod(self.path(path), 0o777)
        os.chmod(self.path("whole"), 0o555)
        os.chmod(self.path("inside/user_ie_extensions/cpu"), 0o555)
        words = [built("bin", "graft"), "extgen", "config.json", "-o"]
        if os.geteuid() == 0:
            words = ["setpriv", "--reuid", "65534", "--clear-groups"] + words
        for folder, left in (("whole", []), ("inside", ["user_ie_extensions"])):
            p = subprocess.run(words + [folder], cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(p.returncode, 2, p.stdout + p.stderr)
            self.assertRegex(p.stderr, "error: cannot write '%s.*': Permission denied\nhint: choose another --output_dir" % folder)
            self.assertEqual(os.listdir(self.path(folder)), left)
        os.chmod(self.path("whole"), 0o755)

    def test_replaced_files_come_back(self):
        # The last file cannot be written after others have been replaced.
        self.config(mo_op={"op": "Twist"}, ie_op={"op": "Twist", "plugin": ["cpu", "cldnn"]})
        self.made("config.json", "-o", "out")
        os.chmod(self.folder, 0o777)
        for folder, _, files in os.walk(self.path("out")):
            os.chmod(folder, 0o777)
            for f in files:
                with open(os.path.join(folder, f), "w") as g:
                    g.write("mine\n")
        os.chmod(self.path("out/user_ie_extensions/gpu"), 0o555)
        words = [built("bin", "graft"), "extgen", "config.json", "-o", "out", "--force"]
        if os.geteuid() == 0:
            if not os.path.exists("/usr/bin/setpriv"):
                self.skipTest("root may write everywhere")
            words = ["setpriv", "--reuid", "65534", "--clear-groups"] + words
        p = subprocess.run(words, cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(p.returncode, 2, p.stdout + p.stderr)
        for f in self.files("out"):
            self.assertEqual(self.read("out", f), "mine\n", f)
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["user_ie_extensions", "user_mo_extensions"])

    def test_useless_keys_are_reported(self):
        self.config(mo_caffe_extractor={"op": "Twist", "param_name": "p", "flatten": True, "module": "m"})
        self.assertEqual(self.made("config.json").stderr,
                         "warning: config.json: 'mo_caffe_extractor.module' has no effect: pythonic is false\n"
                         "warning: config.json: 'mo_caffe_extractor.flatten' has no effect: allCopy is false\n")


if __name__ == "__main__":
    main()
