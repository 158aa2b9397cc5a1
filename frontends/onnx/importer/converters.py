"""All converters, by op type and operator set."""

from collections.abc import Mapping

from xrelay.frontends.onnx.importer import learning, training
from xrelay.frontends.onnx.importer.conv import conv
from xrelay.frontends.onnx.importer.core import control, function, sequences, values
from xrelay.frontends.onnx.importer.image import resize, sampling
from xrelay.frontends.onnx.importer.microsoft import attention, fused
from xrelay.frontends.onnx.importer.nn import activation, correlation, dense, norm, recurrent, space
from xrelay.frontends.onnx.importer.node import ConverterTable
from xrelay.frontends.onnx.importer.pool import pool
from xrelay.frontends.onnx.importer.qnn import conversion, microsoft, products
from xrelay.frontends.onnx.importer.tensor import (
    binary,
    creation,
    indexing,
    like,
    linear_algebra,
    random,
    reduce,
    reorder,
    reshape,
    sort,
    stft,
    tokens,
    transform,
    unary,
)
from xrelay.frontends.onnx.importer.vision import nms, regions

NEWEST_OPSET = 28
"""The newest operator set of the default domain whose changes the converters know."""

FAMILIES = (
    activation,
    binary,
    control,
    conv,
    conversion,
    correlation,
    creation,
    dense,
    function,
    indexing,
    like,
    linear_algebra,
    nms,
    norm,
    pool,
    products,
    random,
    recurrent,
    reduce,
    regions,
    reorder,
    reshape,
    resize,
    sampling,
    sequences,
    sort,
    space,
    stft,
    tokens,
    transform,
    unary,
    values,
)

CONVERTERS: ConverterTable = {
    name: versions for family in FAMILIES for name, versions in family.CONVERTERS.items()
}

DOMAINS: Mapping[str, ConverterTable] = {
    "": CONVERTERS,
    "ai.onnx.ml": learning.CONVERTERS,
    "ai.onnx.preview": function.PREVIEW,
    "ai.onnx.preview.training": training.CONVERTERS,
    "com.microsoft": {**microsoft.CONVERTERS, **attention.CONVERTERS, **fused.CONVERTERS},
}
"""Those of each domain of operators."""
