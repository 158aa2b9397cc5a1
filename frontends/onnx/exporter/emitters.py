"""All emitters of the exporter, by relay operator."""

from xrelay.frontends.onnx.exporter.conv.conv import CONV_EMITTERS
from xrelay.frontends.onnx.exporter.core.values import STRUCTURE_EMITTERS
from xrelay.frontends.onnx.exporter.graph import EmitterTable
from xrelay.frontends.onnx.exporter.image.resize import IMAGE_EMITTERS
from xrelay.frontends.onnx.exporter.nn.activation import ACTIVATION_EMITTERS
from xrelay.frontends.onnx.exporter.nn.dense import MATRIX_EMITTERS
from xrelay.frontends.onnx.exporter.nn.norm import NORM_EMITTERS
from xrelay.frontends.onnx.exporter.nn.space import BLOCK_EMITTERS
from xrelay.frontends.onnx.exporter.pool.pool import POOL_EMITTERS
from xrelay.frontends.onnx.exporter.qnn.conversion import QUANTIZED_EMITTERS
from xrelay.frontends.onnx.exporter.tensor.elementwise import ELEMENTWISE_EMITTERS
from xrelay.frontends.onnx.exporter.tensor.indexing import INDEXING_EMITTERS
from xrelay.frontends.onnx.exporter.tensor.integer import INTEGER_EMITTERS
from xrelay.frontends.onnx.exporter.tensor.layout import LAYOUT_EMITTERS
from xrelay.frontends.onnx.exporter.tensor.reduce import REDUCTION_EMITTERS
from xrelay.frontends.onnx.exporter.tensor.sort import SORT_EMITTERS
from xrelay.frontends.onnx.exporter.tensor.transform import SHAPE_EMITTERS

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
