"""
What operations, inputs and outputs are called in the model that they come from.

Importers leave the name of an ONNX node as the location of the operations that it becomes, and passes
hand locations on. Text keeps none: operations that are read from it have no such name.
"""

from collections.abc import Iterator

from xdsl.dialects.builtin import NameLoc
from xdsl.ir import BlockArgument, Operation

from xrelay.dialects.core.values import ConstantOp

ONNX_NAME = "onnx.name"
"""The argument and result attribute that keeps the name of a tensor in its ONNX model."""
STORED_DTYPE = "onnx.dtype"
"""The argument and result attribute with the type, of ml_dtypes, of elements whose bits the tensor of `ui8` has."""


def model_name(named: Operation | BlockArgument) -> str | None:
    """The name of the node or input in the model, None when it is not known."""
    return named.location.desc.data if isinstance(named.location, NameLoc) else None


def model_names(op: Operation) -> tuple[str, ...]:
    """
    The names of the nodes that an operation stands for, with those in its regions: each once, in
    program order. Constants are tensors of the model and no nodes.
    """
    return tuple(dict.fromkeys(_names(op)))


def _names(op: Operation) -> Iterator[str]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from _names(inner)
    name = model_name(op)
    if name is not None and not isinstance(op, ConstantOp):
        yield name
