"""The entry function of a program and its ports: what it takes and returns, seen from outside."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.names import unused_name
from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.references import RefType
from xrelay.dialects.model_names import ONNX_NAME, STORED_DTYPE
from xrelay.dialects.shapes import is_tensor_type, types_within
from xrelay.interpreters.arrays import DType, dtype_of


@dataclass(frozen=True)
class Port:
    """An input or output of a program."""

    name: str
    type: TensorType[Attribute]
    stored: str = ""
    """The type, of ml_dtypes, of the elements whose bits the tensor has; empty where these are numbers."""

    @property
    def dtype(self) -> DType:
        """The type of the arrays that a caller gives or gets."""
        if self.stored:
            return np.dtype(getattr(ml_dtypes, self.stored))
        return dtype_of(self.type.element_type)


def entry_function(module: ModuleOp, name: str | None = None) -> func.FuncOp:
    """
    The function called `name`; by default `main`, else the only one with a body that no other calls,
    of several the only public one.

    Raises DiagnosticException when there is none, PassOptionError when there is none of that name.
    """
    functions = [op for op in module.ops if isinstance(op, func.FuncOp) and not op.is_declaration]
    named = [op for op in functions if op.sym_name.data == (name or "main")]
    if named:
        return named[0]
    if name is None:
        called = {
            op.callee.root_reference.data
            for caller in functions
            for op in walk(caller)
            if isinstance(op, func.CallOp) and op.callee.root_reference != caller.sym_name
        }
        roots = [function for function in functions if function.sym_name.data not in called]
        for candidates in (roots, list(filter(is_public, roots))):
            if len(candidates) == 1:
                return candidates[0]
    known = ", ".join(op.sym_name.data for op in functions) or "none"
    refusal = DiagnosticException if name is None else PassOptionError
    raise refusal(f"no function '{name or 'main'}'; the module has {known}")


def is_public(function: func.FuncOp) -> bool:
    """Whether other modules may call a function."""
    return function.sym_visibility is None or function.sym_visibility.data == "public"


def ports(function: func.FuncOp) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """
    The inputs and outputs of a function with a body, which may have unknown dimensions. Of a tuple
    each tensor is one, `name.0`, `name.1`, ….

    Raises DiagnosticException for what is no tensor, and for two of one name.
    """
    block, types = function.body.blocks[0], function.function_type.outputs.data
    inputs = _ports("inputs", block.arg_types, function.arg_attrs, _input_hints(function))
    hints = [f"output{i}" for i in range(len(types))]
    return inputs, _ports("outputs", types, function.res_attrs, hints)


def input_names(function: func.FuncOp) -> list[str]:
    """What `ports` calls the parameters of a function with a body, whatever their types are."""
    hints = _input_hints(function)
    return _names(_stated(function.arg_attrs, ONNX_NAME, len(hints)), hints)


def _input_hints(function: func.FuncOp) -> list[str]:
    return [arg.name_hint or f"input{i}" for i, arg in enumerate(function.body.blocks[0].args)]


def _ports(
    what: str,
    types: Sequence[Attribute],
    attributes: ArrayAttr[DictionaryAttr] | None,
    hints: Sequence[str],
) -> tuple[Port, ...]:
    names = _names(_stated(attributes, ONNX_NAME, len(types)), hints)
    stored = _stated(attributes, STORED_DTYPE, len(types))
    found = tuple(
        port
        for name, type_, dtype in zip(names, types, stored, strict=True)
        for port in _leaves(name, type_, dtype or "")
    )
    listed = [port.name for port in found]
    if len(set(listed)) != len(listed):
        raise DiagnosticException(f"two {what} have the same name: {', '.join(listed)}")
    return found


def _stated(attributes: ArrayAttr[DictionaryAttr] | None, key: str, count: int) -> list[str | None]:
    """What the attributes of each port state; a text may have more of them, or fewer."""
    given = [each.data.get(key) for each in attributes or ()][:count]
    found = [each.data if isinstance(each, StringAttr) else None for each in given]
    return found + [None] * (count - len(found))


def _names(stated: Sequence[str | None], hints: Sequence[str]) -> list[str]:
    """
    The names that attributes state, else those of the values in the text, of which several may be
    the same: xDSL reads `%x_1` as another `%x`. These get a number.
    """
    taken = {name for name in stated if name is not None}
    names: list[str] = []
    for name, hint in zip(stated, hints, strict=True):
        names.append(unused_name(hint, taken) if name is None else name)
        taken.add(names[-1])
    return names


def _leaves(name: str, type_: Attribute, stored: str) -> Iterator[Port]:
    """The tensors in a type."""
    if isinstance(type_, RefType):
        raise DiagnosticException(f"'{name}' is a reference, which cannot leave the program")
    for i, leaf in enumerate(types_within(type_)):
        if not is_tensor_type(leaf):
            raise DiagnosticException(f"'{name}' is {type_}, which is no tensor")
        yield Port(name if leaf is type_ else f"{name}.{i}", leaf, stored)
