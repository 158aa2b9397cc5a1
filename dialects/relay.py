"""The relay dialect: the operators of TVM's Relay on builtin tensors."""

from xdsl.ir import Dialect

from xrelay.dialects.base import operators
from xrelay.dialects.conv import conv, packed, transpose, winograd
from xrelay.dialects.conv import gradient as conv_gradient
from xrelay.dialects.core import (
    adt,
    annotation,
    device,
    failure,
    functional,
    memory,
    references,
    values,
    vm,
)
from xrelay.dialects.dyn import image as dyn_image
from xrelay.dialects.dyn import select as dyn_select
from xrelay.dialects.dyn import tensor as dyn_tensor
from xrelay.dialects.image import resize, sampling
from xrelay.dialects.nn import bitserial, correlation, dense, dilate, loss, norm, space, upsampling
from xrelay.dialects.pool import adaptive, pool
from xrelay.dialects.pool import gradient as pool_gradient
from xrelay.dialects.qnn import arithmetic, blocks, conversion, simulate
from xrelay.dialects.qnn import products as qnn_products
from xrelay.dialects.sparse import coordinates
from xrelay.dialects.sparse import products as sparse_products
from xrelay.dialects.tensor import (
    binary,
    bits,
    creation,
    einsum,
    indexing,
    layout,
    like,
    random,
    reduce,
    reorder,
    reshape,
    sort,
    stft,
    transcendental,
    transform,
    unary,
)
from xrelay.dialects.vision import nms, regions

FILES = (
    *(adt, annotation, device, failure, functional, memory, references, values, vm),
    *(conv, conv_gradient, packed, transpose, winograd),
    *(dyn_image, dyn_select, dyn_tensor),
    *(resize, sampling),
    *(bitserial, correlation, dense, dilate, loss, norm, space, upsampling),
    *(adaptive, pool, pool_gradient),
    *(arithmetic, blocks, conversion, qnn_products, simulate),
    *(coordinates, sparse_products),
    *(binary, bits, creation, einsum, indexing, layout, like, random),
    *(reduce, reorder, reshape, sort, stft, transcendental, transform, unary),
    *(nms, regions),
)
"""Those that define operators, a family a line."""

Relay = Dialect(
    "relay",
    [op for file in FILES for op in operators(file.__name__)],
    [
        *values.CORE_ATTRS,
        references.RefType,
        *functional.FUNCTIONAL_ATTRS,
        *adt.ADT_ATTRS,
        device.VirtualDeviceAttr,
    ],
)
