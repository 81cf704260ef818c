#!/usr/bin/env python3
"""Every import rule for MXNet has a case: a case of tests/readers/mxnet*.test under the operator's own name, or under the name of
which it is an alias.

  tests/cli/test_mxnet_aliases.py --build build [unittest arguments]
"""
import glob
import json
import os
import re
import subprocess

from harness import Case, built, graft, main

READERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "readers")
# Forms that the reader gives to control flow, and their cases.
OF_THE_READER = {"Condition": "_cond", "If": "_cond", "Scan": "_foreach", "While": "_while_loop"}
# Operator with a case: its aliases.
ALIASES = """
_arange: _npi_arange arange
_contrib_AdaptiveAvgPooling2D: contrib_AdaptiveAvgPooling2D
_contrib_box_nms: _contrib_box_non_maximum_suppression
_contrib_DeformableConvolution: DeformableConvolution
_contrib_DeformablePSROIPooling: DeformablePSROIPooling
_contrib_fft: fft
_contrib_ifft: ifft
_contrib_ModulatedDeformableConvolution: ModulatedDeformableConvolution
_contrib_MultiBoxDetection: MultiBoxDetection
_contrib_MultiBoxPrior: MultiBoxPrior
_contrib_MultiBoxTarget: MultiBoxTarget
_contrib_Proposal: Proposal _contrib_MultiProposal
_div_scalar: _DivScalar _npi_true_divide_scalar
_equal: _Equal
_equal_scalar: _EqualScalar
_eye: _npi_eye
_full: _npi_full
_greater: _Greater
_greater_equal: _Greater_Equal
_greater_equal_scalar: _GreaterEqualScalar
_greater_scalar: _GreaterScalar
_hypot_scalar: _HypotScalar
_lesser: _Lesser
_lesser_equal: _Lesser_Equal
_lesser_equal_scalar: _LesserEqualScalar
_lesser_scalar: _LesserScalar
_linalg_gemm: linalg_gemm
_linalg_gemm2: linalg_gemm2
_linspace: _npi_linspace
_logical_and: _Logical_And
_logical_and_scalar: _LogicalAndScalar
_logical_or: _Logical_Or
_logical_or_scalar: _LogicalOrScalar
_logical_xor: _Logical_Xor
_logical_xor_scalar: _LogicalXorScalar
_maximum: _Maximum _npi_maximum
_maximum_scalar: _MaximumScalar _npi_maximum_scalar
_minimum: _Minimum _npi_minimum
_minimum_scalar: _MinimumScalar _npi_minimum_scalar
_minus_scalar: _MinusScalar _npi_subtract_scalar
_mod: _Mod _npi_mod
_mod_scalar: _ModScalar _npi_mod_scalar
_mul_scalar: _MulScalar _npi_multiply_scalar
_not_equal: _Not_Equal
_not_equal_scalar: _NotEqualScalar
_np_reshape: _npi_reshape
_npi_einsum: _np_einsum
_ones: _npi_ones ones
_plus_scalar: _PlusScalar _npi_add_scalar
_power: _Power _npi_power pow
_power_scalar: _PowerScalar _npi_power_scalar
_random_uniform: _npi_uniform random_uniform uniform
_rdiv_scalar: _RDivScalar _npi_rtrue_divide_scalar
_rminus_scalar: _RMinusScalar _npi_rsubtract_scalar
_rmod_scalar: _RModScalar _npi_rmod_scalar
_rpower_scalar: _RPowerScalar _npi_rpower_scalar
_zeros: _npi_zeros zeros
abs: _np_absolute _npi_absolute
add_n: _ElementWiseSum elemwise_sum
arccos: _npi_arccos
arccosh: _npi_arccosh
arcsin: _npi_arcsin
arcsinh: _npi_arcsinh
arctan: _npi_arctan
arctanh: _npi_arctanh
BatchNorm: BatchNorm_v1 CuDNNBatchNorm _contrib_SyncBatchNorm
BlockGrad: IdentityAttachKLSparseReg _CrossDeviceCopy _identity_with_attr_like_rhs identity stop_gradient
broadcast_axis: broadcast_axes
broadcast_to: _np_broadcast_to
Cast: amp_cast cast
cbrt: _npi_cbrt
ceil: _npi_ceil
clip: _npi_clip
Concat: _npi_concatenate concat rnn_param_concat
Convolution: Convolution_v1
cos: _npi_cos
cosh: _npi_cosh
degrees: _npi_degrees
elemwise_add: _add _grad_add _npi_add _plus broadcast_plus
elemwise_div: _Div _div _npi_true_divide
elemwise_mul: _Mul _mul _npi_multiply
elemwise_sub: _Minus _minus _npi_subtract _sub broadcast_minus
Embedding: _contrib_SparseEmbedding
exp: _npi_exp
expand_dims: _npi_expand_dims
expm1: _npi_expm1
fix: _npi_fix _npi_trunc
Flatten: _npx_batch_flatten flatten
floor: _npi_floor
log: _npi_log
log10: _npi_log10
log1p: _npi_log1p
log2: _npi_log2
log_softmax: _npx_log_softmax
MAERegressionOutput: LinearRegressionOutput make_loss
max: _np_max max_axis
mean: _npi_mean
min: _np_min min_axis
negative: _np_negative _npi_negative
Pad: pad
pick: choose_element_0index
Pooling: Pooling_v1
prod: _np_prod
radians: _npi_radians
reciprocal: _npi_reciprocal
relu: _npx_relu
repeat: _np_repeat
Reshape: reshape
reverse: flip
shape_array: shape_nd
sigmoid: _npx_sigmoid
sign: _npi_sign
sin: _npi_sin
sinh: _npi_sinh
slice: _npi_slice crop
SliceChannel: split
softmax: _npx_softmax
SoftmaxOutput: Softmax
sqrt: _npi_sqrt
square: _npi_square
squeeze: _np_squeeze
stack: _npi_stack
sum: _np_sum sum_axis
take: _np_take
tan: _npi_tan
tanh: _npi_tanh
tile: _npi_tile
transpose: _np_transpose
""".strip()


