"""
`first-order-gradient`: functions return the gradients of their parameters, too.

    func.func @main(%x: T, %y: T) -> T           func.func @main(%x: T, %y: T) -> tuple<T, tuple<T, T>>
      %0 = relay.multiply %x, %y                   %0 = relay.multiply %x, %y
      return %0                          ──►       %1 = relay.ones_like %0
                                                   %2 = relay.multiply %1, %y
                                                   %3 = relay.multiply %1, %x
                                                   %4 = relay.tuple %2, %3
                                                   %5 = relay.tuple %0, %4
                                                   return %5

The gradients are those of the sum of all elements that the function returns, tuples included (several results become a
tuple). Each operator on the way from a parameter hands the gradient of its result on to its operands, by the rule that
`transforms/derivatives` has for it, the last operator first; what several operators use gets the sum. Parameters that
nothing uses, and those that are not of floating point, get zeros: what is rounded, compared or counted does not grow
with its operands. (In the original integers have gradients, those of casts to integers are rounded.)

Calls of other functions are inlined first, as by `inline{calls=true}`. Bodies of `relay.fused` and `relay.composite` become
part of the function, and so do function literals where they are called; `relay.let` is the value itself. The gradient
of an `scf.if` is an `scf.if` that takes the same branch once more and goes back through it.

Refused, with the name of the operator: operators that have no rule, calls that cannot be inlined (recursion, declarations,
other compilers), loops and other control flow, branches with effects, references (`promote-references` makes values of
those that nobody else sees); parameters that are no tensors or tuples of these; functions with type parameters. What has
no effects and does not depend on parameters may be anything. Functions for other compilers, and those that are still
called, stay as they are.

Run `simplify-inference` before it, for which batch norm and its like are operators that have rules, and
`eliminate-common-subexpr` and `dead-code-elimination` after it. A second run gives the gradients of the sum of all that the
first one returns, as far as what stands in gradients has rules (docs/gradients.md names what has not).

Source: Relay's FirstOrderGradient.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import FunctionType, ModuleOp, TupleType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.scopes import SKIPPED_FUNCTIONS, belongs_to_backend, has_flag, one_block
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import (
    ApplyOp,
    ClosureOp,
    LetOp,
    type_params_of,
    values_from_outside,
)
from xrelay.dialects.core.values import CalledBodyOp, TupleGetItemOp, TupleOp
from xrelay.dialects.shapes import is_float, is_tensor_type, types_within
from xrelay.dialects.tensor.creation import OnesLikeOp, ZerosLikeOp
from xrelay.transforms.derivatives.table import RULES
from xrelay.transforms.derivatives.terms import Gradient, Term
from xrelay.transforms.inline import InlinePass
from xrelay.transforms.rules.rewriting import Emitter

WITHOUT_RULE: Mapping[type[Operation], str] = {
    func.CallOp: ": its function calls itself, has no body here, or is for another compiler",
    ApplyOp: ": its function is not known here, calls itself, or is for another compiler",
    scf.ForOp: ": loops have none",
    scf.WhileOp: ": loops have none",
}
"""Why some operations that users do not expect to lack a gradient have none."""


@dataclass(frozen=True)
class FirstOrderGradientPass(RelayPass):
    """Returns the gradients of parameters with the results."""

    name = "first-order-gradient"

    def rewrite(self, op: ModuleOp) -> None:
        InlinePass(calls=True).rewrite(op)
        graph = CallGraph.of_module(op)
        called = graph.used_elsewhere.union(*graph.uses.values())
        for name, function in graph.functions.items():
            if name not in called and not (function.is_declaration or belongs_to_backend(function)):
                add_gradients(function)


def add_gradients(function: func.FuncOp) -> None:
    """
    Returns the gradients of the parameters of a function with its results.

    Raises PassFailedException when something in it has no gradient.
    """
    name = f"function @{function.sym_name.data}"
    if type_params_of(function):
        raise PassFailedException(f"{name} has type parameters, expected none")
    block = one_block(function)
    for i, argument in enumerate(block.args):
        if not all(map(is_tensor_type, types_within(argument.type))):
            raise PassFailedException(
                f"{name}: parameter {i} is {argument.type}, expected a tensor or a tuple of tensors"
            )
    expose_bodies(block)
    end = block.last_op
    assert isinstance(end, func.ReturnOp)
    backward = Backward(block, block.args)
    backward.run(end.operands)
    emit = Emitter()
    fields = [materialized(backward.gradients.get(each), each, emit) for each in block.args]
    value = end.operands[0] if len(end.operands) == 1 else emit(TupleOp(end.operands))
    result = emit(TupleOp([value, emit(TupleOp(fields))]))
    block.insert_ops_before([*backward.ops, *emit.located(end)], end)
    Rewriter.replace_op(end, func.ReturnOp(result), [])
    function.properties.pop("res_attrs", None)
    function.function_type = FunctionType.from_lists(block.arg_types, [result.type])


def expose_bodies(block: Block) -> None:
    """Puts bodies that are called in their place, and values in that of their names."""
    op = block.first_op
    while op is not None:
        following = op.next_op
        match op:
            case LetOp():
                Rewriter.replace_op(op, [], [op.value])
            case CalledBodyOp():
                following = _inlined(op, op.detach_region(op.body).block, op.args)
            case ApplyOp() if isinstance(closure := op.function.owner, ClosureOp) and not (
                closure.recursive or closure.type_params or has_flag(closure, SKIPPED_FUNCTIONS)
            ):
                body = closure.body.clone()
                following = _inlined(op, body.detach_block(0), op.args)
            case _:
                pass
        op = following


def _inlined(call: Operation, body: Block, args: Sequence[SSAValue]) -> Operation | None:
    """Puts a body in the place of a call. Returns its first operation."""
    end = body.last_op
    assert end is not None
    result = end.operands[0]
    if isinstance(result, BlockArgument) and result.block is body:
        result = args[result.index]
    Rewriter.erase_op(end)
    first = body.first_op or call.next_op
    Rewriter.inline_block(body, InsertPoint.before(call), args)
    Rewriter.replace_op(call, [], [result])
    return first


def has_floats(type_: Attribute) -> bool:
    """Whether a type is that of tensors some of which are of floating point."""
    return any(is_tensor_type(each) and is_float(each.element_type) for each in types_within(type_))


class Backward:
    """The way back through the operations of a block."""

    def __init__(self, block: Block, sources: Iterable[SSAValue]):
        """Looks for what depends on `sources`."""
        self.block = block
        self.gradients: dict[SSAValue, Gradient] = {}
        """Those of values that what is returned depends on."""
        self.ops: list[Operation] = []
        """The operations that compute them."""
        self.depends: set[SSAValue] = set()
        """The values that may depend on sources, other than integers."""
        for each in sources:
            self._note(each)
        for op in block.ops:
            operands = (*op.operands, *values_from_outside(op)) if op.regions else op.operands
            # What a reference holds may depend on parameters by any operation before.
            if not self.depends.isdisjoint(operands) or not is_side_effect_free(op):
                for each in op.results:
                    self._note(each)

    def _note(self, value: SSAValue) -> None:
        """Notes that a value depends on parameters, unless it is rounded, compared or counted."""
        if has_floats(value.type) or not all(map(is_tensor_type, types_within(value.type))):
            self.depends.add(value)

    def run(self, returned: Sequence[SSAValue]) -> None:
        """Computes the gradients of the sum of what is returned."""
        emit = Emitter()
        self.run_from(returned, [as_gradient(value, emit, ones=True) for value in returned], emit)

    def run_from(
        self, values: Sequence[SSAValue], gradients: Sequence[Gradient], emit: Emitter
    ) -> None:
        """Computes the gradients by those of some values, which `emit` may have made."""
        for value, gradient in zip(values, gradients, strict=True):
            self._add(value, gradient, emit)
        self.ops.extend(emit.ops)
        for op in reversed(tuple(self.block.ops)):
            gradients = [self.gradients.get(result) for result in op.results]
            if any(gradient is not None for gradient in gradients):
                self._step(op, gradients)

    def _step(self, op: Operation, gradients: Sequence[Gradient]) -> None:
        """Hands the gradient of an operation's result on to its operands."""
        emit = Emitter()
        if isinstance(op, scf.IfOp):
            self._branch(op, gradients, emit)
        else:
            found = _of_operands(op, gradients, emit)
            for operand, gradient in zip(op.operands, found, strict=True):
                self._add(operand, gradient, emit)
        self.ops.extend(emit.located(op))

    def _branch(self, op: scf.IfOp, gradients: Sequence[Gradient], emit: Emitter) -> None:
        """Takes the branch once more, and goes back through it."""
        if not is_side_effect_free(op):
            raise PassFailedException(
                f"{operation_text(op)} has no gradient: something in a branch has effects"
            )
        used = [each for each in dict.fromkeys(values_from_outside(op)) if each in self.depends]
        copy = op.clone()
        for region in copy.regions:
            _go_back(region.block, used, gradients)
        then, otherwise = (copy.detach_region(region) for region in tuple(copy.regions))
        copy.drop_all_references()
        back = scf.IfOp(op.cond, [each.type for each in used], then, otherwise)
        emit.ops.append(back)
        for value, result in zip(used, back.results, strict=True):
            self._add(value, as_gradient(result, emit), emit)

    def _add(self, value: SSAValue, gradient: Gradient, emit: Emitter) -> None:
        if value in self.depends and gradient is not None:
            self.gradients[value] = added(self.gradients.get(value), gradient, emit)


