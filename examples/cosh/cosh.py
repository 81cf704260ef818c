"""Hyperbolic cosine of TensorFlow, whole."""
import numpy as np
import graft


@graft.op(opset="extension", tensorflow="Cosh")
def Cosh(x):
    """hyperbolic cosine"""
    return np.cosh(x)
