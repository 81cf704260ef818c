#!/usr/bin/env python3
"""Published Model Optimizer extensions: the share that loads, and small models that they convert.

The files are those of openvino-dev 2021.4.2 from PyPI; the last real `mo` (openvino-dev 2023.3, Python 3.11) converts the
same models on the same command line. Both are downloaded below the build folder when they are not given.

    scripts/mo_extensions.py [--build build] [--wheel FILE] [--mo VENV]
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
LEAST_SHARE, LEAST_CASES = 0.80, 25


def unpacked(args):
    """The folder `extensions` of the wheel."""
    place = os.path.join(args.build, "mo2021")
    wheel = args.wheel
    if not wheel:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--python-version", "38", "-d",
                        place,
                        "--only-binary=:all:", "openvino-dev==2021.4.2"], check=True)
        wheel = glob.glob(os.path.join(place, "openvino_dev-2021.4.2*.whl"))[0]
    with zipfile.ZipFile(wheel) as z:
        for name in z.namelist():
            if name.startswith("mo/extensions/"):
                z.extract(name, place)
    return os.path.join(place, "mo", "extensions")


def environment(args):
    """The interpreter that has the real mo."""
    if args.mo:
        return os.path.join(args.mo, "bin", "python")
    place = os.path.join(args.build, "mo2023")
    python = os.path.join(place, "bin", "python")
    if not os.path.exists(python):
        subprocess.run(["python3.11", "-m", "venv", place], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "openvino-dev[onnx,tensorflow2]==2023.3.0",
                        "numpy<1.26"],
                       check=True)
    return python


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


def conversions(args, extensions, folder):
    python = environment(args)
    models = os.path.join(ROOT, "tests", "oracle", "mo_extension_models.py")
    os.makedirs(folder, exist_ok=True)
    subprocess.run([python, models, "make", folder], check=True)
    with open(os.path.join(folder, "cases.json")) as f:
        cases = json.load(f)
    for name, case in cases.items():
        place = os.path.join(folder, name)
        copy_files(extensions, case["files"], place)
        done = subprocess.run([os.path.join(args.build, "bin", "graft"), "convert", *case["arguments"], "--extensions",
                               os.path.join(place, "extensions_2021"), "--output_dir", os.path.join(place, "ours")],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        by = re.search(r"(\d+) imported by extensions", done.stdout)
        case["said"] = done.stdout.strip().split("\n")[0] if done.returncode else "" if by else "no layer by the extension"
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
    parser.add_argument("--load-only", action="store_true", help="do not convert models")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    sys.path.insert(0, os.path.join(args.build, "python"))
    extensions = unpacked(args)
    enough = load_share(extensions) >= LEAST_SHARE
    if not args.load_only:
        count, all_good = conversions(args, extensions, os.path.join(args.build, "mo_extensions"))
        enough = enough and count >= LEAST_CASES and all_good
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
