"""
`relay-opt-level-2`: what level 1 does, and constants are folded: TVM's default.

    %0 = relay.add %a, %b  // constants             %0 = relay.constant dense<…>
    %1 = relay.nn.dense %x, %0              ──►     %1 = relay.fused %x, %0 { relay.nn.dense … }

The passes of TVM's `relay.build` under `opt_level=2`, on a processor of which it knows nothing: xrelay.transforms.pipelines.build
lists them, and what is missing.

Source: GetPassPrefix and RelayBuildModule::OptimizeImpl of TVM 0.10.
"""

from xrelay.transforms.pipelines.build import BuildPass


class RelayOptLevel2Pass(BuildPass):
    """Runs what TVM's build runs at level 2."""

    name = "relay-opt-level-2"
    level = 2