def _go_back(block: Block, sources: Sequence[SSAValue], gradients: Sequence[Gradient]) -> None:
    """Lets a branch yield the gradients of values from outside, by those of what it yielded."""
    expose_bodies(block)
    end = block.last_op
    assert isinstance(end, scf.YieldOp)
    backward = Backward(block, sources)
    backward.run_from(end.operands, gradients, Emitter())
    emit = Emitter()
    found = [materialized(backward.gradients.get(each), each, emit) for each in sources]
    block.insert_ops_before([*backward.ops, *emit.located(end)], end)
    Rewriter.replace_op(end, scf.YieldOp(*found), [])


def _of_operands(op: Operation, gradients: Sequence[Gradient], emit: Emitter) -> Sequence[Gradient]:
    """The gradients of the operands of an operation with one result."""
    gradient = gradients[0]
    match op, gradient:
        case TupleOp(), tuple():
            return gradient
        case TupleGetItemOp(), _:
            count = len(op.tuple_value.type.types)
            return [tuple(gradient if i == op.index.value.data else None for i in range(count))]
        case _, Term() if (rule := RULES.get(type(op))) is not None:
            return rule(op, Term(gradient.value, emit))
        case _:
            why = next((why for kind, why in WITHOUT_RULE.items() if isinstance(op, kind)), "")
            raise PassFailedException(f"{operation_text(op)} has no gradient{why}")


