"""Templates: for each ONNX operator, how to make a node of it in a graph. A file for each family."""

from collections.abc import Mapping

from tests.fuzz.onnx.templates.control import CONTROL_TEMPLATES
from tests.fuzz.onnx.templates.elementwise import ELEMENTWISE_TEMPLATES
from tests.fuzz.onnx.templates.index import INDEX_TEMPLATES
from tests.fuzz.onnx.templates.nn import NN_TEMPLATES
from tests.fuzz.onnx.templates.quantized import QUANTIZED_TEMPLATES
from tests.fuzz.onnx.templates.reduction import REDUCTION_TEMPLATES
from tests.fuzz.onnx.templates.sequence import SEQUENCE_TEMPLATES
from tests.fuzz.onnx.templates.shape import SHAPE_TEMPLATES
from tests.fuzz.onnx.templates.template import Template

TEMPLATES: Mapping[str, Template] = {
    **CONTROL_TEMPLATES,
    **ELEMENTWISE_TEMPLATES,
    **INDEX_TEMPLATES,
    **NN_TEMPLATES,
    **QUANTIZED_TEMPLATES,
    **REDUCTION_TEMPLATES,
    **SEQUENCE_TEMPLATES,
    **SHAPE_TEMPLATES,
}
