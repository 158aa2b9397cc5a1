"""
Programs with scopes: some operations in a row of a main function move into branches, a loop, a function value or a function
of the module, or what they give goes through a tuple or a name.

    %0 = relay.tanh %x            %f = relay.closure {        func.call @part1(%x) …, scf.if %c {…} else {…},
    %1 = relay.exp %0      ──►      relay.yield (relay.exp (relay.tanh %x))        scf.while …, relay.tuple …
    return %1                     }
                                  return (relay.apply %f())
"""

from collections.abc import Callable, Sequence
from random import Random

from xdsl.dialects import arith, func, scf, tensor
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from xrelay.analysis.facts.ports import entry_function
from xrelay.dialects.core.functional import ApplyOp, ClosureOp, LetOp, values_from_outside
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp, YieldOp
from xrelay.dialects.shapes import is_tensor_type


class Part:
    """Some operations in a row of a block, and the place behind them."""

    def __init__(self, module: ModuleOp, ops: Sequence[Operation], random: Random):
        self.module, self.ops, self.random = module, ops, random
        inside = {inner for op in ops for inner in op.walk()}
        results = [result for op in ops for result in op.results]
        uses = {v: [use for use in v.uses if use.operation not in inside] for v in results}
        self.uses = {value: found for value, found in uses.items() if found}
        """What others use of the part, and where."""
        self.given = list(self.uses)
        used = [value for op in ops for value in (*op.operands, *values_from_outside(op))]
        self.taken = [value for value in dict.fromkeys(used) if value not in results]
        block, behind = ops[-1].parent, ops[-1].next_op
        assert block is not None and behind is not None
        self.block, self.behind = block, behind

    def add(self, *ops: Operation) -> Sequence[SSAValue]:
        """Adds operations behind the part; returns the results of the last one."""
        self.block.insert_ops_before(ops, self.behind)
        return ops[-1].results

    def copy(self, block: Block, mapping: dict[SSAValue, SSAValue]) -> list[SSAValue]:
        """Adds a copy of the part to a block; returns what it gives."""
        block.add_ops([op.clone(mapping) for op in self.ops])
        return [mapping[value] for value in self.given]

    def condition(self) -> SSAValue:
        """A new parameter that decides something."""
        param = self.block.insert_arg(TensorType(i1, []), len(self.block.args))
        return self.add(tensor.ExtractOp(param, [], i1))[0]

    def fields(self, value: SSAValue) -> Sequence[SSAValue]:
        """The fields of a tuple of what the part gives."""
        return [self.add(TupleGetItemOp(value, n))[0] for n in range(len(self.given))]

    # -- what takes the place of the part -----------------------------------------------------

    def branches(self) -> Sequence[SSAValue]:
        """The same in both branches."""
        blocks = Block(), Block()
        for block in blocks:
            block.add_op(scf.YieldOp(*self.copy(block, {})))
        taken, other = map(Region, blocks)
        types = [value.type for value in self.given]
        return self.add(scf.IfOp(self.condition(), types, taken, other))

    def loop(self) -> Sequence[SSAValue]:
        """A loop of at most one round, which computes the same once more."""
        types = [i1, *(value.type for value in self.given)]
        before, after = Block(arg_types=types), Block(arg_types=types)
        before.add_op(scf.ConditionOp(before.args[0], *before.args))
        stop = arith.ConstantOp.from_int_and_width(0, 1)
        again = self.copy(after, {})
        after.add_ops([stop, scf.YieldOp(stop.result, *again)])
        carried = [self.condition(), *self.given]
        return self.add(scf.WhileOp(carried, types, Region(before), Region(after)))[1:]

    def function_value(self) -> Sequence[SSAValue]:
        """A function value, which takes some operands and captures the others."""
        params = [value for value in self.taken if self.random.random() < 0.5]
        block = Block(arg_types=[value.type for value in params])
        results = self.copy(block, dict(zip(params, block.args, strict=True)))
        whole = TupleOp(results)
        block.add_ops([whole, YieldOp(whole.result)])
        closure = ClosureOp(Region(block))
        self.add(closure)
        return self.fields(self.add(ApplyOp(closure.result, params))[0])

    def function(self) -> Sequence[SSAValue]:
        """A call of a function of the module."""
        block = Block(arg_types=[value.type for value in self.taken])
        results = self.copy(block, dict(zip(self.taken, block.args, strict=True)))
        block.add_op(func.ReturnOp(*results))
        name = f"part{len(self.module.body.block.ops)}"
        type_ = FunctionType.from_lists(block.arg_types, [value.type for value in results])
        self.module.body.block.add_op(func.FuncOp(name, type_, Region(block)))
        return self.add(func.CallOp(name, self.taken, type_.outputs.data))

    def packed(self) -> Sequence[SSAValue]:
        """The fields of a tuple."""
        return self.fields(self.add(TupleOp(self.given))[0])

    def named(self) -> Sequence[SSAValue]:
        """Names."""
        return [self.add(LetOp(value))[0] for value in self.given]


WAYS: tuple[Callable[[Part], Sequence[SSAValue]], ...] = (
    Part.branches,
    Part.loop,
    Part.function_value,
    Part.function,
    Part.packed,
    Part.named,
)


def with_scope(module: ModuleOp, random: Random) -> None:
    """Gives the main function of a program one more scope, unless what is chosen gives nothing."""
    main = entry_function(module)
    ops = list(main.body.block.ops)[:-1]
    if not ops:
        return
    first = random.randrange(len(ops))
    part = Part(module, ops[first : random.randint(first + 1, len(ops))], random)
    if not part.given:
        return
    tensors = all(is_tensor_type(value.type) for value in part.given)
    way = random.choice(WAYS if tensors else WAYS[2:])
    for old, value in zip(part.given, way(part), strict=True):
        for use in part.uses[old]:
            use.operation.operands[use.index] = value
    for op in reversed(part.ops):
        if not any(result.uses for result in op.results):
            op.detach()
            op.erase()
    main.update_function_type()
    module.verify()
