"""
Functions of 8-bit integers by tables of 256 results.

    %0 = relay.qnn.dequantize %x, …      ──►   %0 = relay.qnn.lookup %x, %table
    %1 = relay.erf …
    %2 = relay.qnn.quantize %1, …

Whatever elementwise operators make of one tensor of bytes and of numbers that are known is a function of bytes: also with
conversions in between, as those around each operator of a GELU, and where ways fork and meet again. It becomes a table
where it takes more than looking up does. Tables are what the interpreter computes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.elementwise import LIGHT_OPS
from xrelay.dialects.nn.norm import BiasAddOp, PReluOp
from xrelay.dialects.qnn.arithmetic import QnnLookupOp
from xrelay.dialects.qnn.conversion import QnnDequantizeOp, QnnQuantizeOp
from xrelay.dialects.qnn.parameters import BYTES
from xrelay.dialects.shapes import element_type_of, is_tensor_type, same_shape, shape_of
from xrelay.dialects.tensor.binary import BroadcastBinaryOp
from xrelay.dialects.tensor.unary import CastOp, ElementwiseUnaryOp
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.constants import known_array
from xrelay.interpreters.relay import relay_interpreter
from xrelay.transforms.rules.rewriting import apply_rule

LOOKING_UP = 16
"""The instructions for a vector that take about as long as looking its bytes up."""
CONVERTING, COMPUTING = 4, 12
"""Those of a conversion, and of functions that are no arithmetic."""


CONVERSIONS = (QnnDequantizeOp, QnnQuantizeOp)
LIGHT = (*(op for op in LIGHT_OPS if op not in (BiasAddOp, PReluOp)), CastOp)
ELEMENTWISE = (*CONVERSIONS, *LIGHT, ElementwiseUnaryOp, BroadcastBinaryOp)
"""Operators that compute each element of those at the same place."""


@dataclass(frozen=True)
class ByteFunction:
    """What is known of a value that is computed of one tensor of bytes."""

    source: SSAValue
    """The bytes."""
    cost: int
    """How many instructions it takes to compute them."""


def look_up_functions(module: ModuleOp) -> None:
    """Makes tables of functions of bytes."""
    found = Functions()
    found.learn(module)
    for op in reversed(found.ends):
        found.replace(op)


class Functions:
    """The values of a program that are functions of bytes, and numbers that are known."""

    def __init__(self):
        self.interpreter = relay_interpreter()
        self.known: dict[SSAValue, ByteFunction] = {}
        self.numbers: dict[SSAValue, Array] = {}
        self.ends: list[QnnQuantizeOp] = []
        """Those that give bytes of others, and for which a table would pay, in the order of the program."""

    def learn(self, module: ModuleOp) -> None:
        """Notes what is known of each operation, after its operands."""
        is_kept = Within(keeps_body)
        for op in walk(module):
            if is_kept(op) or len(op.results) != 1:
                continue
            number = known_array(op.results[0])
            if number is not None and number.size == 1:
                self.numbers[op.results[0]] = number.reshape(())
            if not isinstance(op, ELEMENTWISE):
                continue
            if all(operand in self.numbers for operand in op.operands):
                self.numbers[op.results[0]] = self.run(op, self.numbers)
                continue
            function = self.function_of(op)
            if function is not None:
                self.known[op.results[0]] = function
                if isinstance(op, QnnQuantizeOp) and function.cost > LOOKING_UP:
                    self.ends.append(op)

    def function_of(self, op: Operation) -> ByteFunction | None:
        """The function of bytes that the result of an elementwise operation is."""
        source: SSAValue | None = None
        cost = (
            CONVERTING if isinstance(op, CONVERSIONS) else 1 if isinstance(op, LIGHT) else COMPUTING
        )
        for operand in op.operands:
            if operand in self.numbers:
                continue
            found = self.known.get(operand)
            if found is None and _is_bytes(operand):
                found = ByteFunction(operand, 0)
            if found is None or source not in (None, found.source):
                return None
            source, cost = found.source, cost + found.cost
        if source is None or not same_shape(shape_of(source), shape_of(op.results[0])):
            return None
        return ByteFunction(source, cost)

    def run(self, op: Operation, values: Mapping[SSAValue, Array]) -> Array:
        """The result of an operation on some values, or on numbers."""
        args = [values.get(each, self.numbers.get(each)) for each in op.operands]
        (result,) = self.interpreter.run_op(op, tuple(args))
        return result

    def replace(self, op: QnnQuantizeOp) -> None:
        """Puts a table in the place of an operation, unless only others of the same function use it."""
        source = self.known[op.result].source
        users = [use.operation for use in op.result.uses]
        inner = [self.known.get(user.results[0]) if user.results else None for user in users]
        if all(each is not None and each.source is source for each in inner):
            return
        limits = np.iinfo(dtype_of(element_type_of(source)))
        values = {source: np.arange(limits.min, limits.max + 1).astype(limits.dtype)}
        for each in self.computing(op.result, source):
            values[each.results[0]] = self.run(each, values)
        table = values[op.result]
        apply_rule(
            lambda _, emit: emit(QnnLookupOp(source, emit.constant(table))), op, PatternRewriter(op)
        )

    def computing(self, value: SSAValue, source: SSAValue) -> Iterator[Operation]:
        """The operations that compute a value of `source`, each after its operands."""
        done, pending = {source}, [value]
        while pending:
            op = pending[-1].owner
            assert isinstance(op, Operation)
            missing = [
                each for each in op.operands if each not in done and each not in self.numbers
            ]
            if missing and op.results[0] not in done:
                pending.extend(missing)
                continue
            pending.pop()
            if op.results[0] not in done:
                done.add(op.results[0])
                yield op


def _is_bytes(value: SSAValue) -> bool:
    """Whether a value is a tensor of bytes that is computed, or given."""
    is_constant = isinstance(value.owner, ConstantOp)
    return not is_constant and is_tensor_type(value.type) and element_type_of(value) in BYTES
