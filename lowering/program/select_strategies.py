"""
`select-strategies`: writes on each `relay.fused` what computes its operators.

    %0 = relay.fused %x, %w {                  %0 = relay.fused %x, %w attributes {strategies = [
      relay.nn.conv2d …               ──►        #relay.strategy<anchor 0 "relay.nn.conv2d" by "blocked",
      relay.nn.relu …                              rows = 2, columns = 7, vectors = 2, …>]} {
    }                                            relay.nn.conv2d …
                                                 relay.nn.relu …
                                               }

An entry stands for each operator that gets loops of its own: its implementation, the numbers that the
loops are made with, and whether it is the *anchor*, on whose registers the operators behind it run. The
others of a `relay.fused` are computed on demand. Code is generated as the attribute says: edit it, and
compile the program.

Run it after `fuse-ops`. An operator outside of `relay.fused` that gets loops is put into one. What a
`relay.fused` states already stays; parameters that it does not state are chosen. What cannot be done is
refused with the reason. Only the function that is compiled is looked at.

Source: IREE's LLVMCPUSelectLoweringStrategy.
"""

from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.relay_pass import RelayPass
from xrelay.lowering.emit.target import NATIVE
from xrelay.lowering.emit.tuning import NO_RECORDS, TuningError, read_records
from xrelay.lowering.program.control_flow import called_functions
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.program import require_lowerable
from xrelay.lowering.program.selection import select_strategies


@dataclass(frozen=True)
class StrategySelection(RelayPass):
    """The pass as the compiler runs it, with options that text cannot state."""

    name = "select-strategies"

    options: KernelOptions
    function: str | None = None

    def rewrite(self, op: ModuleOp) -> None:
        function = entry_function(op, self.function)
        for each in (function, *called_functions(function)):
            require_lowerable(each)
            select_strategies(each, self.options)


@dataclass(frozen=True)
class SelectStrategiesPass(RelayPass):
    """
    Writes what computes the operators of the function that is compiled.

    Raises PassOptionError for a target that there is not, and for a file that holds no tuning records.
    """

    name = "select-strategies"

    target: str = NATIVE
    """The CPU: native, or a named one such as x86-64-v4."""
    threads: int = 1
    """How many threads run the program."""
    winograd: bool = True
    """Whether convolutions may use Winograd's algorithm."""
    tuning: str | None = None
    """A file that `xrelay tune` wrote."""
    function: str | None = None
    """The function to lower; by default `main`, or the only one of the module."""

    def rewrite(self, op: ModuleOp) -> None:
        try:
            records = NO_RECORDS if self.tuning is None else read_records(Path(self.tuning))
        except TuningError as error:
            raise PassOptionError(str(error)) from error
        options = KernelOptions.of(
            self.target, self.threads, winograd=self.winograd, records=records
        )
        StrategySelection(options, self.function).rewrite(op)
