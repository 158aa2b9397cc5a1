"""
`relay-opt-level-1`: what level 0 does, of the functions that `main` needs, and operators fuse.

    %0 = relay.nn.dense %x, %w              ──►     %0 = relay.fused %x, %w { relay.nn.dense …, relay.exp … }
    %1 = relay.exp %0

The passes of TVM's `relay.build` under `opt_level=1`, on a processor of which it knows nothing: xrelay.transforms.pipelines.build
lists them, and what is missing.

Source: GetPassPrefix and RelayBuildModule::OptimizeImpl of TVM 0.10.
"""

from xrelay.transforms.pipelines.build import BuildPass


class RelayOptLevel1Pass(BuildPass):
    """Runs what TVM's build runs at level 1."""

    name = "relay-opt-level-1"
    level = 1
