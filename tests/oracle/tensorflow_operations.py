"""Single operations and small graphs of TensorFlow, and what TensorFlow computes for them.

  tensorflow_operations.py OUT [NAME...]    OUT/NAME gets the model, inputs.npz, expected.npz, network.json

A case is a function of named inputs and is written as a frozen graph. Those of FLOW are written with the loops and
branches of TensorFlow 2 and of TensorFlow 1, and as a SavedModel; those of LOOKUPS, which need tables, as a SavedModel.
"""
import os
import shutil
import sys

import numpy as np

import tensorflow_models as models  # quietens TensorFlow before it is loaded
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

raw = tf.raw_ops
rng = np.random.default_rng(7)


def f32(*shape, low=-1.0, high=1.0):
    return rng.uniform(low, high, shape).astype(np.float32)


def f64(*shape):
    return rng.uniform(-1, 1, shape)


def i32(*shape, low=0, high=10):
    return rng.integers(low, high, shape).astype(np.int32)


def i64(*shape, low=0, high=10):
    return rng.integers(low, high, shape).astype(np.int64)


def positive(n, *batch):
    """Symmetric positive definite matrices."""
    a = rng.standard_normal((*batch, n, n))
    return (a @ np.swapaxes(a, -1, -2) + n * np.eye(n)).astype(np.float32)


IMAGE = lambda *shape: f32(*(shape or (2, 5, 7, 3)), low=0.0, high=1.0)
CASES = {}


def case(name, function, open_shapes=(), **inputs):
    """`open_shapes`: inputs whose dimensions the model does not know."""
    assert name not in CASES, name
    CASES[name] = (function, inputs, open_shapes)


# ---- colors ----

for factor in (0.0, 0.7, 2.5):
    case("adjust_contrast_%g" % factor, lambda x, f=factor: tf.image.adjust_contrast(x, f), x=IMAGE())
    case("adjust_saturation_%g" % factor, lambda x, f=factor: tf.image.adjust_saturation(x, f), x=IMAGE())
for delta in (-0.9, -0.2, 0.0, 0.3, 1.0):
    case("adjust_hue_%g" % delta, lambda x, d=delta: tf.image.adjust_hue(x, d), x=IMAGE())
case("adjust_contrast_rank3", lambda x: tf.image.adjust_contrast(x, 1.5), x=IMAGE(4, 6, 1))
case("adjust_contrast_computed", lambda x, f: tf.image.adjust_contrast(x, f), x=IMAGE(), f=np.float32(1.7))
case("adjust_hue_computed", lambda x, d: raw.AdjustHue(images=x, delta=d), x=IMAGE(), d=np.float32(-0.35))
case("adjust_contrast_uint8", lambda x: tf.image.adjust_contrast(x, 1.5), x=rng.integers(0, 256, (1, 4, 5, 3)).astype(np.uint8))
GREYS = np.array([[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1], [0.2, 0.2, 0.7]], np.float32)
case("rgb_to_hsv", lambda x: tf.image.rgb_to_hsv(x), x=IMAGE())
case("rgb_to_hsv_greys", lambda x: tf.image.rgb_to_hsv(x), x=GREYS)
case("rgb_to_hsv_open", lambda x: tf.image.rgb_to_hsv(x), open_shapes=["x"], x=IMAGE())
case("hsv_to_rgb", lambda x: tf.image.hsv_to_rgb(x), x=IMAGE())
case("hsv_to_rgb_greys", lambda x: tf.image.hsv_to_rgb(x), x=GREYS)
case("adjust_saturation_greys", lambda x: tf.image.adjust_saturation(x, 1.8), x=GREYS.reshape(1, 2, 5, 3))
case("adjust_hue_greys", lambda x: tf.image.adjust_hue(x, 0.4), x=GREYS.reshape(1, 2, 5, 3))
case("angle", lambda a, b: tf.math.angle(tf.complex(a, b)), a=np.array([1, -1, 1, -1, 0, 0, 1, -1, 0, 0.3], np.float32), b=np.array([1, 1, -1, -1, 1, -1, 0, 0, 0, -0.0], np.float32))
case("angle_f64", lambda a, b: tf.math.angle(tf.complex(a, b)), a=f64(3, 4), b=f64(3, 4))
case("atan2", lambda a, b: tf.math.atan2(a, b), a=f32(3, 4), b=f32(4))

# ---- resizing ----

for half in (False, True):
    for size in ((9, 4), (3, 11), (5, 7)):
        case("resize_bicubic_%d_%dx%d" % (half, *size), lambda x, s=size, h=half: raw.ResizeBicubic(images=x, size=s, half_pixel_centers=h), x=f32(2, 5, 7, 3))
case("resize_bicubic_aligned", lambda x: raw.ResizeBicubic(images=x, size=(9, 4), align_corners=True), x=f32(2, 5, 7, 3))
case("resize_bicubic_to_one", lambda x: raw.ResizeBicubic(images=x, size=(1, 1), align_corners=True), x=f32(1, 5, 7, 2))
case("resize_bicubic_uint8", lambda x: raw.ResizeBicubic(images=x, size=(6, 9), half_pixel_centers=True), x=rng.integers(0, 256, (1, 4, 5, 3)).astype(np.uint8))
case("resize_bicubic_open", lambda x: raw.ResizeBicubic(images=x, size=(9, 4), half_pixel_centers=True), open_shapes=["x"], x=f32(2, 5, 7, 3))
for size in ((9, 4), (3, 11), (5, 7), (2, 3)):
    case("resize_area_%dx%d" % size, lambda x, s=size: raw.ResizeArea(images=x, size=s), x=f32(2, 5, 7, 3))
