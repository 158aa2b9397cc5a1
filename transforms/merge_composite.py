"""
`merge-composite`: what a compiler knows as one operator becomes a `relay.composite`.

    %0 = relay.nn.conv2d %x, %w            %0 = relay.composite "dnnl.conv2d_relu" %x, %w {
    %1 = relay.nn.relu %0           ──►    ^bb0(%p, %q):
                                             …
                                           }

Each compiler has a table of patterns `(name, pattern, check)`, the preferred ones first: what an earlier
pattern took is not looked into again. `xrelay.analysis.patterns.groups` says where a pattern occurs.

Leaves alone: functions with `Compiler`, `Extern` or `SkipOptimization`, the bodies of `relay.fused` and
`relay.composite`, and matches with control flow.

Source: Relay's MergeComposite.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xrelay.analysis.facts.pattern_walker import PatternWalker
from xrelay.analysis.facts.scopes import SKIPPED_FUNCTIONS, has_flag
from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.partition.compilers import REGISTRY
from xrelay.analysis.patterns.composites import CompositePattern
from xrelay.analysis.patterns.groups import PatternGroup, find_groups
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.values import CompositeOp, YieldOp
from xrelay.transforms.rules.rewriting import replace_and_tidy


@dataclass(frozen=True)
class OutlineGroup(RewritePattern):
    """A group of operations becomes a composite in the place of its root."""

    name: str
    groups: dict[Operation, tuple[int, PatternGroup]]
    """The group of each root, with its number."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if op not in self.groups:
            return
        number, group = self.groups[op]
        block = Block(arg_types=[value.type for value in group.inputs])
        mapping: dict[SSAValue, SSAValue] = {}
        for index, (value, param) in enumerate(zip(group.inputs, block.args, strict=True)):
            param.name_hint = f"FunctionVar_{number}_{index}"
            mapping[value] = param
        for each in group.ops:
            block.add_op(each.clone(mapping))
        (result,) = op.results
        block.add_op(YieldOp(mapping[result]))
        composite = CompositeOp(
            self.name,
            group.inputs,
            Region(block),
            result.type,
            partitioned_from_pattern=group.name,
        )
        composite.location = op.location
        composite.result.name_hint = result.name_hint
        replace_and_tidy(op, composite, None, rewriter)


def merge_composites(op: ModuleOp, table: Sequence[CompositePattern]) -> None:
    """Makes composites of the patterns of a table in all functions of a module."""
    for function in walk(op):
        if not isinstance(function, func.FuncOp) or has_flag(function, SKIPPED_FUNCTIONS):
            continue
        for entry in table:
            groups = {
                group.root: (number, group)
                for number, group in enumerate(find_groups(function, entry))
            }
            # From the last to the first: the inputs of a group are the results of others that are
            # still to be replaced, and are replaced in it too then.
            PatternWalker(
                OutlineGroup(entry.name, groups), apply_recursively=False, walk_reverse=True
            ).rewrite_region(function.body)


@dataclass(frozen=True)
class MergeCompositePass(RelayPass):
    """
    Makes composites for compilers.

    Without compilers, and for one that has no patterns, it raises PassOptionError.
    """

    name = "merge-composite"

    targets: tuple[str, ...] = ()
    """The compilers whose tables are used, one after the other."""

    def rewrite(self, op: ModuleOp) -> None:
        if not self.targets:
            raise PassOptionError("'targets' is empty, expected names of compilers")
        tables = [REGISTRY.get(target).patterns for target in self.targets]
        for target, table in zip(self.targets, tables, strict=True):
            if not table:
                raise PassOptionError(f"'targets' has '{target}', which has no patterns")
            merge_composites(op, table)
