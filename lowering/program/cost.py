"""How long operators take at least."""

from xrelay.lowering.emit.target import Target


def least_seconds(target: Target, flops: float, memory_bytes: float) -> float:
    """The time that one core needs at least: to compute, or to read and write memory."""
    return max(flops / target.flops, memory_bytes / target.memory_bandwidth)