case("resize_area_aligned", lambda x: raw.ResizeArea(images=x, size=(9, 4), align_corners=True), x=f32(2, 5, 7, 3))
for method in ("bilinear", "lanczos3", "lanczos5", "bicubic", "gaussian", "mitchellcubic", "nearest", "area"):
    for size in ((9, 4), (3, 12)):
        case("image_resize_%s_%dx%d" % (method, *size), lambda x, s=size, m=method: tf.image.resize(x, s, m, antialias=True), x=f32(2, 5, 7, 3))
for kernel in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"):
    for antialias in (False, True):
        case("scale_and_translate_%s_%d" % (kernel, antialias),
             lambda x, k=kernel, a=antialias: raw.ScaleAndTranslate(images=x, size=(6, 8), scale=[0.7, 1.6], translation=[1.5, -2.0], kernel_type=k, antialias=a), x=f32(2, 5, 7, 3))
case("scale_and_translate_computed", lambda x, s, t: raw.ScaleAndTranslate(images=x, size=(6, 8), scale=s, translation=t, kernel_type="lanczos3", antialias=True),
     x=f32(1, 5, 7, 2), s=np.array([0.5, 2.0], np.float32), t=np.array([0.0, 0.25], np.float32))

# ---- segments, counts, sparse ----

IDS = np.array([2, 0, 2, -1, 4, 0], np.int32)
for kind in ("max", "min", "sum", "prod", "mean", "sqrt_n"):
    function = getattr(tf.math, "unsorted_segment_" + kind)
    case("unsorted_segment_" + kind, lambda x, f=function: f(x, IDS, 6), x=f32(6, 3))
    if kind not in ("mean", "sqrt_n"):
        case("unsorted_segment_%s_i32" % kind, lambda x, f=function: f(x, IDS, 5), x=i32(6, 2, low=-5))
        case("unsorted_segment_%s_matrix" % kind, lambda x, ids, f=function: f(x, ids, 7), x=f32(2, 3, 4), ids=np.array([[1, 0, 5], [1, -1, 5]], np.int32))
for kind in ("max", "min", "sum", "prod", "mean"):
    function = getattr(tf.math, "segment_" + kind)
    case("segment_" + kind, lambda x, f=function: f(x, np.array([0, 0, 1, 3, 3, 3])), x=f32(6, 3))
    case("segment_%s_computed" % kind, lambda x, ids, f=function: f(x, ids), x=f32(5, 2), ids=np.array([1, 1, 2, 2, 5], np.int32))
SPARSE = np.array([[0, 1], [2, 0], [2, 3], [3, 3], [2, 0]], np.int64)
for adjoint_a in (False, True):
    for adjoint_b in (False, True):
        case("sparse_dense_matmul_%d%d" % (adjoint_a, adjoint_b), lambda v, b, p=adjoint_a, q=adjoint_b: raw.SparseTensorDenseMatMul(a_indices=SPARSE, a_values=v, a_shape=[4, 4], b=b, adjoint_a=p, adjoint_b=q),
             v=f32(5), b=f32(4, 4))
case("sparse_dense_matmul_wide", lambda v, b: raw.SparseTensorDenseMatMul(a_indices=SPARSE, a_values=v, a_shape=[6, 5], b=b), v=f32(5), b=f32(5, 3))
for binary in (False, True):
    case("dense_bincount_%d" % binary, lambda x, b=binary: raw.DenseBincount(input=x, size=6, weights=np.zeros(0, np.float32), binary_output=b), x=i32(9, high=9))
    case("dense_bincount_rows_%d" % binary, lambda x, b=binary: raw.DenseBincount(input=x, size=6, weights=np.zeros(0, np.int32), binary_output=b), x=i32(3, 5, high=9))
case("dense_bincount_weights", lambda x, w: raw.DenseBincount(input=x, size=6, weights=w), x=i64(9, high=9), w=f32(9))
case("dense_bincount_rows_weights", lambda x, w: raw.DenseBincount(input=x, size=np.int64(6), weights=w), x=i64(3, 5, high=9), w=f32(3, 5))
case("bincount", lambda x: raw.Bincount(arr=x, size=7, weights=np.zeros(0, np.float32)), x=i32(12, high=9))
case("bincount_weights", lambda x, w: raw.Bincount(arr=x, size=7, weights=w), x=i32(2, 6, high=9), w=f32(2, 6))
case("bincount_max", lambda x: tf.math.bincount(x, minlength=3, maxlength=6), x=i32(12, high=9))
case("bincount_rows", lambda x: tf.math.bincount(x, axis=-1), x=i32(3, 4, high=6))

# ---- running products, diagonals, matrices ----

for exclusive in (False, True):
    for reverse in (False, True):
        case("cumprod_%d%d" % (exclusive, reverse), lambda x, e=exclusive, r=reverse: tf.math.cumprod(x, 1, e, r), x=f32(3, 5, 2, low=0.5, high=1.5))
