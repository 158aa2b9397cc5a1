"""
`partition-graph`: every region for a compiler becomes a function that the compiler is given.

    func.func @main(%x) {                     func.func @main(%x) {
      %b = begin %x "dnnl"                      %0 = func.call @tvmgen_default_dnnl_main_0(%x)
      %0 = relay.nn.relu %b          ──►        %1 = relay.exp %0
      %e = end %0 "dnnl"                        return %1
      %1 = relay.exp %e                       }
      return %1                               func.func private @tvmgen_default_dnnl_main_0(%p) …
    }

1. A tuple that leaves a region leaves it field by field, so that outputs do not nest.
2. Regions for `default` are no regions, and what a `let` binds enters none.
3. `xrelay.analysis.partition.partitioning` says what the function of each region takes and returns. One result is
   returned as it is, several as a tuple. Inputs that are constants, or tuples of constants, move
   into the function when `bind_constants` is on.
4. The function is named after compiler, function and number of the region, and has the attributes
   `Compiler`, `Primitive`, `Inline` and `global_symbol`. The compiler optimises it, if it is registered
   with a hook for that.

Leaves alone: all that is in no region.

Source: Relay's PartitionGraph.
"""

from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.names import module_symbols, sanitized, unused_name
from xrelay.analysis.facts.pattern_walker import PatternWalker
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.partition.compiler_regions import enters_let
from xrelay.analysis.partition.compilers import DEFAULT, REGISTRY
from xrelay.analysis.partition.partitioning import Partition, PartitionedRegion, plan_partition
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.annotation import CompilerAnnotationOp, CompilerBeginOp, CompilerEndOp
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.transforms.rules.borders import RemoveBorders
from xrelay.transforms.rules.compiler_hooks import rewritten_by
from xrelay.transforms.rules.operands import exchange_operands
from xrelay.transforms.rules.rewriting import erase_unused


