"""All emitters of the exporter, by relay operator."""

from xrelay.frontends.onnx.export_activation import ACTIVATION_EMITTERS
from xrelay.frontends.onnx.export_blocks import BLOCK_EMITTERS
from xrelay.frontends.onnx.export_conv import CONV_EMITTERS
from xrelay.frontends.onnx.export_elementwise import ELEMENTWISE_EMITTERS
from xrelay.frontends.onnx.export_graph import EmitterTable
from xrelay.frontends.onnx.export_image import IMAGE_EMITTERS
from xrelay.frontends.onnx.export_indexing import INDEXING_EMITTERS
from xrelay.frontends.onnx.export_integer import INTEGER_EMITTERS
from xrelay.frontends.onnx.export_layout import LAYOUT_EMITTERS
from xrelay.frontends.onnx.export_matrix import MATRIX_EMITTERS
from xrelay.frontends.onnx.export_norm import NORM_EMITTERS
from xrelay.frontends.onnx.export_pool import POOL_EMITTERS
from xrelay.frontends.onnx.export_quantized import QUANTIZED_EMITTERS
from xrelay.frontends.onnx.export_reduction import REDUCTION_EMITTERS
from xrelay.frontends.onnx.export_shape import SHAPE_EMITTERS
from xrelay.frontends.onnx.export_sort import SORT_EMITTERS
from xrelay.frontends.onnx.export_structure import STRUCTURE_EMITTERS

EMITTERS: EmitterTable = {
    **ACTIVATION_EMITTERS,
    **BLOCK_EMITTERS,
    **CONV_EMITTERS,
    **ELEMENTWISE_EMITTERS,
    **IMAGE_EMITTERS,
    **INDEXING_EMITTERS,
    **INTEGER_EMITTERS,
    **LAYOUT_EMITTERS,
    **MATRIX_EMITTERS,
    **NORM_EMITTERS,
    **POOL_EMITTERS,
    **QUANTIZED_EMITTERS,
    **REDUCTION_EMITTERS,
    **SHAPE_EMITTERS,
    **SORT_EMITTERS,
    **STRUCTURE_EMITTERS,
}
