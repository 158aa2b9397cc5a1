"""All converters, by op type and operator set."""

from collections.abc import Mapping

from xrelay.frontends.onnx.importer import learning, training
from xrelay.frontends.onnx.importer.bounded import DOMAIN
from xrelay.frontends.onnx.importer.conv import conv
from xrelay.frontends.onnx.importer.core import control, function, sequences, values
from xrelay.frontends.onnx.importer.image import resize, sampling
from xrelay.frontends.onnx.importer.microsoft import attention, fused, grouped
from xrelay.frontends.onnx.importer.nn import activation, correlation, dense, norm, recurrent, space
from xrelay.frontends.onnx.importer.node import ConverterTable
from xrelay.frontends.onnx.importer.pool import pool
from xrelay.frontends.onnx.importer.qnn import arithmetic, blocks, conversion, products
from xrelay.frontends.onnx.importer.tensor import (
    binary,
    bits,
    counted,
    creation,
    indexing,
    like,
    linear_algebra,
    mel,
    random,
    reduce,
    reorder,
    reshape,
    sort,
    stft,
    tokens,
    transcendental,
    transform,
    unary,
)
from xrelay.frontends.onnx.importer.vision import nms, regions

NEWEST_OPSET = 28
"""The newest operator set of the default domain whose changes the converters know."""

FAMILIES = (
    activation,
    binary,
    bits,
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
    mel,
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
    transcendental,
    transform,
    unary,
    values,
)

MICROSOFT = (arithmetic, attention, blocks, conversion, fused, grouped, products)

CONVERTERS: ConverterTable = {
    name: versions for family in FAMILIES for name, versions in family.CONVERTERS.items()
}

DOMAINS: Mapping[str, ConverterTable] = {
    "": CONVERTERS,
    "ai.onnx.ml": learning.CONVERTERS,
    "ai.onnx.preview": function.PREVIEW,
    "ai.onnx.preview.training": training.CONVERTERS,
    "com.microsoft": {
        name: versions for family in MICROSOFT for name, versions in family.MICROSOFT.items()
    },
    DOMAIN: {**counted.STAGES, **nms.STAGES},
}
"""Those of each domain of operators."""
