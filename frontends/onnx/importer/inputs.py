"""The types of the graph's inputs: what the model states, completed by the caller's shapes."""

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, SupportsIndex, TypeAlias, cast

import numpy as np
from onnx import ValueInfoProto
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from xrelay.dialects.dtypes import ElementType
from xrelay.dialects.length_scope import MOST
from xrelay.dialects.lengths import is_open
from xrelay.frontends.onnx.errors import OnnxImportError, UnknownInputs
from xrelay.frontends.onnx.importer.sizes import require_size
from xrelay.frontends.onnx.narrow import NARROW, Narrow
from xrelay.frontends.onnx.tensors import element_type_of
from xrelay.interpreters.arrays import dtype_of
from xrelay.runtime.arguments import few, number_argument, shown
from xrelay.runtime.signature import (
    Dimension,
    InputSequence,
    InputValue,
    OpenTensor,
    Ranges,
    Shapes,
    is_shape,
)

Symbols: TypeAlias = dict[str, tuple[int, str]]
"""The lengths of symbols that have one, and what says so."""


def input_types(
    inputs: Sequence[ValueInfoProto],
    shapes: Shapes,
    outputs: Sequence[ValueInfoProto] = (),
) -> list[TensorType[Attribute]]:
    """
    The static type of each graph input. `shapes` gives whole shapes by input name, and lengths by the
    symbol of a dimension, or two numbers that it is between; a symbol that one of them fixes is fixed in all inputs.

    Raises OnnxImportError for names in `shapes` that are neither, for shapes that contradict the model
    or each other, and UnknownInputs, which describes inputs and `outputs`, where some stay unknown.
    """
    names = [value.name for value in inputs]
    declared = [_declared(value, "input") for value in inputs]
    symbols = _fixed_symbols(shapes, names, [dims for _, dims in declared])
    fixed: list[Sequence[Dimension] | None] = []
    for value, (_, dims) in zip(inputs, declared, strict=True):
        given = shapes.get(value.name)
        given = given.shape if isinstance(given, InputValue) else given
        fixed.append(dims if given is None else _completed(value.name, dims, given, symbols))
    ranges = _ranges(shapes, names)
    _require_within(ranges, symbols)
    types: list[TensorType[Attribute]] = []
    unknown: list[str] = []
    wanted: dict[str, tuple[str, str]] = {}
    for value, (element_type, _), dims in zip(inputs, declared, fixed, strict=True):
        if dims is None:
            unknown.append(f"input '{value.name}' has no shape")
            wanted[value.name] = "[…]", "…"
            continue
        lengths = _with_lengths(dims, symbols)
        static = [dim for dim in lengths if isinstance(dim, int)]
        if len(static) < len(lengths):
            unknown.append(_unknown_dimensions(value.name, lengths, ranges))
            wanted |= _wanted(value.name, lengths, ranges)
            continue
        require_size(static, f"input '{value.name}'")
        types.append(TensorType(element_type, static))
    if unknown:
        described = (
            tuple(
                _described(value, "input", dims, symbols)
                for value, dims in zip(inputs, fixed, strict=True)
            ),
            tuple(_output(value, symbols) for value in outputs),
        )
        message = f"{few(unknown, '; ')}: {_way_out(wanted, ranges)}"
        raise UnknownInputs(message, *described, ranges=ranges)
    return types


def _ranges(shapes: Shapes, names: Sequence[str]) -> Ranges:
    """What `shapes` says that the lengths of symbols are between."""
    ranges: dict[str, tuple[int, int]] = {}
    for name, given in shapes.items():
        if name not in names and _is_range(given):
            least, most = cast(Sequence[object], given)
            low = number_argument(f"the least length of '{name}' in shapes=", least, 0, MOST, OnnxImportError)  # fmt: skip
            high = number_argument(f"the greatest length of '{name}' in shapes=", most, low, MOST, OnnxImportError)  # fmt: skip
            ranges[name] = low, high
    return ranges


def _is_range(given: object) -> bool:
    """Whether what is said of a symbol are two numbers that it is between."""
    return is_shape(given) and len(cast(Sequence[object], given)) == 2