def aliases():
    return {alias: name for line in ALIASES.splitlines() for name, _, rest in [line.partition(": ")] for alias in rest.split()}


def cases():
    """Operator -> the text of its first case that computes something."""
    found = {}
    for path in sorted(glob.glob(os.path.join(READERS, "mxnet_*.test"))) + [os.path.join(READERS, "mxnet.test")]:
        with open(path) as f:
            parts = re.split(r"^== ", f.read(), flags=re.M)[1:]
        for text in parts:
            if "\n-> " not in text or "\nlike " in text:
                continue
            for name in re.findall(r'"op": ?"([^"]+)"', text):
                found.setdefault(name, text)
            for name in re.findall(r'"op": ?"Custom".*?"op_type": ?"([^"]+)"', text):
                found.setdefault("Custom::" + name, text)
    return found


class Rules(Case):
    def test_every_rule_has_a_case(self):
        r = graft("ops", "--framework", "mxnet", "--json")
        self.assertEqual(r.status, 0, r.all)
        rules = {(rule["domain"] + "::" if rule["domain"] == "Custom" else "") + rule["type"] for rule in json.loads(r.out)}
        self.assertGreater(len(rules), 400)
        covered = set(cases()) | set(aliases()) | set(OF_THE_READER)
        self.assertEqual(sorted(rules - covered), [], "without a case")
        self.assertEqual(sorted(set(aliases()) - rules), [], "aliases without a rule")

    def test_aliases(self):
        tried = cases()
        with open(self.path("aliases.test"), "w") as f:
            for alias, name in aliases().items():
                f.write("== %s, %s" % (alias, re.sub(r'"op": ?"%s"' % name, '"op": "%s"' % alias, tried[name])))
        p = subprocess.run([built("bin", "graft_tests"), self.path("aliases.test")], capture_output=True, text=True)
        self.assertEqual(p.stdout.strip(), "%d passed, 0 failed" % len(aliases()), p.stdout + p.stderr)


if __name__ == "__main__":
    main()
