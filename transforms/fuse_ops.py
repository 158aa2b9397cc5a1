"""
`fuse-ops`: groups operators into `relay.fused`, each of which becomes one kernel.

    %0 = relay.nn.dense %x, %w            %1 = relay.fused %x, %w {
    %1 = relay.nn.relu %0          ──►    ^bb0(%p0, %p1):
                                            %2 = relay.nn.dense %p0, %p1
                                            %3 = relay.nn.relu %2
                                            relay.yield %3
                                          }

The decision is `xrelay.analysis.fusion.plan.plan_fusion`, made for all blocks before anything changes;
`outline_groups` carries it out. A group moves to the place of its root, the one member that others
use. Values from outside become parameters p0, p1, …

Leaves alone: functions with `Compiler`, `Extern`, `SkipOptimization` or `Primitive`, the bodies of
`relay.fused`, operations of other dialects, tuples and projections that end a group, and constants
that are not in a group.

Run it after types are inferred and expressions are simplified. Running it twice changes nothing.
A scalar constant goes into a group when all its users do: one that unrelated operators share is a
parameter, so that sharing is better undone before.

With `rules=extended` groups may have several outputs, and compute again what is cheap
(`xrelay.analysis.fusion.extended`).

Source: Relay's FuseOps.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.scopes import has_flag
from xrelay.analysis.fusion.plan import FusionOptions, fusion_blocks, plan_fusion
from xrelay.analysis.relay_pass import RelayPass
from xrelay.transforms.rules.outline_groups import outline_groups


@dataclass(frozen=True)
class FuseOpsPass(RelayPass):
    """
    Groups operators into `relay.fused`.

    A wrong option raises PassOptionError.
    """

    name = "fuse-ops"

    opt_level: int = FusionOptions.opt_level
    """At 0 every operator becomes a `relay.fused` of its own. From 1 on operators fuse."""
    max_depth: int = FusionOptions.max_depth
    """The largest number of nodes in a group. Constants, tuples and projections count."""
    link_params: bool | None = None
    """
    Whether constants of all shapes move into the groups that use them, instead of being
    parameters. When not given, the module's attribute `link-params` says so.
    """
    explain: bool = False
    """Whether what ends a group says why, in the attribute `relay.fusion_remark`."""
    max_function_args: int = FusionOptions.max_function_args
    """The largest number of parameters and results of a `relay.fused`; 0 for no limit."""
    rules: str = FusionOptions.rules
    """`relay` for Relay's rules, `cpu` or `extended` for more than them (docs/fusion.md)."""

    @classmethod
    def of(cls, options: FusionOptions) -> "FuseOpsPass":
        """The pass that fuses by these options."""
        return cls(**vars(options))

    def rewrite(self, op: ModuleOp) -> None:
        link_params = self.link_params
        if link_params is None:
            link_params = has_flag(op, ("link-params",))
        options = FusionOptions(
            self.opt_level, self.max_depth, link_params, self.max_function_args, self.rules
        )

        plans = [plan_fusion(block, options) for block in fusion_blocks(op)]
        outline_groups(op, plans, link_params=link_params, explain=self.explain)
