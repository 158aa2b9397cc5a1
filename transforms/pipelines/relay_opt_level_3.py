"""
`relay-opt-level-3`: what level 2 does, and scales move into weights, and equal operators are computed once.

    %0 = relay.exp %x                               %0 = relay.fused %x {
    %1 = relay.exp %x                       ──►       %1 = relay.exp …
    %2 = relay.add %0, %1                             relay.add %1, %1 }

The passes of TVM's `relay.build` under `opt_level=3`, on a processor of which it knows nothing: xrelay.transforms.pipelines.build
lists them, and what is missing.

Source: GetPassPrefix and RelayBuildModule::OptimizeImpl of TVM 0.10.
"""

from xrelay.transforms.pipelines.build import BuildPass


class RelayOptLevel3Pass(BuildPass):
    """Runs what TVM's build runs at level 3."""

    name = "relay-opt-level-3"
    level = 3
