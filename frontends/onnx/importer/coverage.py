"""Which relay operators the converters of ONNX operators make."""

from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType
from typing import Any, cast

from xdsl.irdl import IRDLOperation

from xrelay.dialects.core.values import ConstantOp
from xrelay.frontends.onnx.importer.converters import CONVERTERS
from xrelay.frontends.onnx.importer.node import Node

_CONVERTER_MODULES = "xrelay.frontends.onnx.importer."


def onnx_sources() -> dict[type[IRDLOperation], tuple[str, ...]]:
    """
    For each relay operator the ONNX operators, in alphabetical order, whose converters name it:
    those that become it or have it as a part, in some operator set.
    """
    sources: dict[type[IRDLOperation], set[str]] = {}
    for name, versions in CONVERTERS.items():
        for converter in versions.values():
            for op in _named_operators(converter, set()):
                sources.setdefault(op, set()).add(name)
    return {op: tuple(sorted(names)) for op, names in sources.items()}


def _named_operators(thing: Any, seen: set[int]) -> Iterator[type[IRDLOperation]]:
    """The operators that a function names, itself or in helpers, functions and classes, from the files of converters."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, type):
        yield from _named_by_class(cast("type[Any]", thing), seen)
    elif isinstance(thing, partial):
        whole = cast("partial[Any]", thing)
        for part in (whole.func, *whole.args, *whole.keywords.values()):
            yield from _named_operators(part, seen)
    elif isinstance(thing, dict):
        for part in cast("dict[Any, Any]", thing).values():
            yield from _named_operators(part, seen)
    elif isinstance(thing, tuple | list):
        for part in cast("tuple[Any, ...]", thing):
            yield from _named_operators(part, seen)
    elif isinstance(thing, FunctionType) and thing.__module__.startswith(_CONVERTER_MODULES):
        for cell in thing.__closure__ or ():
            yield from _named_operators(cell.cell_contents, seen)
        for name in _global_names(thing.__code__):
            # What is no name of the file may be that of a method of the node.
            part = thing.__globals__.get(name, vars(Node).get(name))
            yield from _named_operators(part, seen)


def _named_by_class(kind: type[Any], seen: set[int]) -> Iterator[type[IRDLOperation]]:
    """The class where it is that of an operator, but not that of constants, which any node may become, or what its methods name."""
    if issubclass(kind, IRDLOperation):
        if kind is not ConstantOp:
            yield kind
    elif kind.__module__.startswith(_CONVERTER_MODULES):
        for base in kind.__mro__:
            for part in vars(base).values():
                yield from _named_operators(getattr(part, "__func__", part), seen)


def _global_names(code: CodeType) -> Iterator[str]:
    """The names that code uses, with the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)
