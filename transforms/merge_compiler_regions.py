"""
`merge-compiler-regions`: neighbours for one compiler become one region.

    %b = begin %x "a"                           %b = begin %x "a"
    %0 = relay.nn.relu %b                       %0 = relay.nn.relu %b
    %e = end %0 "a"                   ──►       %1 = relay.exp %0
    %c = begin %e "a"                           %f = end %1 "a"
    %1 = relay.exp %c
    %f = end %1 "a"

`xrelay.analysis.partition.region_merging` decides. The pattern removes the pairs of end and begin between the parts
of a region. Regions for `default` are merged too. Running the pass twice changes nothing.

Leaves alone: functions with `Compiler`, `Extern` or `SkipOptimization`; regions that are no neighbours,
and those between which something else lies, which would need the region's results and be needed
by it.

Source: Relay's MergeCompilerRegions.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.pattern_walker import PatternWalker
from xrelay.analysis.facts.scopes import SKIPPED_FUNCTIONS, has_flag
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.partition.region_merging import plan_merge
from xrelay.analysis.relay_pass import RelayPass
from xrelay.transforms.rules.borders import RemoveBorders


@dataclass(frozen=True)
class MergeCompilerRegionsPass(RelayPass):
    """Merges regions for the same compiler."""

    name = "merge-compiler-regions"

    speculate: bool = True
    """
    Whether a region within a branch may be merged with one outside, and so be computed when the branch
    is not taken.
    """

    def rewrite(self, op: ModuleOp) -> None:
        effects = Effects()
        for function in walk(op):
            if isinstance(function, func.FuncOp) and not has_flag(function, SKIPPED_FUNCTIONS):
                plan = plan_merge(function, effects, speculate=self.speculate)
                PatternWalker(RemoveBorders(plan.in_front), apply_recursively=False).rewrite_region(
                    function.body
                )