class FlattenTupleOutput(RewritePattern):
    """The end of a tuple is the tuple of the ends of its fields."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CompilerEndOp, rewriter: PatternRewriter, /) -> None:
        fields = op.data.owner
        if not isinstance(fields, TupleOp):
            return
        ends = [CompilerEndOp(field, op.compiler.data) for field in fields.fields]
        outside = TupleOp([end.result for end in ends])
        for new in (*ends, outside):
            new.location = op.location
        rewriter.replace(op, (*ends, outside))
        erase_unused((fields.result,), rewriter)


def is_bound(value: SSAValue) -> bool:
    """Whether a value is a constant or a tuple of constants."""
    owner = value.owner
    if isinstance(owner, TupleOp):
        return all(isinstance(field.owner, ConstantOp) for field in owner.fields)
    return isinstance(owner, ConstantOp)


@dataclass
class _Outliner:
    """Moves the regions of one function into functions."""

    partition: Partition
    mod_name: str
    bind_constants: bool
    symbols: set[str]
    """The names that the module's operations have."""
    exchanged: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What stands for the results of borders."""

    def run(self) -> list[func.FuncOp]:
        """The functions, in order."""
        order = dict(self.partition.order)
        replaced: dict[SSAValue, SSAValue] = {}
        made: list[func.FuncOp] = []
        for op in reversed(self.partition.dead):
            Rewriter.erase_op(op)
        for partitioned in self.partition.regions:
            function, call = self.outline(partitioned, replaced)
            made.append(function)
            new: list[Operation] = [call]
            results = partitioned.region.results
            outputs: list[SSAValue] = list(call.results)
            if len(results) > 1:
                new.extend(TupleGetItemOp(call.results[0], i) for i in range(len(results)))
                outputs = [projection.results[0] for projection in new[1:]]
            for value, output in zip(results, outputs, strict=True):
                output.name_hint = value.name_hint
                replaced[value] = output
            for op in new:
                op.location = partitioned.region.ops[0].location
                order[op] = partitioned.time
            last = partitioned.home.last_op
            assert last is not None
            Rewriter.insert_op(new, InsertPoint.before(last))
            for end in partitioned.region.outputs:
                self.exchange(end.result, replaced[end.data])
        for function in (self.partition.function, *made):
            exchange_operands(walk(function), self.exchanged)
        for partitioned in reversed(self.partition.regions):
            for border in (*partitioned.region.outputs, *partitioned.sources):
                Rewriter.erase_op(border)
        self.sort(order)
        return made

    def exchange(self, old: SSAValue, new: SSAValue) -> None:
        """Notes that `new` takes the place of `old`, and its name if it has none."""
        self.exchanged[old] = new
        if new.name_hint is None:
            new.name_hint = old.name_hint

    def outline(
        self, partitioned: PartitionedRegion, replaced: dict[SSAValue, SSAValue]
    ) -> tuple[func.FuncOp, func.CallOp]:
        """The function of a region, and its call."""
        region = partitioned.region
        block = Block()
        inside: dict[SSAValue, SSAValue] = {}
        arguments: list[SSAValue] = []
        index = {begin: i for i, begin in enumerate(region.inputs)}
        binds = self.bind_constants and REGISTRY.get(region.compiler).bind_constants
        for source, begin in partitioned.params.items():
            value = replaced.get(source, source)
            if binds and is_bound(value):
                inside[source] = bound(value, block)
                continue
            parameter = block.insert_arg(begin.result.type, len(arguments))
            parameter.name_hint = f"{sanitized(region.compiler)}_{region.id}_i{index[begin]}"
            arguments.append(value)
            inside[source] = parameter
        for begin, source in partitioned.sources.items():
            self.exchange(begin.result, inside[source])
        results = region.results
        for op in partitioned.body:
            op.detach()
            block.add_op(op)
        returned = results
        if len(results) > 1:
            packed = TupleOp(results)
            block.add_op(packed)
            returned = [packed.result]
        block.add_op(func.ReturnOp(*returned))

        name = self.name(partitioned)
        type_ = FunctionType.from_lists(block.arg_types, [value.type for value in returned])
        function = func.FuncOp(name, type_, Region(block), "private")
        function.location = region.ops[0].location
        function.attributes["Compiler"] = StringAttr(region.compiler)
        return function, func.CallOp(name, arguments, type_.outputs.data)

    def name(self, partitioned: PartitionedRegion) -> str:
        """`tvmgen_<module>_<compiler>_<function>_<number>`, of letters, digits and underscores."""
        region = partitioned.region
        words = ("tvmgen", self.mod_name, region.compiler, region.function, str(region.id))
        name = unused_name(sanitized("_".join(filter(None, words))), self.symbols)
        self.symbols.add(name)
        return name

    def sort(self, order: dict[Operation, int]) -> None:
        """Puts the operations of each block where they are computed."""
        for block in dict.fromkeys(op.parent for op in order):
            assert block is not None
            ops = list(block.ops)
            wanted = sorted(ops, key=lambda op: (op.has_trait(IsTerminator), order[op]))
            if wanted != ops:
                for op in wanted:
                    op.detach()
                block.add_ops(wanted)


def bound(value: SSAValue, block: Block) -> SSAValue:
    """A copy of a constant or a tuple of constants in a block."""
    owner = value.owner
    assert isinstance(owner, ConstantOp | TupleOp)
    copies: dict[SSAValue, SSAValue] = {}
    for operand in owner.operands:
        if operand not in copies and isinstance(operand.owner, ConstantOp):
            copies[operand] = bound(operand, block)
    copy = owner.clone(copies)
    block.add_op(copy)
    return copy.results[0]


def hand_over(function: func.FuncOp) -> func.FuncOp:
    """
    The function of a region as its compiler wants it, with the attributes that keep others away.

    Raises DiagnosticException as `rewritten_by`.
    """
    compiler = function.attributes.pop("Compiler")
    assert isinstance(compiler, StringAttr)
    optimize = REGISTRY.get(compiler.data).optimize
    if optimize is not None:
        function, _ = rewritten_by(compiler.data, function, optimize)
    flag = IntegerAttr(1, i32)
    function.attributes.update(
        {
            "Compiler": compiler,
            "Inline": flag,
            "Primitive": flag,
            "global_symbol": function.sym_name,
        }
    )
    return function


@dataclass(frozen=True)
class PartitionGraphPass(RelayPass):
    """Makes functions of the regions of compilers."""

    name = "partition-graph"

    mod_name: str = "default"
    """A part of the functions' names."""
    bind_constants: bool = True
    """Whether constants that enter a region move into its function."""

    def rewrite(self, op: ModuleOp) -> None:
        begin_nothing = {
            each for each in walk(op) if isinstance(each, CompilerBeginOp) and enters_let(each)
        }

        def in_front(border: CompilerAnnotationOp) -> SSAValue | None:
            is_none = border.compiler.data == DEFAULT or border in begin_nothing
            return border.data if is_none else None

        PatternWalker(
            GreedyRewritePatternApplier(
                [RemoveBorders(in_front), FlattenTupleOutput()], dce_enabled=False
            )
        ).rewrite_module(op)
        effects, symbols = Effects(), module_symbols(op)
        functions = (each for each in walk(op) if isinstance(each, func.FuncOp))
        made: list[func.FuncOp] = []
        for partition in [plan_partition(each, effects) for each in functions]:
            if partition.regions or partition.dead:
                outliner = _Outliner(partition, self.mod_name, self.bind_constants, symbols)
                made.extend(outliner.run())
        op.body.block.add_ops(map(hand_over, made))
