"""All emitters of the exporter, by relay operator."""

from xrelay.frontends.onnx.exporter.conv import conv
from xrelay.frontends.onnx.exporter.core import values
from xrelay.frontends.onnx.exporter.graph import EmitterTable
from xrelay.frontends.onnx.exporter.image import resize, sampling
from xrelay.frontends.onnx.exporter.nn import activation, dense, norm, space, upsampling
from xrelay.frontends.onnx.exporter.pool import pool
from xrelay.frontends.onnx.exporter.qnn import arithmetic, blocks, conversion, products
from xrelay.frontends.onnx.exporter.tensor import (
    binary,
    bits,
    creation,
    indexing,
    layout,
    like,
    reduce,
    reorder,
    reshape,
    sort,
    transcendental,
    transform,
    unary,
)
from xrelay.frontends.onnx.exporter.vision import regions

FAMILIES = (
    activation,
    arithmetic,
    binary,
    bits,
    blocks,
    conv,
    conversion,
    creation,
    dense,
    indexing,
    layout,
    like,
    norm,
    pool,
    products,
    reduce,
    regions,
    reorder,
    reshape,
    resize,
    sampling,
    sort,
    space,
    transcendental,
    transform,
    unary,
    upsampling,
    values,
)

EMITTERS: EmitterTable = {
    op: emitter for family in FAMILIES for op, emitter in family.EMITTERS.items()
}