case("cumprod_i32", lambda x: tf.math.cumprod(x, -1), x=i32(3, 4, low=-4, high=5))
case("cumulative_logsumexp", lambda x: tf.math.cumulative_logsumexp(x, 1), x=f32(2, 5))
case("eye", lambda x: x + tf.eye(4), x=f32(4, 4))
case("eye_batch", lambda x: x + tf.eye(3, 5, batch_shape=[2]), x=f32(2, 3, 5))
case("eye_like", lambda x: tf.eye(tf.shape(x)[0], tf.shape(x)[1]), open_shapes=["x"], x=f32(4, 3))
ALIGN = ("LEFT_LEFT", "RIGHT_LEFT", "LEFT_RIGHT", "RIGHT_RIGHT")
case("diag", lambda x: tf.linalg.diag(x), x=f32(2, 4))
case("diag_above", lambda x: tf.linalg.diag(x, k=2, padding_value=9.0), x=f32(2, 4))
case("diag_below", lambda x: tf.linalg.diag(x, k=-1, num_rows=6, num_cols=4, padding_value=-1.0), x=f32(4))
case("diag_i64", lambda x: tf.linalg.diag(x, k=1), x=i64(3))
case("diag_part", lambda x: tf.linalg.diag_part(x), x=f32(2, 4, 5))
case("diag_part_open", lambda x: tf.linalg.diag_part(x), open_shapes=["x"], x=f32(2, 5, 4))
case("diag_part_below", lambda x: tf.linalg.diag_part(x, k=-2), x=f32(5, 4))
case("set_diag", lambda x, d: tf.linalg.set_diag(x, d), x=f32(2, 4, 5), d=f32(2, 4))
case("set_diag_above", lambda x, d: tf.linalg.set_diag(x, d, k=1), x=f32(4, 4), d=f32(3))
for align in ALIGN:
    case("diag_band_" + align.lower(), lambda x, a=align: tf.linalg.diag(x, k=(-1, 2), align=a, padding_value=0.5), x=f32(2, 4, 4))
    case("diag_band_wide_" + align.lower(), lambda x, a=align: tf.linalg.diag(x, k=(-2, 1), num_rows=5, num_cols=4, align=a), x=f32(2, 4, 4))
    case("diag_part_band_" + align.lower(), lambda x, a=align: tf.linalg.diag_part(x, k=(-2, 1), align=a, padding_value=7.0), x=f32(2, 4, 5))
    case("diag_part_tall_" + align.lower(), lambda x, a=align: tf.linalg.diag_part(x, k=(-3, -1), align=a), x=f32(5, 3))
    case("set_diag_band_" + align.lower(), lambda x, d, a=align: tf.linalg.set_diag(x, d, k=(-1, 1), align=a), x=f32(2, 3, 4), d=f32(2, 3, 3))
case("diag_old", lambda x: raw.MatrixDiag(diagonal=x), x=f32(2, 3))
case("diag_part_old", lambda x: raw.MatrixDiagPart(input=x), x=f32(2, 3, 4))
case("set_diag_old", lambda x, d: raw.MatrixSetDiag(input=x, diagonal=d), x=f32(2, 3, 4), d=f32(2, 3))
case("diag_v2", lambda x: raw.MatrixDiagV2(diagonal=x, k=[-1, 1], num_rows=4, num_cols=4, padding_value=0.0), x=f32(3, 4))
case("diag_part_v2", lambda x: raw.MatrixDiagPartV2(input=x, k=[-1, 1], padding_value=3.0), x=f32(2, 4, 3))
case("set_diag_v2", lambda x, d: raw.MatrixSetDiagV2(input=x, diagonal=d, k=[-1, 0]), x=f32(4, 3), d=f32(2, 3))
case("tensor_diag", lambda x: tf.linalg.tensor_diag(x), x=f32(2, 3))
case("tensor_diag_part", lambda x: tf.linalg.tensor_diag_part(x), x=f32(2, 3, 2, 3))
case("trace", lambda x: tf.linalg.trace(x), x=f32(2, 4, 4))
case("band_part", lambda x: tf.linalg.band_part(x, 1, -1), x=f32(2, 4, 5))
for n in (1, 2, 5):
    case("cholesky_%d" % n, lambda x: tf.linalg.cholesky(x), x=positive(n))
case("cholesky_batch", lambda x: tf.linalg.cholesky(x), x=positive(3, 2, 2))
case("cholesky_f64", lambda x: tf.linalg.cholesky(x), x=positive(4).astype(np.float64))

# ---- morphology, special functions, searching ----

for padding in ("SAME", "VALID"):
    for stride, rate in ((1, 1), (2, 1), (1, 2), (2, 2)):
        case("dilation_%s_%d%d" % (padding.lower(), stride, rate), lambda x, f, p=padding, s=stride, r=rate: tf.nn.dilation2d(x, f, [1, s, s, 1], p, "NHWC", [1, r, r, 1]), x=f32(2, 7, 8, 3), f=f32(3, 2, 3))
