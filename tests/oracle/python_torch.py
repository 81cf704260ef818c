"""Tensors of PyTorch in and out, by DLPack, without copies."""
import os
import tempfile

import torch

import graft

with tempfile.TemporaryDirectory() as folder:
    for name, dtype in (("f32", torch.float32), ("f64", torch.float64), ("f16", torch.float16), ("bf16", torch.bfloat16)):
        path = os.path.join(folder, "m.graft")
        with open(path, "w") as f:
            f.write("graph (x: %s[2,3]) { return Relu(x) }" % name)
        request = graft.read_model(path).compile().create_infer_request()
        x = torch.randn(2, 3).to(dtype)
        request.infer({"x": x})
        assert request.get_input_tensor(0).pointer == x.data_ptr(), name
        y = torch.from_dlpack(request.get_output_tensor(0))
        assert y.data_ptr() == request.get_output_tensor(0).pointer, name
        assert y.dtype == dtype and torch.equal(y, torch.relu(x)), name
        request.infer({"x": -x})
        assert torch.equal(y, torch.relu(x)), "a result changes when the request runs again"
print("PyTorch %s and graft %s share memory" % (torch.__version__, graft.__version__))
