"""All converters, by op type and operator set."""

from xrelay.frontends.onnx.importer.conv.conv import CONV_CONVERTERS
from xrelay.frontends.onnx.importer.core.constant import CONSTANT_CONVERTERS
from xrelay.frontends.onnx.importer.core.control import CONTROL_CONVERTERS
from xrelay.frontends.onnx.importer.core.function import FUNCTION_CONVERTERS
from xrelay.frontends.onnx.importer.image.resize import RESIZE_CONVERTERS
from xrelay.frontends.onnx.importer.image.sampling import SAMPLING_CONVERTERS
from xrelay.frontends.onnx.importer.nn.activation import ACTIVATION_CONVERTERS
from xrelay.frontends.onnx.importer.nn.dense import MATRIX_CONVERTERS
from xrelay.frontends.onnx.importer.nn.norm import NN_CONVERTERS
from xrelay.frontends.onnx.importer.nn.recurrent import RECURRENT_CONVERTERS
from xrelay.frontends.onnx.importer.node import ConverterTable
from xrelay.frontends.onnx.importer.pool.pool import POOL_CONVERTERS
from xrelay.frontends.onnx.importer.qnn.conversion import QUANTIZED_CONVERTERS
from xrelay.frontends.onnx.importer.tensor.elementwise import ELEMENTWISE_CONVERTERS
from xrelay.frontends.onnx.importer.tensor.indexing import INDEX_CONVERTERS
from xrelay.frontends.onnx.importer.tensor.reduce import REDUCTION_CONVERTERS
from xrelay.frontends.onnx.importer.tensor.stft import SIGNAL_CONVERTERS
from xrelay.frontends.onnx.importer.tensor.transform import SHAPE_CONVERTERS

NEWEST_OPSET = 28
"""The newest operator set of the default domain whose changes the converters know."""

CONVERTERS: ConverterTable = {
    **ACTIVATION_CONVERTERS,
    **CONSTANT_CONVERTERS,
    **CONTROL_CONVERTERS,
    **CONV_CONVERTERS,
    **ELEMENTWISE_CONVERTERS,
    **FUNCTION_CONVERTERS,
    **INDEX_CONVERTERS,
    **MATRIX_CONVERTERS,
    **NN_CONVERTERS,
    **POOL_CONVERTERS,
    **QUANTIZED_CONVERTERS,
    **RECURRENT_CONVERTERS,
    **REDUCTION_CONVERTERS,
    **RESIZE_CONVERTERS,
    **SAMPLING_CONVERTERS,
    **SHAPE_CONVERTERS,
    **SIGNAL_CONVERTERS,
}
