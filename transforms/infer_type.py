"""
`infer-type`: every result has the type that its operands give.

    func.func @main(%x: tensor<2x3xf32>) -> tensor<?x3xf32>       func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32>
      %0 = relay.exp %x : … -> tensor<?x3xf32>             ──►      %0 = relay.exp %x : … -> tensor<2x3xf32>
      return %0                                                     return %0

Unknown dimensions are replaced by known ones, and types that are not stated (`none`) by the inferred
ones: of operators, `relay.fused` and `relay.composite` (parameters and results), function values, the
results of `scf.if` and `relay.match`, what `scf.for` and `scf.while` carry, calls, and the results of functions. What a program states
is kept where inference knows less. Parameters of functions of the module stay as they are.

An operation of another dialect, or a call, that uses a value whose type became more precise gets it
through a `tensor.cast` to the type that it had; operators take what is in front of such a cast.

Source: Relay's InferType.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func, scf, tensor
from xdsl.dialects.builtin import FunctionType, ModuleOp, NoneType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xrelay.analysis.facts.dependencies import operations_for
from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.symbols import Symbols
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.adt import ConstructOp, MatchOp, pattern_variables
from xrelay.dialects.core.functional import ClosureOp, FnType, ForallType, values_from_outside
from xrelay.dialects.core.values import CalledBodyOp, TupleOp, YieldOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.type_relations import joined, refined, tells
from xrelay.transforms.rules.loop_types import (
    LOOPS,
    Loop,
    carries_open,
    casted,
    precise,
    precise_loop,
    start_types,
)
from xrelay.transforms.rules.placeholders import failure
from xrelay.transforms.rules.rewriting import Emitter

TYPED_BY_OPERANDS = (
    CalledBodyOp,
    ClosureOp,
    ConstructOp,
    MatchOp,
    RelayOp,
    YieldOp,
    func.ReturnOp,
    scf.IfOp,
    scf.YieldOp,
    tensor.CastOp,
)
"""Operations that take operands whose types become more precise."""


def infer_type_local(value: SSAValue) -> Attribute:
    """
    The type of a value by the operation that computes it and the types that its operands have; of those
    without one (`none`) what their own operations say. It knows no less than the stated type, and the program stays as
    it is.

    Raises PassFailedException when operands do not fit, or give another type than the stated one.

    Source: Relay's InferTypeLocal.
    """
    op = value.owner
    if isinstance(op, Block):
        return value.type
    known: dict[SSAValue, SSAValue] = {}
    for each in operations_for(op, lambda operand: isinstance(operand.type, NoneType)):
        for operand in (*each.operands, *values_from_outside(each)):
            if operand not in known:
                known[operand] = Block(arg_types=[operand.type]).args[0]
        copy = each.clone(known)
        TypeInference(ModuleOp([])).settle(copy)
        known.update(zip(each.results, copy.results, strict=True))
    return known[value].type


MOST_TRIES = 1000
"""How many loops of open dimensions are looked at."""


def _is_typed_by_operands(op: Operation) -> bool:
    """Whether operands of an operation may become more precise; what ends a round has the types that the loop states."""
    ends_round = isinstance(op, scf.YieldOp) and isinstance(op.parent_op(), LOOPS)
    return isinstance(op, TYPED_BY_OPERANDS) and not ends_round


def _is_stated(op: TupleOp) -> bool:
    """Whether something uses a tuple, or one that it is a field of, in the type that it has."""
    stack: list[Operation] = [op]
    while stack:
        for use in stack.pop().results[0].uses:
            if not _is_typed_by_operands(use.operation):
                return True
            if isinstance(use.operation, TupleOp):
                stack.append(use.operation)
    return False


def _is_in_branch(op: Operation) -> bool:
    """Whether an operation runs under a condition, and is no part of an operator."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, scf.IfOp | CalledBodyOp):
        parent = parent.parent_op()
    return isinstance(parent, scf.IfOp)


@dataclass(frozen=True)
class InferTypePass(RelayPass):
    """States the most precise types."""

    name = "infer-type"

    def rewrite(self, op: ModuleOp) -> None:
        TypeInference(op).run()


