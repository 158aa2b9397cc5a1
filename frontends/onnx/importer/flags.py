"""Attributes that are 0 or 1. Engines do not agree on what others mean, so that these are refused."""

from onnx import AttributeProto, NodeProto

from xrelay.frontends.onnx.errors import OnnxImportError

FLAGS = frozenset(
    (
        *("align_corners", "allowzero", "antialias", "broadcast", "causal", "ceil_mode"),
        *("center_point_box", "channels_last", "count_include_pad", "detect_negative"),
        *("detect_positive", "do_rotary", "exclude_outside", "exclusive", "fmod", "input_forget"),
        *("interleaved", "inverse", "is_case_sensitive", "is_causal", "is_packed_batching"),
        *("keepdims", "largest", "layout", "linear_before_reset", "new_axis"),
        *("noop_with_empty_axes", "onesided", "output_sequence", "past_present_share_buffer"),
        *("periodic", "reverse", "rotary_interleaved", "saturate", "select_last_index"),
        *("sliding_window_cache", "sorted", "spatial", "storage_order", "training_mode"),
        *("transA", "transB", "transBatchA", "transBatchB", "unidirectional", "upper"),
    )
)
"""Their names, which mean no other kind of attribute in any operator of ONNX and onnxruntime that is imported."""


def require_flags(node: NodeProto) -> None:
    """
    Raises OnnxImportError for a node with a flag that is another number, whether its converter reads that,
    leaves it to the function that defines the operator, or ignores it.
    """
    for attribute in node.attribute:
        whole = attribute.type in (AttributeProto.INT, AttributeProto.UNDEFINED)
        if attribute.name in FLAGS and whole and attribute.i not in (0, 1):
            raise OnnxImportError(f"attribute '{attribute.name}' is {attribute.i}, expected 0 or 1")