def added(one: Gradient, other: Gradient, emit: Emitter) -> Gradient:
    """The sum of two gradients."""
    match one, other:
        case None, _:
            return other
        case _, None:
            return one
        case tuple(), tuple():
            return tuple(added(*fields, emit) for fields in zip(one, other, strict=True))
        case Term(), Term():
            return Term(one.value, emit) + other
        case _:
            raise ValueError("a tensor and a tuple are no gradients of one value")


def as_gradient(value: SSAValue, emit: Emitter, *, ones: bool = False) -> Gradient:
    """A value as a gradient, a tuple as those of its fields; with `ones` the gradient of the sum of its elements."""
    if isinstance(value.type, TupleType):
        fields = (emit(TupleGetItemOp(value, i)) for i in range(len(value.type.types)))
        return tuple(as_gradient(field, emit, ones=ones) for field in fields)
    if not has_floats(value.type):
        return None
    return Term(emit(OnesLikeOp(value)) if ones else value, emit)


def materialized(gradient: Gradient, value: SSAValue, emit: Emitter) -> SSAValue:
    """A gradient as a value of the type of what it belongs to."""
    if isinstance(gradient, Term):
        return gradient.value
    if not isinstance(value.type, TupleType):
        return emit(ZerosLikeOp(value))
    parts = gradient or (None,) * len(value.type.types)
    fields = [
        part.value
        if isinstance(part, Term)
        else materialized(part, emit(TupleGetItemOp(value, i)), emit)
        for i, part in enumerate(parts)
    ]
    return emit(TupleOp(fields))
