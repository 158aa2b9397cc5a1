"""
Programs with scopes: some operations in a row of a main function move into branches, a loop, a function value or a function
of the module, or what they give goes through a tuple, a name or data of the module's own type. Function values capture, are
given to others, give others, call themselves, and are functions of the module or constructors.

    %0 = relay.tanh %x            %f = relay.closure {        func.call @part1(%x) …, scf.if %c {…} else {…},
    %1 = relay.exp %0      ──►      relay.yield (relay.exp (relay.tanh %x))        scf.while …, relay.tuple …
    return %1                     }
                                  return (relay.apply %f())
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith, func, scf, tensor
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from xrelay.analysis.facts.ports import entry_function
from xrelay.dialects.core.adt import (
    ConstructorAttr,
    ConstructorOp,
    ConstructorPatternAttr,
    MatchOp,
    TypeDefOp,
    VarPatternAttr,
    constructor_ref,
)
from xrelay.dialects.core.functional import (
    AdtType,
    ApplyOp,
    ClosureOp,
    FnType,
    GlobalVarOp,
    LetOp,
    TypeVarType,
    types_inside,
    values_from_outside,
)
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp, YieldOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.interpreters.constants import constant_op


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

    def body(self, params: Sequence[SSAValue]) -> Block:
        """The block of a function that takes some values, and gives a tuple of what the part gives."""
        block = Block(arg_types=[value.type for value in params])
        whole = TupleOp(self.copy(block, dict(zip(params, block.args, strict=True))))
        block.add_ops([whole, YieldOp(whole.result)])
        return block

    def some(self) -> list[SSAValue]:
        """Some of what the part takes."""
        return [value for value in self.taken if self.random.random() < 0.5]

    def module_function(self, block: Block, *, private: bool = False) -> str:
        """Adds a function of this block to the module; returns its name."""
        end = block.last_op
        assert isinstance(end, func.ReturnOp)
        name = f"part{len(self.module.body.block.ops)}"
        type_ = FunctionType.from_lists(block.arg_types, [value.type for value in end.arguments])
        visibility = "private" if private else None
        function = func.FuncOp(name, type_, Region(block), visibility=visibility)
        self.module.body.block.add_op(function)
        return name

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
        params = self.some()
        closure = ClosureOp(Region(self.body(params)))
        self.add(closure)
        return self.fields(self.add(ApplyOp(closure.result, params))[0])

    def function_of_functions(self) -> Sequence[SSAValue]:
        """A function value that another one calls."""
        params = self.some()
        closure = ClosureOp(Region(self.body(params)))
        type_ = closure.result.type
        caller = Block(arg_types=[type_, *(value.type for value in params)])
        call = ApplyOp(caller.args[0], caller.args[1:])
        caller.add_ops([call, YieldOp(call.result)])
        other = ClosureOp(Region(caller))
        self.add(closure, other)
        return self.fields(self.add(ApplyOp(other.result, [closure.result, *params]))[0])

    def function_in_parts(self) -> Sequence[SSAValue]:
        """A function value that takes some operands, and gives one that takes others."""
        first = self.some()
        rest = [value for value in self.some() if value not in first]
        outer = Block(arg_types=[value.type for value in first])
        block = Block(arg_types=[value.type for value in rest])
        mapping = dict(zip((*first, *rest), (*outer.args, *block.args), strict=True))
        whole = TupleOp(self.copy(block, mapping))
        block.add_ops([whole, YieldOp(whole.result)])
        inner = ClosureOp(Region(block))
        outer.add_ops([inner, YieldOp(inner.result)])
        closure = ClosureOp(Region(outer))
        self.add(closure)
        given = self.add(ApplyOp(closure.result, first))[0]
        return self.fields(self.add(ApplyOp(given, rest))[0])

    def function_that_calls_itself(self) -> Sequence[SSAValue]:
        """A function value that calls itself once, unless the first call is told not to."""
        decides, params = TensorType(i1, []), self.some()
        block = self.body(params)
        end = block.last_op
        assert end is not None
        (result,) = end.operands
        itself = block.insert_arg(FnType([decides, *block.arg_types], result.type), 0)
        again = block.insert_arg(decides, 1)
        end.detach()
        end.erase()
        stop = constant_op(np.asarray(False))
        call = ApplyOp(itself, [stop.result, *block.args[2:]])
        calls = Block([stop, call, scf.YieldOp(call.result)])
        condition = tensor.ExtractOp(again, [], i1)
        branches = scf.IfOp(
            condition, [result.type], Region(calls), Region(Block([scf.YieldOp(result)]))
        )
        block.add_ops([condition, branches, YieldOp(branches.results[0])])
        closure = ClosureOp(Region(block), recursive=True)
        decided = self.block.insert_arg(decides, len(self.block.args))
        self.add(closure)
        return self.fields(self.add(ApplyOp(closure.result, [decided, *params]))[0])

    def function(self) -> Sequence[SSAValue]:
        """A call of a function of the module."""
        block = Block(arg_types=[value.type for value in self.taken])
        results = self.copy(block, dict(zip(self.taken, block.args, strict=True)))
        block.add_op(func.ReturnOp(*results))
        name = self.module_function(block)
        return self.add(func.CallOp(name, self.taken, [value.type for value in results]))

    def function_of_module_as_value(self) -> Sequence[SSAValue]:
        """A function of the module that is called, or given to one that calls it."""
        block = self.body(self.taken)
        end = block.last_op
        assert end is not None
        Rewriter.replace_op(end, func.ReturnOp(end.operands[0]))
        types = block.arg_types, end_type(block)
        name = self.module_function(block, private=self.random.random() < 0.5)
        value = GlobalVarOp(name, FnType(*types))
        self.add(value)
        if self.random.random() < 0.5:
            return self.fields(self.add(ApplyOp(value.result, self.taken))[0])
        caller = Block(arg_types=[value.result.type, *types[0]])
        call = ApplyOp(caller.args[0], caller.args[1:])
        caller.add_ops([call, func.ReturnOp(call.result)])
        given = [value.result, *self.taken]
        return self.fields(
            self.add(func.CallOp(self.module_function(caller), given, [types[1]]))[0]
        )

    def unused_function(self) -> Sequence[SSAValue]:
        """Itself, and beside it a function that nothing calls."""
        block = Block(arg_types=[value.type for value in self.taken])
        results = self.copy(block, dict(zip(self.taken, block.args, strict=True)))
        block.add_op(func.ReturnOp(*results))
        self.module_function(block, private=True)
        return self.given

    def constructed(self) -> Sequence[SSAValue]:
        """The fields of data, which a constructor that is called as a function has made."""
        name = f"Box{len(self.module.body.block.ops)}"
        types = [value.type for value in self.given]
        # Data types that are defined with functions in them are refused by some passes.
        params = {
            f"A{number}": type_
            for number, type_ in enumerate(types)
            if self.random.random() < 0.3
            or any(isinstance(part, FnType) for part in types_inside([type_]))
        }
        fields = [TypeVarType(f"A{n}") if f"A{n}" in params else t for n, t in enumerate(types)]
        definition = TypeDefOp(name, list(params), [ConstructorAttr("Full", fields)])
        self.module.body.block.add_op(definition)
        full, type_ = constructor_ref(name, "Full"), AdtType(name, list(params.values()))
        constructor = ConstructorOp(full, FnType(types, type_))
        made = ApplyOp(constructor.result, self.given)
        self.add(constructor, made)
        clause = Block(arg_types=types)
        whole = TupleOp(clause.args)
        clause.add_ops([whole, YieldOp(whole.result)])
        pattern = ConstructorPatternAttr(full, [VarPatternAttr() for _ in types])
        match = MatchOp(made.result, [pattern], [Region(clause)], whole.result.type)
        return self.fields(self.add(match)[0])

    def packed(self) -> Sequence[SSAValue]:
        """The fields of a tuple."""
        return self.fields(self.add(TupleOp(self.given))[0])

    def named(self) -> Sequence[SSAValue]:
        """Names."""
        return [self.add(LetOp(value))[0] for value in self.given]


Way: TypeAlias = Callable[[Part], Sequence[SSAValue]]

WAYS: tuple[Way, ...] = (
    Part.branches,
    Part.loop,
    Part.function_value,
    Part.function_of_functions,
    Part.function_in_parts,
    Part.function_that_calls_itself,
    Part.function,
    Part.function_of_module_as_value,
    Part.unused_function,
    Part.constructed,
    Part.packed,
    Part.named,
)
OF_TENSORS = (Part.branches, Part.loop)
"""Those that give tensors only."""
WITHOUT_LOOPS = tuple(way for way in WAYS if way is not Part.loop)


def end_type(block: Block) -> Attribute:
    """The type of what a block gives."""
    assert block.last_op is not None
    return block.last_op.operands[0].type


def with_scope(module: ModuleOp, random: Random, ways: Sequence[Way] = WAYS) -> None:
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
    way = random.choice([each for each in ways if tensors or each not in OF_TENSORS])
    for old, value in zip(part.given, way(part), strict=True):
        for use in part.uses[old]:
            use.operation.operands[use.index] = value
    for op in reversed(part.ops):
        if not any(result.uses for result in op.results):
            op.detach()
            op.erase()
    main.update_function_type()
    module.verify()