case("erosion", lambda x, f: tf.nn.erosion2d(x, f, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]), x=f32(1, 6, 5, 2), f=f32(3, 3, 2))
case("dilation_i32", lambda x, f: tf.nn.dilation2d(x, f, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]), x=i32(1, 4, 5, 2, low=-9), f=i32(2, 2, 2))
case("bessel", lambda x: (tf.math.bessel_i0(x), tf.math.bessel_i1(x), tf.math.bessel_i0e(x), tf.math.bessel_i1e(x)), x=np.array([-7.0, -0.5, 0.0, 0.2, 3.0, 40.0], np.float32))
case("bessel_large", lambda x: (tf.math.bessel_i0e(x), tf.math.bessel_i1e(x)), x=np.array([-500.0, 650.0, 1e6], np.float32))
case("lgamma", lambda x: tf.math.lgamma(x), x=np.array([-2.5, -1.0, -0.3, 0.0, 0.2, 1.0, 1.5, 2.0, 7.25, 40.0, 1e6], np.float32))
case("digamma", lambda x: tf.math.digamma(x), x=np.array([-2.5, -0.3, 0.2, 1.0, 1.5, 2.0, 7.25, 40.0, 1e6], np.float32))
case("erfinv", lambda x: tf.math.erfinv(x), x=np.array([-1.0, -0.99, -0.5, 0.0, 0.1, 0.7, 0.9999, 1.0, 1.5], np.float32))
case("ndtri", lambda x: tf.math.ndtri(x), x=np.array([0.01, 0.2, 0.5, 0.9, 0.99], np.float32))
SORTED = np.sort(f32(2, 6), axis=-1)
for side in ("left", "right"):
    for out in (tf.int32, tf.int64):
        case("searchsorted_%s_%s" % (side, out.name), lambda s, v, d=side, o=out: tf.searchsorted(s, v, d, o), s=SORTED, v=np.concatenate([f32(2, 4), SORTED[:, 1:3]], 1))
case("searchsorted_i32", lambda s, v: tf.searchsorted(s, v, "right"), s=np.sort(i32(5)), v=i32(7))

# ---- complex numbers and signals ----

case("dct", lambda x: [tf.signal.dct(x, kind, norm="ortho" if kind == 2 else None) for kind in (1, 2, 3, 4)], x=f32(2, 8))
case("idct", lambda x: tf.signal.idct(x), x=f32(2, 8))
case("mfcc", lambda x: tf.signal.mfccs_from_log_mel_spectrograms(x), x=f32(2, 5, 8))
case("mdct", lambda x: tf.signal.mdct(x, 16), x=f32(2, 64))
case("fftshift", lambda x: tf.math.real(tf.signal.fftshift(tf.signal.fft(tf.complex(x, x)))), x=f32(8))
case("complex_arithmetic", lambda a, b: [part(z) for z in (tf.complex(a, b) * tf.complex(b, a + 1.0), tf.complex(a, b) / tf.complex(b + 2.0, a), tf.exp(tf.complex(a, b)), tf.square(tf.complex(a, b)) - tf.complex(b, a))
                                         for part in (tf.math.real, tf.math.imag)], a=f32(2, 3), b=f32(2, 3))
case("complex_constant", lambda a: tf.math.real(tf.complex(a, a) * tf.constant([1 + 2j, 3 - 1j, 0.5j], tf.complex64)), a=f32(2, 3))
case("phase", lambda x: tf.math.angle(tf.signal.rfft(x)), x=f32(3, 16))

# ---- partitions, linear algebra ----

case("dynamic_partition", lambda x, p: tf.dynamic_partition(x, p, 3), x=f32(6, 2), p=i32(6, high=3))
case("dynamic_stitch", lambda x: tf.dynamic_stitch([[0, 2], [1, 3, 0]], [x[:2], x[2:5]]), x=f32(5, 3))
case("list_difference", lambda x: raw.ListDiff(x=x, y=[1, 2]), x=i32(6))
case("histogram", lambda x: tf.histogram_fixed_width(x, [-0.7, 0.6], 5), x=f32(30))
case("ragged", lambda x: tf.RaggedTensor.from_row_splits(x, [0, 2, 2, 5]).to_tensor(-1.0), x=f32(5))
case("ragged_shape", lambda x: tf.RaggedTensor.from_value_rowids(x, [0, 0, 0, 3]).to_tensor(shape=[None, 2, 3]), x=f32(4, 3))
case("solve", lambda m, b: tf.linalg.solve(m, b), m=positive(4, 2), b=f32(2, 4, 3))
case("triangular_solve", lambda m, b: tf.linalg.triangular_solve(m, b, lower=False, adjoint=True), m=positive(4), b=f32(2, 4, 3))
case("cholesky_solve", lambda m, b: tf.linalg.cholesky_solve(tf.linalg.cholesky(m), b), m=positive(4, 2), b=f32(2, 4, 3))
case("slogdet", lambda x: tf.linalg.slogdet(x), x=f32(2, 4, 4))
case("expm", lambda x: tf.linalg.expm(x), x=f32(3, 3))
case("cross", lambda x, y: tf.linalg.cross(x, y), x=f32(5, 3), y=f32(5, 3))
case("shifts", lambda x: (tf.bitwise.left_shift(x, 2), tf.bitwise.right_shift(x, 1)), x=i32(6, low=-9))
case("multiply_no_nan", lambda x, y: tf.math.multiply_no_nan(x, y), x=np.array([1, np.inf, np.nan, 2], np.float32), y=np.array([3, 0, 0, -1], np.float32))

# ---- detection ----

def boxes(*shape):
    corner, size = f32(*shape, 2, low=0.0, high=0.6), f32(*shape, 2, low=0.1, high=0.5)
    return np.concatenate([corner, corner + size], -1)


for per_class in (False, True):
    for clip in (False, True):
        for shared in (1, 3):
            case("combined_nms_%d%d_%d" % (per_class, clip, shared),
                 lambda b, s, p=per_class, c=clip: tf.image.combined_non_max_suppression(b, s, 3, 7, 0.4, 0.3, p, c), b=boxes(2, 12, shared), s=IMAGE(2, 12, 3))
