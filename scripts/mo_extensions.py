#!/usr/bin/env python3
"""Published Model Optimizer extensions: the share that loads, and small models that they convert.

The files are those of openvino-dev 2021.4.2 from PyPI; the last real `mo` (openvino-dev 2023.3, which scripts/mo.sh installs)
converts the same models on the same command line. A stage of scripts/oracle.sh. Status 0 and a note when the package
registry does not answer.

    scripts/mo_extensions.py [--build build] [--wheel FILE] [--mo VENV] [--data DIR] [--guide DIR] [--only CASE ...]

Each of the 557 operation, extractor and front files that load, and each middle and back file, also runs on a model where one is
found or can be made (tests/oracle/mo_each_file.py): recorded models of `--data`, and models of one layer. `--each` runs that
alone, `--each PATTERN ...` some files.

`--guide DIR` also runs the four files of the guide of 2021 (docs/HOWTO/mo_extensions of OpenVINO 2021.3) on a network of that
kind, and compares with TensorFlow.
"""
import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEAST_SHARE, LEAST_CASES = 0.95, 25
LEAST_AGREEING = 0.80  # of the files that act on a model; those that are refused are mostly internal operations of later stages


def unpacked(args, python):
    """The folder `extensions` of the wheel; None if it cannot be downloaded."""
    place = os.path.join(args.build, "oracle", "mo2021")
    wheels = [args.wheel] if args.wheel else glob.glob(os.path.join(place, "openvino_dev-2021.4.2*.whl"))
    if not wheels:
        done = subprocess.run([python, "-m", "pip", "download", "-q", "--timeout", "20", "--retries", "1", "--no-deps",
                               "--python-version", "38", "-d", place, "--only-binary=:all:", "openvino-dev==2021.4.2"],
                              stderr=subprocess.DEVNULL)
        wheels = glob.glob(os.path.join(place, "openvino_dev-2021.4.2*.whl"))
        if done.returncode or not wheels:
            return None
    with zipfile.ZipFile(wheels[0]) as z:
        for name in z.namelist():
            if name.startswith("mo/extensions/"):
                z.extract(name, place)
    return os.path.join(place, "mo", "extensions")


def load_share(extensions):
    """Loads each file alone, with what it imports, and counts."""
    from graft.model_optimizer.errors import FolderError
    from graft.model_optimizer.folder import Folder

    counts, reasons = collections.Counter(), []
    for dotted, framework in Folder.listed(extensions):
        if dotted.startswith(("middle.", "back.")):
            continue
        kind = "operations" if dotted.startswith("ops.") else "extractors" if dotted.endswith("_ext") else "front"
        try:
            Folder.single(extensions, dotted, framework)
            counts[kind, True] += 1
        except FolderError as error:
            counts[kind, False] += 1
            reasons.append(str(error).split("\n")[0].replace(extensions + os.sep, ""))
    for kind in ("operations", "extractors", "front"):
        good, bad = counts[kind, True], counts[kind, False]
        print(f"{kind:12} {good} of {good + bad} files load")
    for reason in reasons:
        print(f"  {reason}")
    good, total = sum(n for (_, ok), n in counts.items() if ok), sum(counts.values())
    print(f"all: {good} of {total}, {100 * good / total:.1f} %")
    return good / total


