"""What all backends need to know of a region: its operators, and its tensors without tuples."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.ir import Attribute, Operation

from xrelay.analysis.facts.names import short_name
from xrelay.analysis.partition.compilers import No
from xrelay.backends.base import Backend, BackendError, CompiledRegion, ObjectFile, RegionOptions
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import CompositeOp, ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.shapes import field_places, is_tensor_type, types_within
from xrelay.interpreters.arrays import Array, DType, dtype_of
from xrelay.runtime.arguments import few, kind_of
from xrelay.runtime.object_file import object_function

_STRUCTURE = (ConstantOp, TupleOp, TupleGetItemOp)


@dataclass(frozen=True)
class RegionTensor:
    """A tensor that a region takes or returns."""

    shape: tuple[int, ...]
    dtype: DType

    @property
    def byte_size(self) -> int:
        """Bytes of its elements."""
        return prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"

    def describes(self, array: Array) -> bool:
        """Whether an array has this shape and dtype."""
        return array.shape == self.shape and array.dtype == self.dtype


def leaf_tensors(type_: Attribute) -> Iterator[RegionTensor]:
    """
    The tensors in a type, tuples flattened from the left.

    Raises BackendError for unknown dimensions and for values that are not tensors.
    """
    for leaf in types_within(type_):
        if not is_tensor_type(leaf):
            raise BackendError(
                f"{leaf} is no tensor, which is all that goes into and out of regions"
            )
        if not leaf.has_static_shape():
            raise BackendError(f"{leaf} has an unknown dimension; regions need static shapes")
        yield RegionTensor(leaf.get_shape(), dtype_of(leaf.element_type))


def static_tensors(types: Sequence[Attribute]) -> Sequence[RegionTensor] | No:
    """The tensors in some types, or why they are not what goes into regions."""
    try:
        return [leaf for type_ in types for leaf in leaf_tensors(type_)]
    except BackendError as error:
        return No(str(error))


def region_inputs(function: func.FuncOp) -> tuple[RegionTensor, ...]:
    """The tensors that a region takes."""
    return tuple(leaf for type_ in function.function_type.inputs for leaf in leaf_tensors(type_))


def region_outputs(function: func.FuncOp) -> tuple[RegionTensor, ...]:
    """The tensors that a region returns."""
    return tuple(leaf for type_ in function.function_type.outputs for leaf in leaf_tensors(type_))


def region_bytes(function: func.FuncOp) -> int:
    """The bytes that go into a region and out of it."""
    return sum(each.byte_size for each in (*region_inputs(function), *region_outputs(function)))


def field_slice(op: TupleGetItemOp) -> slice:
    """Which of the tensors of a tuple are those of the field that is taken from it."""
    places, index = field_places(op.tuple_value.type), op.index.value.data
    return slice(places[index], places[index + 1])


def region_operators(function: func.FuncOp) -> Iterator[Operation]:
    """The operators of a region, composites as one."""
    for op in function.body.block.ops:
        if isinstance(op, RelayOp | CompositeOp) and not isinstance(op, _STRUCTURE):
            yield op


def region_text(function: func.FuncOp) -> str:
    """A region in messages: its name and its operators, the first ones of many."""
    names = [short_name(op) for op in region_operators(function)]
    return f"region @{function.sym_name.data} ({few(names) if names else 'no operators'})"


def nested(arrays: Sequence[Array], types: Sequence[Attribute]) -> list[Any]:
    """Flat arrays as values of types: those of tuples as Python tuples."""
    rest = iter(arrays)

    def value(type_: Attribute) -> Any:
        if isinstance(type_, TupleType):
            return tuple(value(field) for field in type_.types.data)
        assert isinstance(type_, TensorType)
        return next(rest)

    return [value(type_) for type_ in types]


def compile_region(
    backend: Backend, function: func.FuncOp, options: RegionOptions
) -> CompiledRegion:
    """
    A region made ready to run by a backend; the object files of some are loaded.

    Raises what the backend raises, and BackendError when the region or its result is malformed.
    """
    for type_ in (*function.function_type.inputs, *function.function_type.outputs):
        tuple(leaf_tensors(type_))  # Refuses all but tensors of known shape.
    made = backend.compile(function, options)
    if isinstance(made, ObjectFile):
        return object_function(made.content, made.symbol)
    if not callable(cast(object, made)):
        raise BackendError(f"it returns {kind_of(made)}, expected a callable or an ObjectFile")
    return made
