"""Each published file of the Model Optimizer's folder `extensions` on a model: does it act there, and are the results those of
the same model without it? Part of scripts/mo_extensions.py; needs the package graft and NumPy alone.

Models are the recorded cases of a data folder (cases.json: files, operations), and models of one layer that are written here for
each type of layer a file names. A model counts if it runs without the file.
"""
import collections
import json
import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import onnx_writer as onnx  # noqa: E402

MOST_BYTES, MOST_MODELS = 2_000_000, 24
FRAMEWORKS = {"caffe": "caffe", "tf": "tensorflow", "mxnet": "mxnet", "kaldi": "kaldi", "onnx": "onnx"}
TYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "boolean": "?", **{f"{c}{8 * n}": f"{c}{n}" for c in "iu" for n in (1, 2, 4, 8)}}
OUTCOMES = ("agrees", "differs", "is refused", "does nothing", "has no model", "does not load")


class Model:
    """A model with inputs, and what it gives without extensions."""

    def __init__(self, files, framework, types, title, made=False, shapes=None):
        """`made`: without attributes that a file may need or have other defaults for, so that only its agreement says something."""
        self.files, self.framework, self.types, self.title, self.made = files, framework, set(types), title, made
        self._expected, self.shapes = None, shapes or {}

    def inputs(self, compiled):
        rng = np.random.default_rng(5)
        found = []
        for port in compiled.inputs:
            if port.shape is None or any(d is None for d in port.shape):
                raise ValueError("an input has an open shape")
            kind = np.dtype(TYPES[port.dtype])  # others cannot be used here
            if kind.kind == "f" and not port.shape:  # the probability to keep, of dropout: nothing is random
                found.append(np.ones((), kind))
                continue
            whole = rng.integers(0, 2, port.shape).astype(kind)
            found.append(rng.uniform(0.1, 0.9, port.shape).astype(kind) if kind.kind == "f" else whole)
        return found

    def run(self, core):
        try:
            model = core.read_model(self.files, shapes=self.shapes) if self.shapes else core.read_model(self.files)
        except Exception:
            if not self.shapes:
                raise
            model = core.read_model(self.files)
        compiled = model.compile("CPU")
        given = self.inputs(compiled)
        results = compiled(given)
        return model, given, [np.asarray(results[i]) for i in range(len(compiled.outputs))]

    def expected(self, graft):
        """The results, or None if the model cannot be used."""
        if self._expected is None:
            try:
                _, _, results = self.run(graft.Core())
                usable = all(r.dtype.kind in "fiub" for r in results)
                self._expected = results if usable else []
            except Exception:
                self._expected = []
        return self._expected or None


# ---- models ----


def input_shapes(folder, case):
    """The shapes of recorded inputs, for models that leave them open; none of those that are stored in other ways."""
    if case["framework"] not in ("mxnet", "tensorflow"):
        return {}
    found = {}
    for given in case["inputs"]:
        if not given["file"].endswith(".npy") or "rows" in given:
            return {}
        shape = list(np.load(os.path.join(folder, given["file"]), mmap_mode="r").shape)
        shape = [shape[i] for i in given["perm"]] if "perm" in given else shape
        found[given["name"]] = given.get("shape", shape)
    return found


def recorded(data):
    """Small recorded models, smallest first."""
    found = []
    for folder in sorted(os.listdir(data)) if data and os.path.isdir(data) else []:
        listed = os.path.join(data, folder, "cases.json")
        if not os.path.isfile(listed):
            continue
        with open(listed) as f:
            cases = json.load(f)
        for case in cases:
            files = [os.path.join(data, folder, f) for f in case["model"]]
            if case["framework"] not in FRAMEWORKS.values() or "random" in case.get("tags", ()):
                continue
            size = sum(os.path.getsize(f) for f in files if os.path.isfile(f))
            if size <= MOST_BYTES and all(os.path.isfile(f) for f in files):
                types = [o.split("::")[-1] for o in case.get("ops", [])]
                shapes = input_shapes(os.path.join(data, folder), case)
                found.append((size, Model(files, case["framework"], types, f"{folder}/{case['name']}", shapes=shapes)))
    return [m for _, m in sorted(found, key=lambda f: f[0])]


SHAPES = ((1, 4, 6, 8), (2, 6), (6,))


def one_layer(place, framework, type):
    """Models of one layer of a type, without attributes, of 1 to 3 inputs."""
    made = []
    for count in (1, 2, 3):
        for shape in SHAPES:
            path = os.path.join(place, f"{framework}_{re.sub('[^A-Za-z0-9_]', '_', type)}_{count}_{len(shape)}")
            files = WRITERS[framework](path, type, count, shape)
            made.append(Model(files, framework, [type], f"one {type} of {count} inputs {list(shape)}", True))
    return made