class TypeInference:
    """The state of inference on one module."""

    def __init__(self, module: ModuleOp, *, fails: bool = False):
        """With `fails`, what makes no sense in a branch ends the program when it is reached, and is refused elsewhere only."""
        self.fails = fails
        self.functions = {
            function.sym_name.data: function
            for function in walk(module)
            if isinstance(function, func.FuncOp)
        }
        self.symbols = Symbols()
        self.changed = False
        """Whether a sweep has left something for another one."""
        self.refined = False
        """Whether it has made a type more precise."""
        self.tried: dict[Operation, list[Attribute]] = {}
        """The types that loops of open dimensions start with, for which it was tried whether they hold in all rounds."""

    def run(self) -> None:
        """
        Goes through all functions, and once more through those that call one whose results became
        more precise, until none does.
        """
        callers = self.callers()
        pending = deque(self.functions)
        waiting = set(pending)
        while pending:
            name = pending.popleft()
            waiting.remove(name)
            function = self.functions[name]
            self.changed = not function.is_declaration
            blocks = function.body.blocks
            while self.changed:
                self.changed = self.refined = False
                for block in blocks:
                    self.sweep(block)
                # A block may stand before one whose values it uses.
                self.changed |= self.refined and len(blocks) > 1
            if self.state_results(function):
                again = [caller for caller in callers.get(name, {}) if caller not in waiting]
                pending.extend(again)
                waiting.update(again)

    def callers(self) -> dict[str, dict[str, None]]:
        """The functions that call each function, in order."""
        callers: dict[str, dict[str, None]] = {}
        for name, function in self.functions.items():
            for op in walk(function):
                if isinstance(op, func.CallOp):
                    callers.setdefault(op.callee.string_value(), {})[name] = None
        return callers

    def state_results(self, function: func.FuncOp) -> bool:
        """
        The type of a function has the types of what it returns. Returns whether it changes.
        """
        last = None if function.body.blocks.last is None else function.body.blocks.last.last_op
        if not isinstance(last, func.ReturnOp):
            return False
        inputs = function.function_type.inputs.data
        type_ = FunctionType.from_lists(inputs, last.arguments.types)
        if type_ == function.function_type:
            return False
        for stated, found in zip(
            function.function_type.outputs.data, last.arguments.types, strict=False
        ):
            if refined(stated, found) is None:
                raise PassFailedException(
                    f"function @{function.sym_name.data}: result type is {stated}, the body "
                    f"returns {found}"
                )
        function.function_type = type_
        return True

    def sweep(self, block: Block) -> None:
        """Infers the types in a block from its first operation to its last."""
        # What is to be done is a stack: operations, each after the blocks inside of it.
        pending: list[tuple[Operation, bool]] = [(op, False) for op in reversed(list(block.ops))]
        while pending:
            op, inside_done = pending.pop()
            if op.regions and not inside_done:
                if isinstance(op, LOOPS):
                    if self.settle_loop(op):
                        continue
                else:
                    self.enter(op)
                    pending.append((op, True))
                for region in reversed(op.regions):
                    for inner in reversed(list(region.blocks)):
                        pending.extend((each, False) for each in reversed(list(inner.ops)))
                continue
            self.settle(op)

    def settle_loop(self, op: Loop) -> bool:
        """
        States the types that a loop carries, once those that it starts with are known. Returns whether a loop whose rounds are
        inferred stands in its place.
        """
        # Loops in loops are inferred with each try of those around them.
        if not carries_open(op) or len(self.tried) >= MOST_TRIES:
            return False
        types = start_types(op)
        if self.tried.get(op) == types:
            return False
        self.tried[op] = types
        changed = self.changed
        made = precise_loop(op, types, self.infer_block, self.refine)
        self.changed = changed or made is not None
        return made is not None

    def infer_block(self, block: Block) -> None:
        """Infers the types in a block until nothing becomes more precise."""
        self.changed = True
        while self.changed:
            self.changed = False
            self.sweep(block)

    def take_precise(self, op: Operation) -> None:
        """Gives an operator what is in front of casts that make a secret of dimensions, which some tuples are made for."""
        if isinstance(op, TupleOp) and _is_stated(op):
            return
        for number, operand in enumerate(op.operands):
            source = precise(operand)
            if source is not operand:
                op.operands[number] = source

    def cast_arguments(self, op: func.CallOp) -> None:
        """Gives a function tensors of the types that it states, where a call has more precise ones."""
        callee = self.functions.get(op.callee.string_value())
        inputs = () if callee is None else callee.function_type.inputs
        for number, (operand, type_) in enumerate(zip(op.operands, inputs, strict=False)):
            if not is_tensor_type(type_) or not is_tensor_type(operand.type):
                continue
            if operand.type != type_ and tells(operand.type, type_):
                cast = tensor.CastOp(operand, type_)
                Rewriter.insert_op(cast, InsertPoint.before(op))
                op.operands[number] = cast.dest
                self.changed = True

    def settle(self, op: Operation) -> None:
        """States the types of an operation's results, once those of its operands are known."""
        if isinstance(op, RelayOp | func.ReturnOp):
            self.take_precise(op)
        elif isinstance(op, func.CallOp):
            self.cast_arguments(op)
        try:
            types = self.result_types(op)
            if types is not None:
                for result, type_ in zip(op.results, types, strict=True):
                    self.refine(result, type_, op, "the operands give")
        except PassFailedException as error:
            if not self.fails or not isinstance(op, RelayOp) or not _is_in_branch(op):
                raise
            emit = Emitter()
            value = failure(str(error), op.result.type, emit)
            Rewriter.replace_op(op, emit.located(op), [value])
            self.changed = True

    def enter(self, op: Operation) -> None:
        """The parameters of bodies have the types of what they stand for."""
        if isinstance(op, CalledBodyOp):
            for i, (param, arg) in enumerate(zip(op.block.args, op.args, strict=True)):
                self.refine(param, arg.type, op, f"parameter {i} has it, its argument")
        elif isinstance(op, MatchOp):
            with self.symbols.known_to(op):
                for pattern, region in zip(op.patterns, op.clauses, strict=True):
                    bound = pattern_variables(op, pattern, op.data.type)
                    for arg, (_, type_) in zip(region.block.args, bound, strict=True):
                        self.refine(arg, type_, op, "the pattern binds")

    def result_types(self, op: Operation) -> Sequence[Attribute] | None:
        """What the operands and the bodies of an operation say of its results."""
        match op:
            case RelayOp():
                try:
                    return (op.infer_type(),)
                except VerifyException as error:
                    raise PassFailedException(f"{operation_text(op)}: {error}") from error
            case CalledBodyOp():
                return (op.yielded.type,)
            case ClosureOp():
                return (self.closure_type(op),)
            case MatchOp():
                yielded = [cast(YieldOp, region.block.last_op).value.type for region in op.clauses]
                return (self.common(op, yielded),)
            case scf.IfOp() if op.results:
                ends = [region.block.last_op for region in op.regions if region.blocks]
                rows = [end.operands for end in ends if isinstance(end, scf.YieldOp)]
                return [
                    self.common(op, [value.type for value in column])
                    for column in zip(*rows, strict=True)
                ]
            case func.CallOp():
                callee = self.functions.get(op.callee.string_value())
                return None if callee is None else callee.function_type.outputs.data
            case _:
                return None

    def closure_type(self, op: ClosureOp) -> Attribute:
        """The type of a function value: the parameters as stated, the result of the body."""
        type_ = FnType([param.type for param in op.params], op.yielded.type)
        names = tuple(name.data for name in op.type_params or ())
        whole = ForallType(names, type_) if names else type_
        if op.recursive:
            known = op.block.args[0].type
            self.refine(op.block.args[0], whole, op, "the body gives")
            # The body may call itself.
            self.changed |= op.block.args[0].type != known
        return whole

    def common(self, op: Operation, types: Sequence[Attribute]) -> Attribute:
        """The type of values that come from one of several bodies."""
        result = types[0]
        for type_ in types[1:]:
            both = joined(result, type_)
            if both is None:
                raise PassFailedException(
                    f"{operation_text(op)}: one body yields {result}, another {type_}"
                )
            result = both
        return result

    def refine(self, value: SSAValue, found: Attribute, op: Operation, says: str) -> None:
        """Gives a value a type that knows what its type and another one know."""
        stated = value.type
        if stated == found:
            return
        type_ = refined(stated, found)
        if type_ is None:
            raise PassFailedException(
                f"{operation_text(op)}: result type is {stated}, but {says} {found}"
            )
        if type_ == stated:
            return
        self.refined = True
        new = Rewriter.replace_value_with_new_type(value, type_)
        for use in tuple(new.uses):
            user = use.operation
            if _is_typed_by_operands(user):
                continue
            if isinstance(user, tensor.ExtractOp) and is_tensor_type(type_):
                continue
            emit = Emitter()
            source = casted(new, stated, emit)
            if source is None:
                raise PassFailedException(
                    f"{operation_text(op)}: its type becomes {type_}, but {user.name} uses it as {stated}"
                )
            Rewriter.insert_op(emit.ops, InsertPoint.before(user))
            user.operands[use.index] = source
            # A sweep does not see the casts that it inserts.
            self.changed = True