def each_file(args, extensions):
    """Runs every file on a model; whether enough of those that act agree with the same model without them."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
    import mo_each_file

    counts = mo_each_file.run_all(extensions, args.data, os.path.join(args.build, "oracle", "mo_each"), args.each or ())
    mo_each_file.print_counts(counts)
    good = sum(c["agrees"] for c in counts.values())
    acting = good + sum(c["differs"] + c["is refused"] for c in counts.values())
    print(f"each file on a model: {good} of {acting} that act agree, {100 * good / max(acting, 1):.1f} %")
    if good < LEAST_AGREEING * acting and not args.each:
        print(f"FAILED: expected at least {100 * LEAST_AGREEING:.0f} %")
        return False
    return True


def copy_files(extensions, files, place):
    """The files as they are, and with the module paths of 2023 for the real mo."""
    for file in files:
        with open(os.path.join(extensions, file)) as f:
            text = f.read()
        moved = re.sub(r"^(\s*from|\s*import) (mo|extensions)\.", r"\1 openvino.tools.mo.", text, flags=re.M)
        for folder, content in (("extensions_2021", text), ("extensions_2023", moved)):
            path = os.path.join(place, folder, file)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as f:
                f.write(content)


def convert(args, arguments, extensions, output):
    """Runs graft convert; what is wrong, or an empty text."""
    done = subprocess.run([os.path.join(args.build, "bin", "graft"), "convert", *arguments, "--extensions",
                           ",".join(extensions), "--output_dir", output],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    by = re.search(r"(\d+) imported by extensions", done.stdout)
    return done.stdout.strip().split("\n")[0] if done.returncode else "" if by else "no layer by the extension"


def guide(args, python, folder):
    """The files of the guide of 2021, as they are: converted with them, run with a kernel from Python."""
    models = os.path.join(ROOT, "tests", "oracle", "mo_extension_models.py")
    os.makedirs(folder, exist_ok=True)
    subprocess.run([python, models, "guide", folder], check=True)
    model, kernel = os.path.join(folder, "model.pb"), os.path.join(folder, "kernel.py")
    problem = convert(args, ["--input_model", model, "-b", "1"], [args.guide], folder)
    if problem:
        print(f"the guide of 2021: {problem}")
        return False
    import graft
    import numpy as np

    core = graft.Core()
    core.add_extension(kernel)
    compiled = core.read_model(os.path.join(folder, "model.xml")).compile("CPU")
    found, expected = (np.load(os.path.join(folder, n)) for n in ("x.npy", "y.npy"))
    difference = float(np.abs(compiled([found])[0] - expected).max())
    print(f"the guide of 2021: largest difference to TensorFlow {difference:.2g}")
    return difference <= 1e-5


def conversions(args, python, extensions, folder):
    models = os.path.join(ROOT, "tests", "oracle", "mo_extension_models.py")
    os.makedirs(folder, exist_ok=True)
    subprocess.run([python, models, "make", folder, *args.only], check=True)
    with open(os.path.join(folder, "cases.json")) as f:
        cases = json.load(f)
    for name, case in cases.items():
        place = os.path.join(folder, name)
        copy_files(extensions, case["files"], place)
        case["said"] = convert(args, case["arguments"], [os.path.join(place, "extensions_2021")],
                               os.path.join(place, "ours"))
    subprocess.run([python, models, "compare", folder], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    with open(os.path.join(folder, "result.json")) as f:
        result = json.load(f)
    good, files = 0, set()
    for name, found in result.items():
        case = cases[name]
        if case["said"]:
            print(f"{name:18} {case['said']}")
        elif "problem" in found:
            print(f"{name:18} {found['problem']}")
        else:
            ok = found["difference"] <= 1e-4
            good += ok
            files |= set(case["files"]) if ok else set()
            how = "the same files" if found["with_files"] else "its own version of them"
            print(f"{name:18} {'agrees' if ok else 'DIFFERS'}, largest difference {found['difference']:.2g}; mo used {how}")
    print(f"{good} of {len(result)} models agree with mo, converted by {len(files)} files")
    return len(files), good == len(result)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--wheel", help="openvino_dev-2021.4.2*.whl")
    parser.add_argument("--mo", help="virtual environment with openvino-dev 2023.3")
    parser.add_argument("--data", default=os.environ.get("GRAFT_DATA", os.path.join(ROOT, "..", "shared", "data")),
                        help="folder with recorded models")
    parser.add_argument("--each", nargs="*", metavar="PATTERN", help="run single files on models, and nothing else")
    parser.add_argument("--load-only", action="store_true", help="do not convert models")
    parser.add_argument("--guide", metavar="DIR", help="folder with the files of the guide of 2021")
    parser.add_argument("--only", nargs="*", default=[], help="convert these models")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    sys.path.insert(0, os.path.join(args.build, "python"))
    python = os.path.join(args.mo or os.path.join(args.build, "oracle", "mo"), "bin", "python")
    extensions = unpacked(args, python)
    if extensions is None:
        print("extensions: skipped, the package registry does not answer")
        return 0
    if args.each is not None:
        return 0 if each_file(args, extensions) else 1
    share = load_share(extensions)
    enough = share >= LEAST_SHARE
    if not enough:
        print(f"FAILED: expected at least {100 * LEAST_SHARE:.0f} % of the files to load")
    if not args.load_only:
        enough = each_file(args, extensions) and enough
        count, all_good = conversions(args, python, extensions, os.path.join(args.build, "oracle", "mo_extensions"))
        if count < LEAST_CASES and not args.only:
            print(f"FAILED: expected at least {LEAST_CASES} files that convert models")
        enough = enough and all_good and (count >= LEAST_CASES or bool(args.only))
    if args.guide:
        enough = guide(args, python, os.path.join(args.build, "oracle", "mo_guide")) and enough
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
