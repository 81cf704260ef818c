"""Facts of Caffe's messages, and of those that the Model Optimizer knew besides, that a file does not state: defaults, lists, and
names of enumerations."""

from __future__ import annotations

from typing import Any

__all__ = ["DEFAULTS", "REPEATED", "ENUMS"]

_DEFAULTS = """
argmax_param.out_max_val=False argmax_param.top_k=1
concat_param.axis=1 concat_param.concat_dim=1
convolution_param.bias_term=True convolution_param.group=1 convolution_param.axis=1 convolution_param.pad_h=0
convolution_param.pad_w=0 convolution_param.kernel_h=0 convolution_param.kernel_w=0 convolution_param.stride_h=0
convolution_param.stride_w=0 convolution_param.force_nd_im2col=False convolution_param.num_output=0
crop_param.axis=2
batch_norm_param.moving_average_fraction=0.999 batch_norm_param.eps=1e-05
bias_param.axis=1 bias_param.num_axes=1
dropout_param.dropout_ratio=0.5
eltwise_param.operation=1 eltwise_param.stable_prod_grad=True
elu_param.alpha=1.0
embed_param.bias_term=True
exp_param.base=-1.0 exp_param.scale=1.0 exp_param.shift=0.0
flatten_param.axis=1 flatten_param.end_axis=-1
inner_product_param.bias_term=True inner_product_param.axis=1 inner_product_param.transpose=False
inner_product_param.num_output=0
log_param.base=-1.0 log_param.scale=1.0 log_param.shift=0.0
lrn_param.local_size=5 lrn_param.alpha=1.0 lrn_param.beta=0.75 lrn_param.norm_region=0 lrn_param.k=1.0
mvn_param.normalize_variance=True mvn_param.across_channels=False mvn_param.eps=1e-09
norm_param.across_spatial=True norm_param.channel_shared=True norm_param.eps=1e-10
pooling_param.pool=0 pooling_param.pad=0 pooling_param.pad_h=0 pooling_param.pad_w=0 pooling_param.kernel_size=0
pooling_param.kernel_h=0 pooling_param.kernel_w=0 pooling_param.stride=1 pooling_param.stride_h=0
pooling_param.stride_w=0 pooling_param.global_pooling=False pooling_param.round_mode=0 pooling_param.ceil_mode=True
power_param.power=1.0 power_param.scale=1.0 power_param.shift=0.0
prelu_param.channel_shared=False
prior_box_param.flip=True prior_box_param.clip=False prior_box_param.offset=0.5 prior_box_param.step=0.0
prior_box_param.step_h=0.0 prior_box_param.step_w=0.0 prior_box_param.img_size=0 prior_box_param.img_h=0
prior_box_param.img_w=0
reduction_param.operation=1 reduction_param.axis=0 reduction_param.coeff=1.0
relu_param.negative_slope=0.0
reshape_param.axis=0 reshape_param.num_axes=-1
roi_pooling_param.pooled_h=0 roi_pooling_param.pooled_w=0 roi_pooling_param.spatial_scale=1.0
scale_param.axis=1 scale_param.num_axes=1 scale_param.bias_term=False
shuffle_channel_param.group=1
slice_param.axis=1 slice_param.slice_dim=1
softmax_param.axis=1
threshold_param.threshold=0.0
tile_param.axis=1 tile_param.tiles=1
detection_output_param.num_classes=0 detection_output_param.share_location=True
detection_output_param.background_label_id=0 detection_output_param.code_type=1
detection_output_param.variance_encoded_in_target=False detection_output_param.keep_top_k=-1
detection_output_param.confidence_threshold=0.0 detection_output_param.nms_param.nms_threshold=0.3
detection_output_param.nms_param.top_k=0 detection_output_param.nms_param.eta=1.0 detection_output_param.visualize=False
detection_output_param.visualize_threshold=0.0 detection_output_param.save_file= detection_output_param.normalized=True
detection_output_param.input_height=1 detection_output_param.input_width=1 detection_output_param.objectness_score=0.0
detection_output_param.save_output_param.resize_param.resize_mode=1
detection_output_param.save_output_param.resize_param.pad_mode=1 detection_output_param.save_output_param.resize_param.height=0
detection_output_param.save_output_param.resize_param.width=0
detection_output_param.save_output_param.resize_param.height_scale=0
detection_output_param.save_output_param.resize_param.width_scale=0
detection_output_param.save_output_param.resize_param.prob=1.0 detection_output_param.save_output_param.output_directory=
detection_output_param.save_output_param.output_name_prefix= detection_output_param.save_output_param.output_format=
detection_output_param.save_output_param.label_map_file= detection_output_param.save_output_param.name_size_file=
detection_output_param.save_output_param.num_test_image=0
resample_param.antialias=True resample_param.width=0 resample_param.height=0 resample_param.type=2 resample_param.factor=1.0
interp_param.height=0 interp_param.width=0 interp_param.zoom_factor=1 interp_param.shrink_factor=1 interp_param.pad_beg=0
interp_param.pad_end=0
accum_param.top_height=0 accum_param.top_width=0 accum_param.size_divisible_by=0 accum_param.have_reference=False
augmentation_param.crop_width=0 augmentation_param.crop_height=0 augmentation_param.write_augmented=
augmentation_param.max_multiplier=255.0 augmentation_param.augment_during_test=False augmentation_param.recompute_mean=0
augmentation_param.write_mean= augmentation_param.mean_per_pixel=True augmentation_param.mode=add augmentation_param.bottomwidth=0
augmentation_param.bottomheight=0 augmentation_param.num=0
correlation_param.pad=0 correlation_param.kernel_size=0 correlation_param.max_displacement=0 correlation_param.stride_1=1
correlation_param.stride_2=1 correlation_param.single_direction=0 correlation_param.do_abs=False
correlation_param.correlation_type=0
ctc_decoder_param.blank_index=-1 ctc_decoder_param.ctc_merge_repeated=True
grn_param.bias=1.0
power_file_param.shift_file=
proposal_param.feat_stride=16 proposal_param.base_size=16 proposal_param.min_size=16 proposal_param.pre_nms_topn=6000
proposal_param.post_nms_topn=300 proposal_param.nms_thresh=0.7
region_yolo_param.coords=4 region_yolo_param.classes=20 region_yolo_param.num=1 region_yolo_param.do_softmax=True
reorg_yolo_param.stride=1
st_param.transform_type=affine st_param.sampler_type=bilinear st_param.output_H=0 st_param.output_W=0 st_param.to_compute_dU=True
st_param.de_transform=False
python_param.module= python_param.layer= python_param.param_str= python_param.share_in_parallel=False
"""


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


