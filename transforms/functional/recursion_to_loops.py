"""
`recursion-to-loops`: functions that call themselves last become functions with a loop.

    func.func @f(%n, %x) {                     func.func @f(%n, %x) {
      %c = …                                     %none = tensor.empty()
      %0 = scf.if %c {                           %w:2 = scf.while (%i = %n, %r = %none, %go = true) {
        scf.yield %x                               scf.condition(%go) %i, %r
      } else {                          ──►      } do {
        %m = …                                     %c = …
        %1 = func.call @f(%m, %x)                  %0:3 = scf.if %c {
        scf.yield %1                                 scf.yield %i, %x, false
      }                                            } else {
      return %0                                      %m = …
    }                                                scf.yield %m, %r, true
                                                   }
                                                   scf.yield %0#0, %0#1, %0#2
                                                 }
                                                 return %w#1
                                               }

So `while_loop` of Relay's own library becomes a loop: it is a function literal of this form.

- Functions of the module and function literals (`relay.closure` with `recursive`), and literals within others.
- The loop carries the parameters that a round changes, the result, which is nothing before the last round, and whether there
  is another round. Parameters that every call passes on are used from outside.
- Only where each call of the function in itself is the last thing that is done, in whatever branches, and its result is the
  result as it is. `relay.let` may name it.

Leaves alone: functions that call themselves in other places (a sum of two calls), that use themselves as a value or in a
literal, functions that call each other, with type parameters, for other compilers, and those whose result is no tensor
and no tuple of these.

Source: tail calls as loops, G. L. Steele, Debunking the "expensive procedure call" myth, 1977. Relay leaves recursion to
its virtual machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from xrelay.analysis.facts.call_graph import callee
from xrelay.analysis.facts.scopes import SKIPPED_FUNCTIONS, functions_without
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import ApplyOp, ClosureOp, type_params_of
from xrelay.dialects.core.values import YieldOp
from xrelay.transforms.rules.called_bodies import keeps_function, named
from xrelay.transforms.rules.inlining import compiler_of
from xrelay.transforms.rules.placeholders import may_be_placeholder, placeholder
from xrelay.transforms.rules.rewriting import Emitter
from xrelay.transforms.rules.tail_calls import last_operations


@dataclass(frozen=True)
class RecursionToLoopsPass(RelayPass):
    """Makes loops of functions that call themselves last."""

    name = "recursion-to-loops"

    def rewrite(self, op: ModuleOp) -> None:
        for function in functions_without(op, SKIPPED_FUNCTIONS):
            ops = list(walk(function, region_first=True))
            own = [each for each in ops if callee(each) == function.sym_name.data]
            for each in ops:
                if isinstance(each, ClosureOp):
                    _literal_to_loop(each)
            if len(function.body.blocks) == 1 and not type_params_of(function):
                Recursion(function.body.block, function.args, own).to_loop()


def _literal_to_loop(literal: ClosureOp) -> None:
    """Makes a loop of a function literal, which does not know itself any more then."""
    if literal.recursive is None or literal.type_params is not None:
        return
    if keeps_function(literal) or compiler_of(literal) is not None:
        return
    itself = literal.block.args[0]
    uses = list(itself.uses)
    if not all(isinstance(use.operation, ApplyOp) and use.index == 0 for use in uses):
        return
    if not uses or Recursion(literal.block, literal.params, [u.operation for u in uses]).to_loop():
        literal.block.erase_arg(itself)
        literal.recursive = None


class Recursion:
    """The body of a function, its parameters, and the calls of it within."""

    def __init__(self, block: Block, params: Sequence[SSAValue], calls: Sequence[Operation]):
        self.block = block
        self.params = params
        self.calls = frozenset(calls)

    def to_loop(self) -> bool:
        """Makes a loop of the body if there are calls and each is the last thing that is done. Returns whether it did."""
        end = self.block.last_op
        assert isinstance(end, func.ReturnOp | YieldOp)
        ends = last_operations(self.block)
        last = {op for _, op in ends if op is not None and op in self.calls}
        results = [value.type for value in end.operands]
        if not last or self.calls - last or not all(map(self._fits, last)):
            return False
        if not all(map(may_be_placeholder, results)):
            return False
        self._write(end, results)
        return True

    def _fits(self, call: Operation) -> bool:
        """Whether a call states the types of the function."""
        end = self.block.last_op
        assert end is not None
        given = [value.type for value in self._arguments(call)]
        expected = [param.type for param in self.params]
        return given == expected and call.result_types == end.operand_types

    def _arguments(self, call: Operation) -> Sequence[SSAValue]:
        return call.operands[1:] if isinstance(call, ApplyOp) else call.operands

    def _write(self, end: Operation, results: Sequence[Attribute]) -> None:
        """Moves the body into a loop. `end` ends it, with values of the types `results`."""
        varying = [
            i
            for i, param in enumerate(self.params)
            if any(named(self._arguments(call)[i]) is not param for call in self.calls)
        ]
        begin = [self.params[i] for i in varying]
        types = [*(value.type for value in begin), *results]
        end.detach()
        round_ = Block(arg_types=types)
        for arg, param in zip(round_.args, begin, strict=False):
            arg.name_hint = param.name_hint
        for op in list(self.block.ops):
            op.detach()
            round_.add_op(op)
        round_.add_op(scf.YieldOp(*end.operands))
        hints = [value.name_hint for value in end.operands]
        end.operands = []
        for arg, param in zip(round_.args, begin, strict=False):
            param.replace_all_uses_with(arg)
        self._end_rounds(round_, varying)
        test = Block(arg_types=[*types, i1])
        test.add_op(scf.ConditionOp(test.args[-1], *test.args[:-1]))
        emit = Emitter()
        nothing = [placeholder(type_, emit) for type_ in results]
        self.block.add_ops(emit.ops)
        self.block.add_op(go := arith.ConstantOp(IntegerAttr(1, i1)))
        loop = scf.WhileOp([*begin, *nothing, go.result], types, Region(test), Region(round_))
        loop.location = end.location
        self.block.add_op(loop)
        found = loop.results[len(begin) :]
        for result, hint in zip(found, hints, strict=True):
            result.name_hint = hint
        end.operands = list(found)
        self.block.add_op(end)

    def _end_rounds(self, round_: Block, varying: Sequence[int]) -> None:
        """Lets the block, and the branches that end it, give what is carried, the result, and whether to go on."""
        count = len(varying)
        kept, unknown = round_.args[:count], round_.args[count:]
        types = [*(arg.type for arg in round_.args), i1]
        for block, last in reversed(last_operations(round_)):
            end = block.last_op
            assert end is not None
            replaced = [end]
            if isinstance(last, scf.IfOp):
                then, otherwise = (last.detach_region(region) for region in list(last.regions))
                branch = scf.IfOp(last.cond, types, then, otherwise)
                block.insert_op_before(branch, last)
                branch.location = last.location
                replaced += _back_to(last, end)
                given = list(branch.results)
            elif last is not None and last in self.calls:
                replaced += _back_to(last, end)
                arguments = self._arguments(last)
                given = [*(arguments[i] for i in varying), *unknown, _number(1, end)]
            else:
                given = [*kept, *end.operands, _number(0, end)]
            block.insert_op_before(new := scf.YieldOp(*given), end)
            new.location = end.location
            for op in replaced:
                Rewriter.erase_op(op)


def _back_to(first: Operation, end: Operation) -> list[Operation]:
    """The operations in front of one, the last first, back to another."""
    found: list[Operation] = []
    while end is not first and end.prev_op is not None:
        end = end.prev_op
        found.append(end)
    return found


def _number(value: int, before: Operation) -> SSAValue:
    """A bool, made in front of an operation."""
    constant = arith.ConstantOp(IntegerAttr(value, i1))
    assert before.parent is not None
    before.parent.insert_op_before(constant, before)
    return constant.result
