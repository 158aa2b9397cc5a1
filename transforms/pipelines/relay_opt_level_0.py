"""
`relay-opt-level-0`: algebra and inference's normalisation; each operator is a kernel of its own.

    %0 = relay.nn.dense %x, %w                      %0 = relay.fused %x, %w { relay.nn.dense … }
    %1 = relay.nn.dropout %0                ──►     %1 = relay.fused %0 { relay.exp … }
    %2 = relay.exp %1[0]

The passes of TVM's `relay.build` under `opt_level=0`, on a processor of which it knows nothing: xrelay.transforms.pipelines.build
lists them, and what is missing.

Source: GetPassPrefix and RelayBuildModule::OptimizeImpl of TVM 0.10.
"""

from xrelay.transforms.pipelines.build import BuildPass


class RelayOptLevel0Pass(BuildPass):
    """Runs what TVM's build runs at level 0."""

    name = "relay-opt-level-0"
    level = 0
