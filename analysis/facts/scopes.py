"""Which parts of a program belong to somebody else and are not rewritten."""

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.walking import within
from xrelay.dialects.core.functional import ClosureOp
from xrelay.dialects.core.values import CompositeOp, FusedOp

SKIPPED_FUNCTIONS = ("Compiler", "Extern", "SkipOptimization")
"""Attributes of functions that Relay's function passes leave alone."""

UNFUSED_FUNCTIONS = (*SKIPPED_FUNCTIONS, "Primitive")
"""Attributes of functions whose operators are not rewritten one by one."""


def has_flag(op: Operation, names: Sequence[str]) -> bool:
    """Whether one of some attributes of `op` is set, to something other than 0 or false."""
    for name in names:
        value = op.attributes.get(name)
        if value is not None and not (isinstance(value, IntegerAttr) and value.value.data == 0):
            return True
    return False


def functions_without(module: ModuleOp, names: Sequence[str]) -> list[func.FuncOp]:
    """The functions of a module of which none of some attributes is set."""
    return [op for op in module.ops if isinstance(op, func.FuncOp) and not has_flag(op, names)]


def function_around(op: Operation) -> func.FuncOp | None:
    """The innermost function of a module that an operation is in."""
    around = op.parent_op()
    while around is not None and not isinstance(around, func.FuncOp):
        around = around.parent_op()
    return around


def keeps_body(op: Operation) -> bool:
    """
    Whether simplifications leave the body of `op` unchanged: that of `relay.fused`, of
    `relay.composite`, which a backend knows by its shape, and of functions, also as values, that have one of the
    UNFUSED_FUNCTIONS attributes.
    """
    return isinstance(op, FusedOp) or belongs_to_backend(op)


def belongs_to_backend(op: Operation) -> bool:
    """Whether `op` is a composite, a function for another compiler, or a kernel of which all is decided."""
    if isinstance(op, func.FuncOp | ClosureOp):
        return has_flag(op, UNFUSED_FUNCTIONS)
    return isinstance(op, CompositeOp) or is_decided(op)


def is_decided(op: Operation) -> bool:
    """Whether `op` is a kernel whose strategies are stated: they are those of the operators that are in it."""
    return isinstance(op, FusedOp) and op.strategies is not None


def one_block(function: func.FuncOp) -> Block:
    """The block of a function. Raises PassFailedException unless it has exactly one."""
    count = len(function.body.blocks)
    if count != 1:
        raise PassFailedException(
            f"function @{function.sym_name.data} has {count} blocks, expected one"
        )
    return function.body.block


class Within:
    """
    Whether operations and blocks are within an operation for which a condition holds, in constant time for each however deep
    it is: the answer is the same for a whole block, and remembered. For as long as no block moves into or
    out of such an operation.
    """

    def __init__(self, condition: Callable[[Operation], bool]):
        self.condition = condition
        self.known: dict[Block, Operation | None] = {}
        """The blocks whose answer is known."""

    def __call__(self, node: Operation | Block) -> bool:
        return self.around(node) is not None

    def around(self, node: Operation | Block) -> Operation | None:
        """The innermost operation around `node` for which the condition holds."""
        passed: list[Block] = []
        answer: Operation | None = None
        block = node.parent if isinstance(node, Operation) else node
        while block is not None:
            if block in self.known:
                answer = self.known[block]
                break
            passed.append(block)
            parent = block.parent_op()
            if parent is not None and self.condition(parent):
                answer = parent
                break
            block = None if parent is None else parent.parent
        self.known.update(dict.fromkeys(passed, answer))
        return answer


def in_evaluation_order(function: func.FuncOp | CompositeOp) -> Iterator[Operation]:
    """
    The operations of a function, those in the regions of another one before it, as Relay visits
    expressions. Isolated bodies, as of `relay.fused`, are not entered.
    """
    pending = list(within(function, reverse=True))
    entered: set[Operation] = set()
    while pending:
        op = pending[-1]
        if op.regions and op not in entered and not op.has_trait(IsolatedFromAbove):
            entered.add(op)
            pending.extend(within(op, reverse=True))
            continue
        yield pending.pop()
