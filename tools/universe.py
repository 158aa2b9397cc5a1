"""What the stock `xdsl-opt` finds of this package: factories, loaded on first use."""

from xdsl.ir import Dialect
from xdsl.universe import Universe


def _relay() -> Dialect:
    from xrelay.dialects.relay import Relay

    return Relay


XRELAY_UNIVERSE = Universe(all_dialects={"relay": _relay}, all_passes={}, all_targets={})