def _write(path, content):
    with open(path, "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())
    return [path]


def _onnx(path, type, count, shape):
    names = [f"x{i}" for i in range(count)]
    return _write(path + ".onnx", onnx.model("m", [onnx.node(type, names, ["y"], "t")], (), [onnx.value(n, list(shape)) for n in names],
                                             [onnx.value("y", [])], {"": 11}))


def _tensorflow(path, type, count, shape):
    dims = " ".join(f"dim {{ size: {d} }}" for d in shape)
    kind = 'attr { key: "%s" value { type: DT_FLOAT } } '
    text = "".join(f'node {{ name: "x{i}" op: "Placeholder" {kind % "dtype"} attr {{ key: "shape" value {{ shape {{ {dims} }} }} }} }}\n'
                   for i in range(count))
    given = "".join(f'input: "x{i}" ' for i in range(count))
    return _write(path + ".pbtxt", text + f'node {{ name: "t" op: "{type}" {given}{kind % "T"}}}\n')


def _caffe(path, type, count, shape):
    dims = " ".join(f"dim: {d}" for d in shape)
    text = 'name: "m"\n' + "".join(f'input: "x{i}" input_shape {{ {dims} }}\n' for i in range(count))
    bottoms = "".join(f'bottom: "x{i}" ' for i in range(count))
    return _write(path + ".prototxt", text + f'layer {{ name: "t" type: "{type}" {bottoms}top: "t" }}\n')


def _mxnet(path, type, count, shape):
    nodes = [{"op": "null", "name": f"x{i}", "attrs": {"__shape__": str(tuple(shape))}, "inputs": []} for i in range(count)]
    nodes.append({"op": type, "name": "t", "attrs": {}, "inputs": [[i, 0, 0] for i in range(count)]})
    return _write(path + "-symbol.json", json.dumps({"nodes": nodes, "heads": [[count, 0, 0]],
                                                     "attrs": {"mxnet_version": ["int", 10901]}}))


WRITERS = {"onnx": _onnx, "tensorflow": _tensorflow, "caffe": _caffe, "mxnet": _mxnet, "kaldi": lambda *a: []}


# ---- files ----


class Runner:
    def __init__(self, extensions, data, place):
        import graft
        from graft.model_optimizer import names
        from graft.model_optimizer.folder import Folder

        self.graft, self.names, self.extensions, self.place = graft, names, extensions, place
        os.makedirs(place, exist_ok=True)
        self.models = recorded(data)
        self.listed = Folder.listed(extensions)
        self._words = {}
        self._made = {}

    def made(self, framework, type):
        if framework not in WRITERS or framework == "kaldi":
            return []
        key = framework, type
        if key not in self._made:
            self._made[key] = one_layer(self.place, framework, type)
        return self._made[key]

    def users_of(self, dotted):
        """Extractors that import a module: (dotted path, framework)."""
        name, found = dotted.rpartition(".")[2], []
        for other, framework in self.listed:
            if framework and other.endswith("_ext"):
                with open(os.path.join(self.extensions, *other.split(".")) + ".py") as f:
                    if re.search(rf"ops\.{re.escape(name)} import", f.read()):
                        found.append((other, framework))
        return found

    def words(self, dotted):
        """Names in quotes, by which patterns find operations and extractors layers."""
        if dotted not in self._words:
            with open(os.path.join(self.extensions, *dotted.split(".")) + ".py") as f:
                self._words[dotted] = set(re.findall(r"""['"]([A-Za-z_][A-Za-z0-9_]*)['"]""", f.read()))
        return self._words[dotted]

    def named(self, dotted):
        """The words of a file and, for an extractor, of the operations that it imports."""
        if not dotted.endswith("_ext"):
            return self.words(dotted)
        with open(os.path.join(self.extensions, *dotted.split(".")) + ".py") as f:
            imported = re.findall(r"from (?:extensions|mo)\.(ops\.\w+) import ([\w, ]+)", f.read())
        files, classes = {d for d, _ in self.listed}, {c.strip() for _, names in imported for c in names.split(",")}
        return self.words(dotted).union(classes, *(self.words(i) for i, _ in imported if i in files))

    def companions(self, dotted, own_framework, framework):
        """The file with front files of a framework that name an operation of its own: the transformation for an internal operation of an
        extractor, the extractors of a transformation."""
        own = {w for w in self.named(dotted) if w[0].isupper() and len(w) > 2}
        more = [(d, f) for d, f in self.listed if d.startswith("front.") and d != dotted and f in (None, framework)
                and d.endswith("_ext") != dotted.endswith("_ext") and own & self.named(d)]
        return [(dotted, own_framework)] + more

    def candidates(self, folder, dotted, framework):
        """Models with layers that the file names, those with more of them first."""
        types = {(fw, t) for fw, front in folder.fronts.items() for t in [c.op for c in front.extractors.values()]}
        words = set() if types else self.words(dotted)
        wanted = [framework] if framework else list(FRAMEWORKS.values())
        scored = []
        for model in self.models:
            if model.framework not in wanted:
                continue
            own = {t for t in model.types if (model.framework, t) in types or
                   words & {t, self.names.op_name(model.framework, t)}}
            lower = {t.lower() for fw, t in types if fw == model.framework}
            own |= {t for t in model.types if t.lower() in lower}
            if own:
                scored.append((-len(own), model))
        scored.sort(key=lambda s: s[0])
        chosen = [m for _, m in scored[:MOST_MODELS]]
        for fw, type in sorted(types):
            chosen += self.made(fw, type)
        return chosen

    def definitions(self, folder):
        from graft import model_optimizer

        return model_optimizer.definitions(folder)

    def attempt(self, folder, model):
        """(outcome, detail) of a file on a model."""
        from graft.model_optimizer.graph_phase import GraphState

        expected = model.expected(self.graft)
        if expected is None:
            return "has no model", ""
        wrote, write = [], GraphState.write

        def counted(state):
            wrote.append(1)
            write(state)

        GraphState.write = counted
        try:
            core = self.graft.Core()
            for definition in self.definitions(folder):
                core.add_extension(definition)
            found, _, results = model.run(core)
            acted = wrote or any(c.added_by or c.by == folder.name for c in found.report().claims)
        except Exception as error:
            return ("has no model", "") if model.made else ("is refused", str(error).split("\n")[0][:200])
        finally:
            GraphState.write = write
        if not acted:
            return "does nothing", ""
        same = len(results) == len(expected) and all(
            r.shape == e.shape and np.allclose(r, e, rtol=1e-3, atol=1e-4, equal_nan=True) for r, e in zip(results, expected))
        if not same and model.made:
            return "has no model", ""
        return ("agrees" if same else "differs"), model.title

    def loaded(self, files):
        """A folder of these files, without those that do not load."""
        from graft.model_optimizer.errors import FolderError
        from graft.model_optimizer.folder import Folder

        for _ in files:
            try:
                return Folder.some(self.extensions, files)
            except FolderError as error:
                kept = [f for f in files if f[0].replace(".", os.sep) + ".py" not in str(error)]
                if len(kept) == len(files):
                    return None
                files = kept
        return None

    def run_file(self, dotted, framework):
        """The best outcome over the models of a file."""
        from graft.model_optimizer.errors import FolderError
        from graft.model_optimizer.folder import Folder

        places = [(dotted, framework)] if not dotted.startswith("ops.") else self.users_of(dotted)
        try:
            Folder.single(self.extensions, dotted, framework)
        except FolderError as error:
            return "does not load", str(error).split("\n")[0].replace(self.extensions + os.sep, "")
        best = "has no model", ""
        for place, of in places:
            try:
                folder = Folder.single(self.extensions, place, of)
            except FolderError:
                continue
            together = {}
            for model in self.candidates(folder, place, of):
                found = self.attempt(folder, model)
                if found[0] == "is refused" and place.startswith("front."):
                    fw = of or model.framework
                    if fw not in together:
                        together[fw] = self.loaded(self.companions(place, of, fw)) or folder
                    found = self.attempt(together[fw], model)
                if OUTCOMES.index(found[0]) < OUTCOMES.index(best[0]):
                    best = found
                if best[0] == "agrees":
                    return best
        return best


def kind_of(dotted):
    if dotted.startswith("ops."):
        return "operations"
    if dotted.startswith(("middle.", "back.")):
        return "middle and back"
    return "extractors" if dotted.endswith("_ext") else "front"


def run_all(extensions, data, place, only=(), verbose=False):
    """Counts by kind and outcome; prints those that are refused or differ."""
    from graft.model_optimizer.folder import Folder

    runner, counts = Runner(extensions, data, place), collections.defaultdict(collections.Counter)
    for dotted, framework in Folder.listed(extensions):
        if only and not any(re.search(o, dotted) for o in only):
            continue
        outcome, detail = runner.run_file(dotted, framework)
        counts[kind_of(dotted)][outcome] += 1
        if verbose or outcome in ("differs", "is refused", "does not load"):
            print(f"  {dotted}: {outcome}{': ' + detail if detail else ''}", flush=True)
    return counts


def print_counts(counts):
    """One line per kind; the share is of the files that a model was found for."""
    for kind, outcomes in counts.items():
        tried = outcomes["agrees"] + outcomes["differs"] + outcomes["is refused"]
        share = f", {100 * outcomes['agrees'] / tried:.0f} % of {tried} that act on a model" if tried else ""
        print(f"{kind:16} " + ", ".join(f"{outcomes[o]} {o}" for o in OUTCOMES if outcomes[o]) + share)


if __name__ == "__main__":
    print_counts(run_all(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:], bool(sys.argv[4:])))