case("combined_nms_small", lambda b, s: tf.image.combined_non_max_suppression(b, s, 2, 20, 0.5, 0.95, True), b=boxes(1, 5, 1), s=IMAGE(1, 5, 2))

# ---- boxes, windows, projections, quantization ----

case("in_top_k", lambda p, t: (raw.InTopKV2(predictions=p, targets=t, k=np.int32(2)), raw.InTopK(predictions=p, targets=t, k=1)), p=f32(5, 4), t=i32(5, high=5))
BOXES = np.array([[[0.1, 0.2, 0.9, 0.7], [-0.5, 0.5, 0.5, 2.0], [0.6, 0.1, 0.4, 0.9]]], np.float32)
case("draw_bounding_boxes", lambda x: raw.DrawBoundingBoxes(images=x, boxes=BOXES), x=IMAGE(1, 5, 6, 3))
case("draw_bounding_boxes_colors", lambda x: raw.DrawBoundingBoxesV2(images=x, boxes=BOXES, colors=f32(2, 1)), x=IMAGE(1, 5, 6, 1))
PROJECTION = np.array([[0.8, 0.3, -1.2, -0.2, 1.1, 0.7, 0.02, -0.01]], np.float32)
for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
    for between in ("NEAREST", "BILINEAR"):
        case("projective_%s_%s" % (mode.lower(), between.lower()),
             lambda x, m=mode, b=between: raw.ImageProjectiveTransformV3(images=x, transforms=PROJECTION, output_shape=[7, 6], fill_value=0.5, interpolation=b, fill_mode=m), x=f32(2, 5, 6, 2))
for version in ("", "V2"):
    for centered in (False, True):
        for normalized in (False, True):
            case("glimpse%s_%d%d" % (version.lower(), centered, normalized),
                 lambda x, o, v=version, c=centered, n=normalized: getattr(raw, "ExtractGlimpse" + v)(input=x, size=[3, 2], offsets=o, centered=c, normalized=n, uniform_noise=False, noise="zero"), x=f32(2, 5, 6, 2), o=f32(2, 2))
case("tensor_scatter", lambda x, u: [f(x, [[0], [2], [0]], u) for f in (tf.tensor_scatter_nd_max, tf.tensor_scatter_nd_min, tf.tensor_scatter_nd_sub)], x=f32(3, 2), u=f32(3, 2))


def quantized(x, mode, kind, **options):
    out = raw.QuantizeV2(input=x, min_range=-0.7, max_range=0.9, T=kind, mode=mode, **options)
    return raw.Dequantize(input=out[0], min_range=out[1], max_range=out[2], mode=mode, narrow_range=options.get("narrow_range", False)), out[1], out[2]


for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
    for kind in (tf.quint8, tf.qint8):
        case("quantize_%s_%s" % (mode.lower(), kind.name), lambda x, m=mode, k=kind: quantized(x, m, k), x=f32(20))
case("quantize_narrow", lambda x: quantized(x, "SCALED", tf.qint8, narrow_range=True, round_mode="HALF_TO_EVEN"), x=f32(20))
for given in (False, True):
    for signed in (False, True):
        case("fake_quantize_%d%d" % (given, signed), lambda x, g=given, s=signed: raw.QuantizeAndDequantizeV4(input=x, input_min=-0.5, input_max=0.7, signed_input=s, range_given=g, num_bits=5), x=f32(20))

# ---- eigenvalues, paths, ragged and sparse tensors ----

case("eigenvalues", lambda x: tf.linalg.eigvalsh(x + tf.transpose(x, [0, 2, 1])), x=f32(2, 5, 5))
case("eigenvectors", lambda x: (lambda e, v: (v * e[:, None, :]) @ tf.transpose(v, [0, 2, 1]))(*tf.linalg.eigh(x + tf.transpose(x, [0, 2, 1]))), x=f32(2, 5, 5))
case("ctc_beam_search", lambda x: [part for s in raw.CTCBeamSearchDecoder(inputs=x, sequence_length=[7, 4], beam_width=8, top_paths=2)[:3] for part in s], x=f32(7, 2, 4, low=-3, high=3))
SPLITS, INNER = np.array([0, 2, 2, 5], np.int64), np.array([0, 1, 1, 3, 6, 7], np.int64)
case("ragged_range", lambda a, b: raw.RaggedRange(starts=a, limits=b, deltas=2), a=i32(5), b=i32(5, low=5, high=20))
case("ragged_gather", lambda v: raw.RaggedGather(params_nested_splits=[SPLITS, INNER], params_dense_values=v, indices=np.array([[2, 0], [1, 2]]), OUTPUT_RAGGED_RANK=3), v=f32(7, 2))
case("ragged_two_axes", lambda v: tf.RaggedTensor.from_nested_row_splits(v, [SPLITS, INNER]).to_tensor(-1.0), v=f32(7))
case("ragged_to_sparse", lambda v: raw.RaggedTensorToSparse(rt_nested_splits=[SPLITS, INNER], rt_dense_values=v), v=f32(7))
PLACES, SIZES = np.array([[0, 1], [0, 3], [1, 1], [2, 0], [2, 1]], np.int64), np.array([3, 4], np.int64)
case("sparse_reorder", lambda v: raw.SparseReorder(input_indices=PLACES[::-1].copy(), input_values=v, input_shape=SIZES), v=f32(5))
for axes in ([0], [1], [0, 1]):
    case("sparse_reduce_%s" % "".join(map(str, axes)), lambda v, a=axes: [f(input_indices=PLACES, input_values=v, input_shape=SIZES, reduction_axes=np.array(a, np.int32)) for f in (raw.SparseReduceSum, raw.SparseReduceMax)], v=f32(5))
