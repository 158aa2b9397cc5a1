"""What holds for all kernels of a program."""

from dataclasses import dataclass

from xrelay.analysis.facts.suggestions import require_at_least
from xrelay.lowering.emit.target import Target, named_target
from xrelay.lowering.emit.tuning import NO_RECORDS, TuningRecords
from xrelay.lowering.operators.conv.winograd import WINOGRAD_NAMES


@dataclass(frozen=True)
class KernelOptions:
    """For which machine code is generated, and what the choice of implementations depends on."""

    target: Target
    threads: int = 1
    excluded: frozenset[str] = frozenset()
    """Names of implementations that must not be used."""
    records: TuningRecords = NO_RECORDS
    """What was measured, which decides before priorities and estimates."""
    flushes_bfloat: bool = False
    """Whether f32 numbers below the normal ones become zeros as bf16, which is what products of bf16 count them as."""
    shares_all: bool = False
    """Whether all threads share small steps, too (see `small.py`)."""
    weights_are_kept: bool = False
    """Whether the weights of the program stay in a cache from one run to the next (`Target.kept_bytes`)."""

    def __post_init__(self) -> None:
        require_at_least(1, threads=self.threads)

    @property
    def has_small_steps(self) -> bool:
        """Whether one of several threads runs small steps alone."""
        return self.threads > 1 and not self.shares_all

    @staticmethod
    def of(
        target: str,
        threads: int,
        *,
        winograd: bool = True,
        records: TuningRecords = NO_RECORDS,
        flushes_bfloat: bool = False,
    ) -> "KernelOptions":
        """
        For the target of a name; without `winograd` no convolution uses Winograd's algorithm. With `flushes_bfloat`
        targets that multiply bf16 convert to it by their instruction.

        Raises PassOptionError for an unknown name.
        """
        excluded = frozenset[str]() if winograd else WINOGRAD_NAMES
        machine = named_target(target)
        flushes = flushes_bfloat and machine.bf16_dot
        return KernelOptions(machine, threads, excluded, records, flushes)