def _require_within(ranges: Ranges, symbols: Symbols) -> None:
    """Raises OnnxImportError for a length that is outside of the range of its symbol."""
    for name, (least, most) in ranges.items():
        if name in symbols and not least <= symbols[name][0] <= most:
            length, origin = symbols[name]
            raise OnnxImportError(
                f"shapes= gives symbol '{name}' the length {length} in {origin}, expected {least} to {most}"
            )


def _described(
    value: ValueInfoProto, side: str, dims: Sequence[Dimension] | None, symbols: Symbols
) -> OpenTensor:
    """What is known of an input or output."""
    lengths = None if dims is None else tuple(_with_lengths(dims, symbols))
    return OpenTensor(value.name, lengths, _dtype(value, side))


def _dtype(value: ValueInfoProto, side: str) -> np.dtype[Any]:
    """The type of the arrays for an input or output."""
    narrow = stored_type(value)
    return dtype_of(_declared(value, side)[0]) if narrow is None else narrow.dtype


def stored_type(value: ValueInfoProto) -> Narrow | None:
    """The element type of an input or output for which programs hold another one."""
    if value.type.WhichOneof("value") != "tensor_type":
        return None
    return NARROW.get(value.type.tensor_type.elem_type)


def _output(value: ValueInfoProto, symbols: Symbols) -> OpenTensor:
    """What the model states of an output, whose type it may leave out."""
    if value.type.WhichOneof("value") != "tensor_type" or not value.type.tensor_type.elem_type:
        return OpenTensor(value.name, None, None)
    return _described(value, "output", _declared(value, "output")[1], symbols)


def _with_lengths(dims: Sequence[Dimension], symbols: Symbols) -> list[Dimension]:
    """Dimensions, with the lengths of the symbols that have one."""
    return [symbols[dim][0] if isinstance(dim, str) and dim in symbols else dim for dim in dims]


def present(value: ValueInfoProto) -> ValueInfoProto:
    """An input or output; of an optional one that which may be absent."""
    if value.type.WhichOneof("value") != "optional_type":
        return value
    return ValueInfoProto(name=value.name, type=value.type.optional_type.elem_type)


def has_open_dimension(value: ValueInfoProto) -> bool:
    """Whether the model leaves a dimension of an input open, so that it has any number of elements."""
    dims = _declared(value, "input")[1]
    return dims is None or not all(isinstance(dim, int) for dim in dims)


def input_values(inputs: Sequence[ValueInfoProto], shapes: Shapes) -> dict[str, InputValue]:
    """
    The elements that `shapes` gives of inputs.

    Raises OnnxImportError for those of another type than the model states.
    """
    values: dict[str, InputValue] = {}
    for value in inputs:
        given = shapes.get(value.name)
        if isinstance(given, InputValue):
            stated = _dtype(value, "input")
            if given.dtype != stated:
                raise OnnxImportError(
                    f"shapes= gives input '{value.name}' elements of type {given.dtype}, "
                    f"the model states {stated}"
                )
            values[value.name] = given
    return values


def described_ports(
    inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]
) -> tuple[tuple[OpenTensor, ...], tuple[OpenTensor, ...]]:
    """What the model states of its inputs and outputs; of a sequence no more than its name."""
    return (
        tuple(
            _described(value, "input", _declared(value, "input")[1], {})
            if value.type.WhichOneof("value") == "tensor_type"
            else OpenTensor(value.name, None, None)
            for value in inputs
        ),
        tuple(_output(value, {}) for value in outputs),
    )


def _fixed_symbols(
    shapes: Shapes, names: Sequence[str], dims: Sequence[Sequence[Dimension] | None]
) -> Symbols:
    """The length of each symbol that `shapes` gives, and what says so; for `_completed` to add others."""
    known = {dim for each in dims for dim in each or () if isinstance(dim, str) and dim}
    symbols: Symbols = {}
    for name, given in shapes.items():
        if name in names:
            continue
        if name not in known:
            inputs = few(f"'{each}'" for each in names)
            unknown = few(f"'{each}'" for each in sorted(known))
            raise OnnxImportError(
                f"shapes= names '{name}', which is neither an input nor an unknown dimension; "
                f"inputs: {inputs}; unknown dimensions: {unknown}"
            )
        if isinstance(given, InputValue | InputSequence):
            raise OnnxImportError(f"shapes= gives elements of '{name}', which is no input")
        if _is_range(given):
            continue
        # `--shape batch=4` of a command line is a list of one; `(4,)` may have lost its other end.
        single = given[0] if isinstance(given, list) and len(given) == 1 else given
        what = f"the length of '{name}' in shapes="
        if not isinstance(single, SupportsIndex):
            raise OnnxImportError(
                f"{what} is {shown(single)}, expected a whole number, or the least and the greatest one"
            )
        length = number_argument(what, single, 0, MOST, OnnxImportError)
        symbols[name] = length, f"shapes= of '{name}'"
    return symbols