case("sparse_slice", lambda v: raw.SparseSlice(indices=PLACES, values=v, shape=SIZES, start=np.int64([0, 1]), size=np.int64([2, 2])), v=f32(5))
for axis in (0, 1):
    case("sparse_concat_%d" % axis, lambda v, a=axis: raw.SparseConcat(indices=[PLACES, PLACES], values=[v, v * 2.0], shapes=[SIZES, SIZES], concat_dim=a), v=f32(5))
case("sparse_softmax", lambda v: raw.SparseSoftmax(sp_indices=PLACES, sp_values=v, sp_shape=SIZES), v=f32(5))
for kind in ("a-b", "b-a", "intersection", "union"):
    case("set_%s" % kind, lambda a, b, k=kind: raw.DenseToDenseSetOperation(set1=a, set2=b, set_operation=k), a=i32(3, 4), b=i32(3, 5))

# ---- strings ----

LINES = np.array(["1,\"a,b\",2.5", "7,\"x \"\"y\"\"\",", ",,1e3"])
SOME = np.array(["", "a", "zo\u00e9 \u20ac", "abcdefgh", "0123456789abcdef0", "x" * 40, "The quick brown fox jumps over the lazy dog " * 3])
case("decode_raw", lambda x: (raw.DecodeRaw(bytes=x, out_type=tf.int16), raw.DecodeRaw(bytes=x, out_type=tf.int32, little_endian=False)), x=np.array(["abcd", "efgh"]))
case("decode_padded_raw", lambda x: raw.DecodePaddedRaw(input_bytes=x, fixed_length=4, out_type=tf.int16), x=np.array(["abcde", "a"]))
case("base64", lambda x: (lambda y: (y, raw.DecodeBase64(input=y)))(raw.EncodeBase64(input=x, pad=True)), x=SOME)
case("decode_csv", lambda x: raw.DecodeCSV(records=x, record_defaults=[tf.constant([3]), tf.constant(["d"]), tf.constant([0.5])]), x=LINES)
case("hash_buckets", lambda x: (raw.StringToHashBucketFast(input=x, num_buckets=1 << 60), raw.StringToHashBucketStrong(input=x, num_buckets=1 << 60, key=[-5, 77]), raw.StringToHashBucket(string_tensor=x, num_buckets=1 << 60)), x=SOME)
case("as_string", lambda x: (tf.strings.as_string(x), tf.strings.as_string(x, shortest=True), tf.strings.as_string(x, precision=2, width=9, fill="0")), x=f32(6, low=-1e3, high=1e3))
case("string_to_number", lambda x: tf.strings.to_number(x), x=np.array(["1.5", " -2 ", "3e4"]))
case("unicode_decode", lambda x: raw.UnicodeDecodeWithOffsets(input=x, input_encoding="UTF-8"), x=SOME)
case("unicode_transcode", lambda x: raw.EncodeBase64(input=tf.strings.unicode_transcode(x, "UTF-8", "UTF-16-BE")), x=SOME)
case("unicode_encode", lambda x: raw.UnicodeEncode(input_values=x, input_splits=np.int64([0, 2, 2, 5]), output_encoding="UTF-8"), x=np.array([97, 0x20AC, 0x1F600, 0xD800, 98], np.int32))
case("string_ngrams", lambda x: raw.StringNGrams(data=x, data_splits=np.int64([0, 3, 3, 7]), separator=" ", ngram_widths=[1, 2, 5], left_pad="<", right_pad=">", pad_width=-1, preserve_short_sequences=False), x=SOME)

# ---- control flow ----

FLOW = {}


def flow(name, function, **inputs):
    FLOW[name] = (function, inputs)


flow("while_loop", lambda x: tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 1.5 + x), [0, x])[1], x=f32(3))
flow("while_until", lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 20.0, lambda y: [y * 2.0], [tf.abs(x) + 0.1])[0], x=f32(4))
flow("map_fn", lambda x: tf.map_fn(lambda r: tf.reduce_sum(r) * r, x), x=f32(4, 3))
flow("map_fn_types", lambda x: tf.map_fn(lambda r: tf.argmax(r), x, fn_output_signature=tf.int64), x=f32(4, 3))
flow("scan", lambda x: tf.scan(lambda a, r: a * 0.5 + r, x), x=f32(5, 2))
flow("scan_start", lambda x: tf.scan(lambda a, r: a + r, x, initializer=tf.ones([2]), reverse=True), x=f32(5, 2))
flow("foldl", lambda x: tf.foldl(lambda a, r: a * 0.5 + r, x), x=f32(5, 2))
flow("cond", lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x - 1.0), x=f32(4))
flow("cond_in_loop", lambda x: tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y + x, lambda: y * 0.5)), [0, x])[1], x=f32(3))
flow("loop_in_loop", lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z + x), [0, y])[1]), [0, x])[1], x=f32(3))
def stopping(x):
    total, i = tf.zeros_like(x), tf.constant(0)
    while i < 10:
        total += x
        if tf.reduce_sum(total) > 3.0:
            break
        i += 1
    return total


