"""All converters, by op type and operator set."""

from xrelay.frontends.onnx.node import ConverterTable
from xrelay.frontends.onnx.ops_activation import ACTIVATION_CONVERTERS
from xrelay.frontends.onnx.ops_constant import CONSTANT_CONVERTERS
from xrelay.frontends.onnx.ops_control import CONTROL_CONVERTERS
from xrelay.frontends.onnx.ops_conv import CONV_CONVERTERS
from xrelay.frontends.onnx.ops_elementwise import ELEMENTWISE_CONVERTERS
from xrelay.frontends.onnx.ops_function import FUNCTION_CONVERTERS
from xrelay.frontends.onnx.ops_index import INDEX_CONVERTERS
from xrelay.frontends.onnx.ops_matrix import MATRIX_CONVERTERS
from xrelay.frontends.onnx.ops_nn import NN_CONVERTERS
from xrelay.frontends.onnx.ops_pool import POOL_CONVERTERS
from xrelay.frontends.onnx.ops_quantized import QUANTIZED_CONVERTERS
from xrelay.frontends.onnx.ops_recurrent import RECURRENT_CONVERTERS
from xrelay.frontends.onnx.ops_reduction import REDUCTION_CONVERTERS
from xrelay.frontends.onnx.ops_resize import RESIZE_CONVERTERS
from xrelay.frontends.onnx.ops_sampling import SAMPLING_CONVERTERS
from xrelay.frontends.onnx.ops_shape import SHAPE_CONVERTERS
from xrelay.frontends.onnx.ops_signal import SIGNAL_CONVERTERS

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
