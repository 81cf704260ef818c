import numpy as np
import graft

@graft.op(opset="acme", shape=lambda x, turns: x.shape)
def Swirl(x, turns: float = 1.0):
    return np.roll(x, int(turns * x.shape[-1]), axis=-1)
