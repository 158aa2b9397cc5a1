"""
What operations, inputs and outputs are called in the model that they come from.

Importers leave the name of an ONNX node as the location of the operations that it becomes, and passes
hand locations on. Text keeps none: operations that are read from it have no such name.
"""

from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import ArrayAttr, FusedLoc, LocationAttr, NameLoc, NoneAttr
from xdsl.ir import Attribute, BlockArgument, Operation
from xdsl.utils.hints import isa

from xrelay.dialects.core.values import ConstantOp

ONNX_NAME = "onnx.name"
"""The argument and result attribute that keeps the name of a tensor in its ONNX model."""
STORED_DTYPE = "onnx.dtype"
"""The argument and result attribute with the type, of ml_dtypes, of elements whose bits the tensor of `ui8` has."""


def model_name(named: Operation | BlockArgument) -> str | None:
    """The name of the node or input in the model, of the first node if it stands for several; None when it is not known."""
    return next(location_names(named.location), None)


def location_names(location: Attribute) -> Iterator[str]:
    """The names in a location, of which one that several were put together to has more than one."""
    if isinstance(location, NameLoc):
        yield location.desc.data
    elif isinstance(location, FusedLoc):
        assert isa(location.locations, ArrayAttr[Attribute])
        for each in location.locations:
            yield from location_names(each)


def joint_location(ops: Iterable[Operation]) -> LocationAttr:
    """The location of what stands for several operations."""
    locations = tuple(dict.fromkeys(op.location for op in ops))
    return locations[0] if len(locations) == 1 else FusedLoc(locations, NoneAttr())


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
    if not isinstance(op, ConstantOp):
        yield from location_names(op.location)