def growing(x):
    items = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[2])
    for i in tf.range(tf.shape(x)[0]):
        items = items.write(i, x[i] * tf.cast(i, tf.float32))
    return items.stack()


flow("break_out", tf.autograph.to_graph(stopping), x=f32(3, low=0.1))
flow("growing_array", tf.autograph.to_graph(growing), x=f32(4, 2))
flow("switch_case", lambda x, i: tf.switch_case(i, [lambda: x, lambda: x * 2.0, lambda: x * x]), x=f32(3), i=np.int32(1))
flow("switch_case_default", lambda x, i: tf.switch_case(i, [lambda: x, lambda: x * 2.0, lambda: x * x]), x=f32(3), i=np.int32(9))


# ---- lookups, in SavedModels ----

LOOKUPS = {}


def lookup(name, make, **inputs):
    """`make(folder)` gives an object to save, with a function `call` of the inputs."""
    LOOKUPS[name] = (make, inputs)


WORDS = ["apple", "pear", "plum", "fig"]
TEXTS = np.array([["pear", "fig", "nut"], ["", "apple", "plum"]])


class Table(tf.Module):
    def __init__(self, initializer, default, use):
        super().__init__()
        self.table = tf.lookup.StaticHashTable(initializer, default)
        self.use = use

    def call(self, **inputs):
        return self.use(self.table, **inputs)


def words_file(folder, lines):
    path = os.path.join(folder, "words.txt")
    with open(path, "w") as f:
        f.write("".join(line + "\n" for line in lines))
    return path


def pairs(keys, values, default, use=lambda t, x: t.lookup(x)):
    return lambda folder: Table(tf.lookup.KeyValueTensorInitializer(tf.constant(keys), tf.constant(values)), default, use)


KEYS = np.array([3, 17, -4, 900], np.int64)
lookup("table_i64_f32", pairs(KEYS, np.array([1.5, 2.5, 3.5, 4.5], np.float32), -1.0), x=np.array([[17, 5], [900, -4]], np.int64))
lookup("table_i64_i64", pairs(KEYS, np.array([1, 2, 3, 4], np.int64), -7), x=np.array([17, 5, 3], np.int64))
lookup("table_text_i64", pairs(WORDS, np.array([5, 6, 7, 8], np.int64), -1), x=TEXTS)
lookup("table_i64_text", pairs(KEYS, WORDS, "none", lambda t, x: tf.strings.join([t.lookup(x), "!"])), x=np.array([17, 5, 3], np.int64))
lookup("table_size", pairs(KEYS, np.array([1, 2, 3, 4], np.int64), -7, lambda t, x: t.lookup(x) + t.size()), x=np.array([17, 5, 3], np.int64))


def from_file(lines, key, value, **options):
    def make(folder):
        return Table(tf.lookup.TextFileInitializer(words_file(folder, lines), key[0], key[1], value[0], value[1], **options), -1, lambda t, x: t.lookup(x))
    return make


LINE, NUMBER = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
lookup("table_file", from_file(WORDS, (tf.string, LINE), (tf.int64, NUMBER)), x=TEXTS)
lookup("table_file_columns", from_file(["apple,x,7", "fig,y,9", "nut,z,11"], (tf.string, 0), (tf.int64, 2), delimiter=","), x=TEXTS)
lookup("table_file_part", from_file(WORDS, (tf.string, LINE), (tf.int64, NUMBER), vocab_size=3), x=TEXTS)


class Changing(Table):
    """A table whose content is in the checkpoint."""

    def __init__(self, keys, values, default):
        tf.Module.__init__(self)
        self.table = tf.lookup.experimental.MutableHashTable(tf.constant(keys).dtype, tf.constant(values).dtype, default)
        self.table.insert(keys, values)
        self.use = lambda t, x: t.lookup(x)


lookup("mutable_table_text", lambda folder: Changing(WORDS, np.array([5, 6, 7, 8], np.int64), -1), x=TEXTS)
lookup("mutable_table_i64", lambda folder: Changing(KEYS, np.array([1.5, 2.5, 3.5, 4.5], np.float32), -1.0), x=np.array([17, 5, 3], np.int64))


def keras_layer(make_layer, dtype, shape):
    def make(folder):
        inputs = tf.keras.Input(shape, dtype=dtype, name="x")
        return tf.keras.Model(inputs, make_layer()(inputs))
    return make


