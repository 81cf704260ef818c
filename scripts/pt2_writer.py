"""Writes small exported programs of PyTorch (.pt2), right and wrong ones, without torch."""
import io
import json
import struct
import zipfile

FLOAT, LONG = 7, 5


def meta(sizes, dtype=FLOAT, strides=None, offset=0):
    """What the file says of a tensor; a size may be the name of a symbol."""
    dense, step = [], 1
    for s in reversed(sizes):
        dense.insert(0, step)
        step *= s if isinstance(s, int) else 1
    size = lambda s: {"as_int": s} if isinstance(s, int) else {"as_expr": {"expr_str": "Symbol('%s', positive=True, integer=True)" % s, "hint": {"as_int": 3}}}
    return {"dtype": dtype, "sizes": [size(s) for s in sizes], "requires_grad": False, "device": {"type": "cpu", "index": None},
            "strides": [{"as_int": s} for s in (strides or dense)], "storage_offset": {"as_int": offset}, "layout": 7}


def tensor(name):
    return {"as_tensor": {"name": name}}


def node(target, arguments, outputs, line=None, module=None):
    """`arguments`: (name, value in the form of the file)."""
    metadata = {}
    if line:
        metadata["stack_trace"] = '  File "site-packages/torch/nn/modules/x.py", line 7, in forward\n  File "%s", line %d, in forward\n    y' % line
    if module:
        metadata["nn_module_stack"] = "L__self__,,net.Net;L__self__%s,%s,net.Block" % (module, module)
    return {"target": target, "inputs": [{"name": n, "arg": a, "kind": 1} for n, a in arguments],
            "outputs": [o if isinstance(o, dict) else tensor(o) for o in outputs], "metadata": metadata}


def program(nodes, inputs, outputs, values, stored=(), version=(8, 20), ranges=None):
    """`stored`: (kind, name of the value, name in the archive)."""
    graph = {"inputs": [tensor(v) for _, v, _ in stored] + [tensor(i) for i in inputs], "outputs": [tensor(o) for o in outputs],
             "nodes": nodes, "tensor_values": values, "sym_int_values": {}, "sym_bool_values": {}}
    specs = [{kind: {"arg": {"name": v}, kind + "_name": key}} for kind, v, key in stored]
    specs += [{"user_input": {"arg": tensor(i)}} for i in inputs]
    return {"graph_module": {"graph": graph, "signature": {"input_specs": specs, "output_specs": [{"user_output": {"arg": tensor(o)}} for o in outputs]},
                             "module_call_graph": []},
            "opset_version": {"aten": 10}, "range_constraints": ranges or {}, "schema_version": {"major": version[0], "minor": version[1]},
            "verifiers": ["TRAINING"], "torch_version": "2.15.0"}


def archive(document, weights=None, entries=None, compression=zipfile.ZIP_STORED):
    """A PT2 archive. `weights`: name -> (bytes, what the file says of the tensor)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as z:
        config = {}
        for i, (name, (data, said)) in enumerate((weights or {}).items()):
            z.writestr("m/data/weights/weight_%d" % i, data)
            config[name] = {"path_name": "weight_%d" % i, "is_param": True, "use_pickle": False, "tensor_meta": said}
        z.writestr("m/data/weights/model_weights_config.json", json.dumps({"config": config}))
        z.writestr("m/models/model.json", document if isinstance(document, str) else json.dumps(document))
        z.writestr("m/archive_format", "pt2")
        for name, data in (entries or {}).items():
            z.writestr(name, data)
    return out.getvalue()


def floats(*values):
    return struct.pack("<%df" % len(values), *values)


# ---- pickles, as torch.save writes them ----

def text(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def pickled_tensors(items, function=b"torch._utils\n_rebuild_tensor_v2\n"):
    """A torch.save archive of a dict: name -> (values, sizes, strides)."""
    code, blobs = b"\x80\x02}(", {}
    for key, (name, (values, sizes, strides)) in enumerate(items.items()):
        tuple_of = lambda v: b"(" + b"".join(b"K" + bytes([n]) for n in v) + b"t"
        code += text(name) + b"c" + function + b"((" + text("storage") + b"ctorch\nFloatStorage\n" + text(str(key)) + text("cpu")
        code += b"K" + bytes([len(values)]) + b"tQK\x00" + tuple_of(sizes) + tuple_of(strides) + b"\x89ccollections\nOrderedDict\n)RtR"
        blobs["archive/data/%d" % key] = floats(*values)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("archive/data.pkl", code + b"u.")
        for name, data in blobs.items():
            z.writestr(name, data)
    return out.getvalue()


def flat(document, state, constants=None):
    """The container of torch 2.6."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("serialized_exported_program.json", document if isinstance(document, str) else json.dumps(document))
        z.writestr("serialized_state_dict.pt", state)
        z.writestr("serialized_constants.pt", constants or pickled_tensors({}))
    return out.getvalue()