def _declared(value: ValueInfoProto, side: str) -> tuple[ElementType, list[Dimension] | None]:
    """The element type and the dimensions that the model states; None for no shape."""
    what = f"{side} '{value.name}'"
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise OnnxImportError(f"{what} is of kind {kind}, only tensors are supported")
    tensor = value.type.tensor_type
    element_type = element_type_of(tensor.elem_type, what)
    if not tensor.HasField("shape"):
        return element_type, None
    # Some exporters write -1 for an unknown length.
    return element_type, [
        dim.dim_value
        if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0
        else dim.dim_param
        for dim in tensor.shape.dim
    ]


def _completed(
    name: str, dims: Sequence[Dimension] | None, given: object, symbols: Symbols
) -> Sequence[int]:
    """`given`, after a check against the stated dimensions. Enters lengths of symbols."""
    if not is_shape(given):
        raise OnnxImportError(
            f"shapes= gives input '{name}' {given!r}, expected a list of whole numbers"
        )
    lengths = [
        length if is_open(length) else index(length) for length in cast(Sequence[int], given)
    ]
    if any(length < 0 for length in lengths):
        raise OnnxImportError(
            f"shapes= gives input '{name}' the shape {lengths}, expected no negative number"
        )
    if dims is None:
        return lengths
    stated = "[" + ", ".join(str(dim) or "?" for dim in dims) + "]"
    if len(dims) != len(lengths):
        raise OnnxImportError(
            f"shapes= gives input '{name}' the shape {lengths} of rank {len(lengths)}, "
            f"the model states {stated} of rank {len(dims)}"
        )
    for axis, (dim, length) in enumerate(zip(dims, lengths, strict=True)):
        if isinstance(dim, int):
            if dim != length:
                raise OnnxImportError(
                    f"shapes= gives input '{name}' the shape {lengths}, "
                    f"the model states {stated}: dimension {axis} is {dim}"
                )
        elif dim:
            known, origin = symbols.setdefault(dim, (length, f"input '{name}'"))
            if known != length:
                raise OnnxImportError(
                    f"shapes= gives symbol '{dim}' the length {known} in {origin} "
                    f"and {length} in input '{name}'"
                )
    return lengths


def _unknown_dimensions(name: str, dims: Sequence[Dimension], ranges: Ranges) -> str:
    """What is not known about an input."""
    listed = ", ".join(
        f"{axis} ('{dim}'{_between(ranges, dim)})" if dim else f"{axis}"
        for axis, dim in enumerate(dims)
        if isinstance(dim, str)
    )
    return f"input '{name}' has the unknown dimension {listed}"


def _wanted(name: str, dims: Sequence[Dimension], ranges: Ranges) -> dict[str, tuple[str, str]]:
    """What has to be stated about an input, by name: in Python, and on the command line."""
    names = list(dict.fromkeys(dim for dim in dims if isinstance(dim, str)))
    if not all(names):
        return {name: (f"[{', '.join(str(dim) or '…' for dim in dims)}]", "…")}
    lengths = {dim: str(ranges[dim][1]) if dim in ranges else "…" for dim in names}
    return {dim: (length, length) for dim, length in lengths.items()}


def _way_out(wanted: Mapping[str, tuple[str, str]], ranges: Ranges) -> str:
    """How to state it."""
    single = "one length, as in " if any(name in ranges for name in wanted) else ""
    mapping = few([f'"{name}": {value}' for name, (value, _) in wanted.items()])
    options = few([f"--shape {name}={value}" for name, (_, value) in wanted.items()], " ")
    return f"use {single}shapes={{{mapping}}}, or {options} on the command line"


def _between(ranges: Ranges, dim: str) -> str:
    """That a range leaves a length open, where there is one."""
    return ", somewhere from {} to {}".format(*ranges[dim]) if dim in ranges else ""
