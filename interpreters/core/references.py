"""Cells that programs write to, in Python."""

from dataclasses import dataclass
from typing import Any

from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.core import references
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning


@dataclass(eq=False)
class Cell:
    """What a value of type `!relay.ref<…>` is: a mutable cell."""

    value: Any


@register_impls
class ReferenceFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.references`."""

    @meaning
    def run_ref_create(self, op: references.RefCreateOp, value: Any) -> Any:
        return Cell(value)

    @meaning
    def run_ref_read(self, op: references.RefReadOp, ref: Any) -> Any:
        return ref.value

    @meaning
    def run_ref_write(self, op: references.RefWriteOp, cell: Any, value: Any) -> tuple[Array, ...]:
        cell.value = value
        return ()
