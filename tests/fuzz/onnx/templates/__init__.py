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

_RANDOM = "each engine draws other numbers"
_SEQUENCE = "graphs grow by tensors, not by sequences and optional values"
_SIZE = "the size of its result depends on data: the model runs in stages, where the fuzzer expects a program"
WITHOUT_TEMPLATE: Mapping[str, str] = {
    "Bernoulli": _RANDOM,
    "ConcatFromSequence": _SEQUENCE,
    "Det": "rounding grows with the condition of the matrix",
    "Multinomial": _RANDOM,
    "NonMaxSuppression": _SIZE,
    "Optional": _SEQUENCE,
    "OptionalGetElement": _SEQUENCE,
    "OptionalHasElement": _SEQUENCE,
    "RandomNormal": _RANDOM,
    "RandomNormalLike": _RANDOM,
    "RandomUniform": _RANDOM,
    "RandomUniformLike": _RANDOM,
    "SequenceAt": _SEQUENCE,
    "SequenceConstruct": _SEQUENCE,
    "SequenceEmpty": _SEQUENCE,
    "SequenceErase": _SEQUENCE,
    "SequenceInsert": _SEQUENCE,
    "SequenceLength": _SEQUENCE,
    "SequenceMap": _SEQUENCE,
    "SplitToSequence": _SEQUENCE,
    "TfIdfVectorizer": "its pool of words says what it finds: random ones are not found",
    "Unique": _SIZE,
}
"""Imported operators that random graphs do not have, and why. ONNX's backend suite has cases of each."""
