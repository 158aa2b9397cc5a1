"""The types of the graph's inputs: what the model states, completed by the caller's shapes."""

from collections.abc import Mapping, Sequence
from operator import index
from typing import cast

import numpy as np
from onnx import ValueInfoProto
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from xrelay.dialects.dtypes import ElementType
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.node import require_size
from xrelay.frontends.onnx.tensors import element_type_of
from xrelay.runtime.arguments import few

Dimension = int | str
"""A length, or the symbol of an unknown one ("" when it has none)."""


def input_types(
    inputs: Sequence[ValueInfoProto], shapes: Mapping[str, Sequence[int]]
) -> list[TensorType[Attribute]]:
    """
    The static type of each graph input. `shapes` gives whole shapes by input name; a symbol that
    one of them fixes is fixed in all inputs.

    Raises OnnxImportError for names in `shapes` that are not inputs, for shapes that contradict
    the model or each other, and for dimensions that stay unknown.
    """
    names = [value.name for value in inputs]
    for name in shapes:
        if name not in names:
            known = few(f"'{known}'" for known in names)
            raise OnnxImportError(f"shapes= names '{name}', which is not an input; inputs: {known}")
    declared = [_declared(value) for value in inputs]
    symbols: dict[str, tuple[int, str]] = {}
    """The length of each symbol, and the input that fixed it."""
    fixed: list[Sequence[Dimension] | None] = []
    for value, (_, dims) in zip(inputs, declared, strict=True):
        given = shapes.get(value.name)
        fixed.append(dims if given is None else _completed(value.name, dims, given, symbols))
    types: list[TensorType[Attribute]] = []
    unknown: list[str] = []
    for value, (element_type, _), dims in zip(inputs, declared, fixed, strict=True):
        if dims is None:
            unknown.append(
                f"input '{value.name}' has no shape: use shapes={{\"{value.name}\": […]}}, "
                f"or --shape {value.name}=… on the command line"
            )
            continue
        lengths = [symbols[dim][0] if dim in symbols else dim for dim in dims]
        static = [dim for dim in lengths if isinstance(dim, int)]
        if len(static) < len(lengths):
            unknown.append(_unknown_message(value.name, lengths))
            continue
        require_size(static, f"input '{value.name}'")
        types.append(TensorType(element_type, static))
    if unknown:
        raise OnnxImportError(few(unknown, "; "))
    return types


def _declared(value: ValueInfoProto) -> tuple[ElementType, list[Dimension] | None]:
    """The element type and the dimensions that the model states; None for no shape."""
    what = f"input '{value.name}'"
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
    name: str,
    dims: Sequence[Dimension] | None,
    given: Sequence[int],
    symbols: dict[str, tuple[int, str]],
) -> Sequence[int]:
    """`given`, after a check against the stated dimensions. Enters lengths of symbols."""
    try:
        if not isinstance(cast(object, given), Sequence | np.ndarray):
            raise TypeError("the order of a set's elements is no shape's")
        given = [index(length) for length in given]
    except TypeError:
        raise OnnxImportError(
            f"shapes= gives input '{name}' {given!r}, expected a list of whole numbers"
        ) from None
    if any(length < 0 for length in given):
        raise OnnxImportError(
            f"shapes= gives input '{name}' the shape {given}, expected no negative number"
        )
    if dims is None:
        return given
    stated = "[" + ", ".join(str(dim) or "?" for dim in dims) + "]"
    if len(dims) != len(given):
        raise OnnxImportError(
            f"shapes= gives input '{name}' the shape {given} of rank {len(given)}, "
            f"the model states {stated} of rank {len(dims)}"
        )
    for axis, (dim, length) in enumerate(zip(dims, given, strict=True)):
        if isinstance(dim, int):
            if dim != length:
                raise OnnxImportError(
                    f"shapes= gives input '{name}' the shape {given}, "
                    f"the model states {stated}: dimension {axis} is {dim}"
                )
        elif dim:
            known, origin = symbols.setdefault(dim, (length, name))
            if known != length:
                raise OnnxImportError(
                    f"shapes= gives symbol '{dim}' the length {known} in input '{origin}' "
                    f"and {length} in input '{name}'"
                )
    return given


def _unknown_message(name: str, dims: Sequence[Dimension]) -> str:
    """What the user has to state about an input."""
    unknown = ", ".join(
        f"{axis} ('{dim}')" if dim else f"{axis}"
        for axis, dim in enumerate(dims)
        if isinstance(dim, str)
    )
    example = ", ".join(str(dim) or "…" for dim in dims)
    return (
        f"input '{name}' has the unknown dimension {unknown}: "
        f'use shapes={{"{name}": [{example}]}}, or --shape {name}=… on the command line'
    )