lookup("integer_lookup", keras_layer(lambda: tf.keras.layers.IntegerLookup(vocabulary=[12, 36, 1138, 42]), "int64", (3,)), x=np.array([[12, 1138, 42], [42, 1000, 36]], np.int64))
lookup("integer_lookup_mask", keras_layer(lambda: tf.keras.layers.IntegerLookup(vocabulary=[12, 36, 1138, 42], mask_token=0), "int64", (3,)), x=np.array([[12, 0, 42], [42, 1000, 36]], np.int64))
lookup("integer_lookup_buckets", keras_layer(lambda: tf.keras.layers.IntegerLookup(vocabulary=[12, 36, 1138, 42], num_oov_indices=3), "int64", (3,)), x=np.array([[12, 0, 42], [43, 1000, 36]], np.int64))
lookup("integer_lookup_inverse", keras_layer(lambda: tf.keras.layers.IntegerLookup(vocabulary=[12, 36, 1138, 42], invert=True), "int64", (3,)), x=np.array([[0, 1, 2], [3, 4, 2]], np.int64))
lookup("integer_lookup_hot", keras_layer(lambda: tf.keras.layers.IntegerLookup(vocabulary=[12, 36, 1138, 42], output_mode="multi_hot"), "int64", (3,)), x=np.array([[12, 1138, 42], [42, 1000, 36]], np.int64))
lookup("integer_lookup_count", keras_layer(lambda: tf.keras.layers.IntegerLookup(vocabulary=[12, 36, 1138, 42], output_mode="count"), "int64", (3,)), x=np.array([[12, 12, 42], [42, 1000, 36]], np.int64))
lookup("string_lookup", keras_layer(lambda: tf.keras.layers.StringLookup(vocabulary=WORDS), "string", (3,)), x=TEXTS)
lookup("text_vectorization", keras_layer(lambda: tf.keras.layers.TextVectorization(vocabulary=["the", "cat", "sat", "the cat"], ngrams=2), "string", (1,)), x=np.array([["The cat, sat!"], ["on the  mat"], [""]]))
lookup("text_vectorization_hot", keras_layer(lambda: tf.keras.layers.TextVectorization(vocabulary=["the", "cat", "sat"], output_mode="multi_hot"), "string", (1,)), x=np.array([["The cat, sat!"], ["on the  mat"], [""]]))
lookup("hashing", keras_layer(lambda: tf.keras.layers.Hashing(num_bins=7), "string", (2,)), x=np.array([["a", "bc"], ["The cat", ""]]))
lookup("string_lookup_hot", keras_layer(lambda: tf.keras.layers.StringLookup(vocabulary=WORDS, output_mode="multi_hot"), "string", (3,)), x=TEXTS)
lookup("string_lookup_inverse", keras_layer(lambda: tf.keras.layers.StringLookup(vocabulary=WORDS, invert=True), "int64", (3,)), x=np.array([[0, 1, 2], [3, 4, 2]], np.int64))


# ---- writing them ----

def plain(value):
    """Texts as numpy has them."""
    value = np.asarray(value)
    return value if value.dtype.kind != "O" else np.array([v.decode() for v in value.ravel()]).reshape(value.shape)


def named(result):
    result = tf.nest.flatten(result)
    return {"out%d" % i: tf.identity(r, "out%d" % i) for i, r in enumerate(result)}


def specs_of(inputs, open_shapes=()):
    kind = lambda v: tf.string if np.asarray(v).dtype.kind == "U" else np.asarray(v).dtype
    shape = lambda n, v: [None] * np.ndim(v) if n in open_shapes else np.shape(v)
    return [tf.TensorSpec(shape(n, v), kind(v), n) for n, v in inputs.items()]


def save_frozen(out, name, function, inputs, open_shapes=(), lower=False):
    """`lower` writes loops and branches as those of TensorFlow 1."""
    concrete = tf.function(lambda *a: named(function(*a))).get_concrete_function(*specs_of(inputs, open_shapes))
    frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=lower)
    os.makedirs(os.path.join(out, name), exist_ok=True)
    with open(os.path.join(out, name, "model.pb"), "wb") as f:
        f.write(frozen.graph.as_graph_def().SerializeToString())
    values = tf.nest.flatten(concrete(*(tf.constant(v) for v in inputs.values())))
    results = {models.short(t): plain(v.numpy()) for t, v in zip(frozen.outputs, values, strict=True)}
    models.leave(out, name, ["model.pb"], inputs, results, list(results), 0)


def save_saved_model(out, name, module, function, inputs, open_shapes=()):
    folder = os.path.join(out, name, "model")
    shutil.rmtree(folder, ignore_errors=True)
    names = list(inputs)
    serve = tf.function(lambda *a: named(function(**dict(zip(names, a))))).get_concrete_function(*specs_of(inputs, open_shapes))
    module.serve = serve
    tf.saved_model.save(module, folder, signatures=serve)
    served = tf.saved_model.load(folder).signatures["serving_default"]
    results = {n: plain(v.numpy()) for n, v in served(**{n: tf.constant(v) for n, v in inputs.items()}).items()}
    models.leave(out, name, ["model"], inputs, results, sorted(results), 0)


def main(out, names):
    wanted = lambda name: not names or name in names
    for name, (function, inputs, open_shapes) in CASES.items():
        if wanted(name):
            save_frozen(out, name, function, inputs, open_shapes)
    for name, (function, inputs) in FLOW.items():
        if wanted("flow." + name):
            save_frozen(out, "flow." + name, function, inputs)
        if wanted("lowered." + name):
            save_frozen(out, "lowered." + name, function, inputs, lower=True)
        if wanted("saved." + name):
            save_saved_model(out, "saved." + name, tf.Module(), function, inputs)
    for name, (make, inputs) in LOOKUPS.items():
        if not wanted(name):
            continue
        os.makedirs(os.path.join(out, name), exist_ok=True)
        made = make(os.path.join(out, name))
        function = made.call if isinstance(made, Table) else (lambda x, m=made: m(x))
        save_saved_model(out, name, made, function, inputs)
        for spare in ("words.txt",):  # the SavedModel has its own copy
            if os.path.exists(os.path.join(out, name, spare)):
                os.remove(os.path.join(out, name, spare))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