DEFAULTS: "dict[str, Any]" = {}
for _item in _DEFAULTS.split():
    _path, _, _text = _item.partition("=")
    DEFAULTS[_path] = _value(_text)

REPEATED = frozenset("""
convolution_param.kernel_size convolution_param.stride convolution_param.pad convolution_param.dilation crop_param.offset
eltwise_param.coeff slice_param.slice_point permute_param.order prior_box_param.min_size prior_box_param.max_size
prior_box_param.aspect_ratio prior_box_param.variance prior_box_param.fixed_size prior_box_param.fixed_ratio
detection_output_param.save_output_param.resize_param.interp_mode prior_box_param.density prior_box_param.width prior_box_param.height reshape_param.shape.dim input_param.shape.dim
augmentation_param.mean augmentation_param.chromatic_eigvec proposal_param.ratio proposal_param.scale region_yolo_param.anchors
region_yolo_param.mask
""".split())

ENUMS = {
    "pooling_param.pool": ("MAX", "AVE", "STOCHASTIC"),
    "pooling_param.round_mode": ("CEIL", "FLOOR"),
    "correlation_param.correlation_type": ("MULTIPLY", "SUBTRACT"),
    "eltwise_param.operation": ("PROD", "SUM", "MAX"),
    "detection_output_param.code_type": ("", "CORNER", "CENTER_SIZE", "CORNER_SIZE"),
    "resample_param.type": ("", "NEAREST", "LINEAR", "CUBIC", "AREA"),
    "lrn_param.norm_region": ("ACROSS_CHANNELS", "WITHIN_CHANNEL"),
    "reduction_param.operation": ("", "SUM", "ASUM", "SUMSQ", "MEAN"),
}
