"""
`to-cps`: functions hand their results to a function that they are given, in place of returning them.

    func.func @main(%x: T) -> R                  func.func @main[answer](%x: T, %k: fn(R) -> answer) -> answer
      %0 = relay.exp %x                            %0 = relay.exp %x
      %1 = func.call @f(%0)               ──►      %c = relay.closure (%1) {
      %2 = relay.negative %1                         %2 = relay.negative %1
      return %2                                      %3 = relay.apply %k(%2)
                                                     yield %3
                                                   }
                                                   %4 = relay.apply @f(%0, %c)
                                                   return %4

What follows a call becomes a function, the continuation, and the call the last thing that is done. So do `scf.if` and
`relay.match`: what follows them is a function that each branch calls, which can be optimised for each. A call whose result is
returned gets the continuation that is there already. Each function of the module has a type parameter for what the
continuations give in the end; function values, also in tuples, references and type arguments, take a continuation, too.
Operations stay in their order, and so do their effects.

What stays: operators, `relay.fused` (also as a function with a name) and `relay.composite`, functions for other compilers and those without a body,
which are called as before. Constructors as values, and such functions as values, are expanded first (`eta-expand`).

Refused: loops and other operations with regions; data types with function types in their definition; other uses of the
function of a `relay.fused` than names and calls.

`un-cps` gives functions their signatures back. The original makes a copy `f_cps` of each function that is called.

Source: Relay's ToCPS; Might, How to compile with continuations.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.names import operation_text, unused_name
from xrelay.analysis.facts.scopes import Within, belongs_to_backend, one_block
from xrelay.analysis.facts.symbols import Symbols
from xrelay.analysis.facts.walking import blocks_in, walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import ConstructorOp, MatchOp, TypeDefOp
from xrelay.dialects.core.functional import (
    TYPE_PARAMS,
    ApplyOp,
    ClosureOp,
    FnType,
    ForallType,
    GlobalVarOp,
    LetOp,
    TypeVarType,
    type_params_of,
    types_inside,
)
from xrelay.dialects.core.values import CalledBodyOp, YieldOp
from xrelay.transforms.functional.eta_expand import literal_of
from xrelay.transforms.rules.called_bodies import keeps_function
from xrelay.transforms.rules.functional.retyping import Retyping

ANSWER = "answer"
"""The name of the type parameter."""


@dataclass(frozen=True)
class ToCpsPass(RelayPass):
    """Puts functions into continuation-passing style."""

    name = "to-cps"

    def rewrite(self, op: ModuleOp) -> None:
        symbols = Symbols()
        functions = {
            each.sym_name.data: each
            for each in op.body.ops
            if isinstance(each, func.FuncOp) and not stays(each)
        }
        for definition in op.body.ops:
            if isinstance(definition, TypeDefOp):
                _require_no_functions(definition)
        for function in functions.values():
            _expand_values(function, functions, symbols)
            _require_blocks(function)
        for function in functions.values():
            Conversion(function, functions).run()


def stays(function: func.FuncOp) -> bool:
    """Whether a function is called as it is: other compilers take it, or it has no body."""
    return function.is_declaration or belongs_to_backend(function)


def _is_operator(op: Operation) -> bool:
    """Whether the body of an operation is that of an operator, or of a function for another compiler, which stays."""
    return isinstance(op, CalledBodyOp) or keeps_function(op) or belongs_to_backend(op)


def _inside(function: func.FuncOp) -> list[Operation]:
    """The operations of a function, but those in bodies of operators."""
    within = Within(_is_operator)
    return [op for op in walk(function) if not within(op)]


def _operators_by_name(function: func.FuncOp) -> set[SSAValue]:
    """
    The functions of `relay.fused` that are values, and names of them.

    Raises PassFailedException when something else than a call uses one.
    """
    found: set[SSAValue] = set()
    for op in _inside(function):
        if (
            isinstance(op, ClosureOp)
            and _is_operator(op)
            or isinstance(op, LetOp)
            and op.value in found
        ):
            found.add(op.result)
        for i, operand in enumerate(op.operands):
            is_call = isinstance(op, LetOp) or (isinstance(op, ApplyOp) and i == 0)
            if operand in found and not is_call:
                raise PassFailedException(
                    f"{operation_text(op)} uses the function of a relay.fused or of another compiler as a value, expected a call of it"
                )
    return found


def _require_no_functions(definition: TypeDefOp) -> None:
    for constructor in definition.constructors or ():
        for type_ in types_inside(constructor.fields):
            if isinstance(type_, FnType):
                raise PassFailedException(
                    f"data type @{definition.sym_name.data}: constructor "
                    f"@{constructor.constructor.data} holds {type_}, expected no functions"
                )


def _expand_values(
    function: func.FuncOp, converted: dict[str, func.FuncOp], symbols: Symbols
) -> None:
    """Constructors as values, and functions that stay, become functions that call them."""
    for op in _inside(function):
        is_kept = isinstance(op, GlobalVarOp) and op.function.string_value() in converted
        if isinstance(op, GlobalVarOp | ConstructorOp) and not is_kept:
            new = literal_of(op, symbols)
            Rewriter.replace_op(op, new, new[-1].results)


def _require_blocks(function: func.FuncOp) -> None:
    """Raises PassFailedException for control flow that continuations do not know."""
    one_block(function)
    known = (CalledBodyOp, ClosureOp, MatchOp, func.FuncOp, scf.IfOp)
    for op in _inside(function):
        if op.regions and not isinstance(op, known):
            raise PassFailedException(
                f"{operation_text(op)} has no continuation-passing style; function values, branches and "
                "matches have"
            )
        if isinstance(op, scf.IfOp) and op.results and not op.false_region.blocks:
            raise PassFailedException(
                f"{operation_text(op)} has results and no second branch, expected two"
            )


def _inner_type_params(function: func.FuncOp) -> set[str]:
    """The type parameters of function values in a function."""
    values = (value for op in _inside(function) for value in (*op.operands, *op.results))
    types = types_inside(value.type for value in values)
    return {name for type_ in types if isinstance(type_, ForallType) for name in type_.names}


class Conversion:
    """A function on its way to continuation-passing style."""

    def __init__(
        self,
        function: func.FuncOp,
        converted: Mapping[str, func.FuncOp],
        around: Collection[Operation] | None = None,
    ):
        self.function = function
        self.converted = converted
        self.around = around
        """The branches and matches that get a continuation, where others and function values stay; None where all get one."""
        params = type_params_of(function)
        self.params = *params, unused_name(ANSWER, {*params, *_inner_type_params(function)})
        self.answer = TypeVarType(self.params[-1])
        self.types = Retyping(self._with_continuation)
        self.operators = _operators_by_name(function)
        """The function values that stay."""

    def _with_continuation(self, type_: Attribute) -> Attribute:
        if not isinstance(type_, FnType):
            return type_
        return FnType([*type_.inputs, FnType([type_.output], self.answer)], self.answer)

    def run(self) -> None:
        """Rewrites the function."""
        for op in _inside(self.function):
            self._retype(op.results)
            for block in () if _is_operator(op) else blocks_in(op):
                self._retype(block.args)
        outputs = [self.types(each) for each in self.function.function_type.outputs]
        block = self.function.body.block
        last = block.insert_arg(FnType(outputs, self.answer), len(block.args))
        last.name_hint = "k"
        self._state_signature(block)
        under_way = [self._convert(block, last)]
        while under_way:
            inner = next(under_way[-1], None)
            if inner is None:
                under_way.pop()
            else:
                under_way.append(self._convert(*inner))

    def _retype(self, values: Iterable[SSAValue]) -> None:
        for value in tuple(values):
            type_ = self.types(value.type)
            if type_ != value.type and value not in self.operators:
                Rewriter.replace_value_with_new_type(value, type_)

    def _state_signature(self, block: Block) -> None:
        """The function takes one more parameter, and has one more type parameter."""
        function = self.function
        function.function_type = FunctionType.from_lists(block.arg_types, [self.answer])
        function.attributes[TYPE_PARAMS] = ArrayAttr(map(StringAttr, self.params))
        function.properties.pop("res_attrs", None)
        if function.arg_attrs is not None:
            function.arg_attrs = ArrayAttr([*function.arg_attrs, DictionaryAttr({})])

    def _convert(self, block: Block, k: SSAValue) -> Iterator[tuple[Block, SSAValue]]:
        """
        Rewrites the operations of a block, from the last to the first: what follows a call moves once, together
        with what has become of it. Gives the blocks within, each with the function that takes what it gives, which
        are converted before it goes on.

        Regions are apart until they are done: to put an operation into a block takes xDSL time in the number of
        blocks around it.
        """
        *ops, end = block.ops
        called = ops[-1] if ops and self._gives_control(ops[-1]) else None
        tail = called if called and tuple(end.operands) == tuple(called.results) else None
        if tail is None:
            _end(end, ApplyOp(k, end.operands, self.answer), end)
        for op in reversed(ops):
            if isinstance(op, ClosureOp) and self.around is None and not _is_operator(op):
                last = op.block.insert_arg(self._continuation_of(op), len(op.block.args))
                last.name_hint = "k"
                body = op.detach_region(op.body)
                yield body.block, last
                op.add_region(body)
            elif self._gives_control(op):
                taker = k if op is tail else self._rest(op)
                regions = [op.detach_region(region) for region in tuple(op.regions)]
                for region in regions:
                    if not region.blocks:  # A branch that is not there does nothing.
                        region.add_block(Block([scf.YieldOp()]))
                    yield region.block, taker
                _end(op, self._tail(op, regions, taker), end)

    def _continuation_of(self, op: ClosureOp) -> Attribute:
        """The type of the last parameter that a function value gets."""
        type_ = op.result.type
        function = type_.body if isinstance(type_, ForallType) else type_
        assert isinstance(function, FnType)
        return function.inputs[-1]

    def _gives_control(self, op: Operation) -> bool:
        """Whether an operation gets a continuation."""
        if isinstance(op, func.CallOp):
            return op.callee.string_value() in self.converted
        if self.around is not None:
            return op in self.around
        if isinstance(op, ApplyOp):
            return op.function not in self.operators
        return isinstance(op, MatchOp | scf.IfOp)

    def _rest(self, op: Operation) -> SSAValue:
        """What takes the results of an operation: the operations that follow it, as a function."""
        block = op.parent
        assert block is not None
        rest = Block(arg_types=op.result_types)
        for result, argument in zip(op.results, rest.args, strict=True):
            argument.name_hint = result.name_hint
            result.replace_all_uses_with(argument)
        while (following := op.next_op) is not None:
            following.detach()
            rest.add_op(following)
        end = rest.last_op
        assert end is not None
        Rewriter.replace_op(end, YieldOp(end.operands[0]), [])
        closure = ClosureOp(Region(rest), result_type=FnType(rest.arg_types, self.answer))
        closure.location = op.location
        Rewriter.insert_op(closure, InsertPoint.before(op))
        return closure.result

    def _tail(self, op: Operation, regions: list[Region], k: SSAValue) -> Operation:
        """The operation in the place of one that hands its results to `k`, as its converted regions do."""
        match op:
            case func.CallOp():
                type_ = FnType([*op.arguments.types, k.type], self.answer)
                called = GlobalVarOp(op.callee.string_value(), type_)
                Rewriter.insert_op(called, InsertPoint.before(op))
                return ApplyOp(called.result, [*op.arguments, k], self.answer)
            case ApplyOp():
                return ApplyOp(op.function, [*op.args, k], self.answer)
            case scf.IfOp():
                return scf.IfOp(op.cond, [self.answer], regions[0], regions[1])
            case _:
                assert isinstance(op, MatchOp)
                complete = op.complete is not None
                return MatchOp(op.data, op.patterns.data, regions, self.answer, complete=complete)


def _end(first: Operation, call: Operation, end: Operation) -> None:
    """
    Ends a block with the result of a call in the place of an operation and what follows it. `end` is what the block
    ended with.
    """
    block = first.parent
    assert block is not None
    call.location = first.location
    Rewriter.insert_op(call, InsertPoint.before(first))
    for op in (first.next_op, first):
        if op is not None:
            Rewriter.erase_op(op)
    match end:
        case func.ReturnOp():
            block.add_op(func.ReturnOp(call.results[0]))
        case scf.YieldOp():
            block.add_op(scf.YieldOp(call.results[0]))
        case _:
            block.add_op(YieldOp(call.results[0]))
