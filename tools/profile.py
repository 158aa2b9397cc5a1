"""The table of `xrelay run --profile`: the time of every step, and how good that is."""

from collections.abc import Mapping
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from xrelay.lowering.emit.target import NATIVE, named_target
from xrelay.runtime.files import write_files
from xrelay.runtime.machine import Machine
from xrelay.runtime.model import Array, Model
from xrelay.runtime.peak import peak_flops
from xrelay.runtime.profile import profile_model
from xrelay.tools.progress import stage_progress
from xrelay.tools.tables import shown_names, table_console


def show_profile(model: Model, inputs: Mapping[str, Array], trace: str | None) -> None:
    """Profiles a model, prints its steps by their time, and writes a trace when asked for one."""
    with stage_progress() as progress:
        progress("profile the model")
        profile = profile_model(model, inputs)
        peak = _peak(profile.threads)
    table = Table("step", title="by time, medians")
    table.add_column("function", overflow="fold")
    table.add_column("implementation", overflow="fold")
    named = any(step.spec.nodes for step in profile.steps)
    if named:
        table.add_column("nodes", overflow="fold")
    for heading in ("ms", "% of run", "GFLOP/s", "% of peak", "GB/s"):
        table.add_column(heading, justify="right")
    for step in sorted(profile.steps, key=lambda step: (-step.seconds, step.number)):
        table.add_row(
            str(step.number),
            step.spec.name,
            step.spec.implementation,
            *([escape(shown_names(step.spec.nodes))] if named else []),
            f"{1e3 * step.seconds:.3f}",
            f"{100 * step.seconds / profile.seconds:.1f}",
            f"{step.flops / 1e9:.1f}",
            f"{100 * step.flops / peak:.1f}",
            f"{step.bandwidth / 1e9:.1f}",
        )
    console = table_console()
    console.print(table)
    flops = sum(step.spec.flops for step in profile.steps) / profile.seconds
    console.print(
        f"{1e3 * profile.seconds:.3f} ms on {profile.threads} "
        f"{'thread' if profile.threads == 1 else 'threads'}, {flops / 1e9:.1f} GFLOP/s, "
        f"{100 * flops / peak:.1f} % of the measured peak of {peak / 1e9:.1f} GFLOP/s"
    )
    if trace is not None:
        write_files({Path(trace): profile.chrome_trace().encode()})
        console.print(f"trace: {trace}")


def _peak(threads: int) -> float:
    """What this machine can do at best, in single-precision operations per second."""
    target = named_target(NATIVE)
    machine = Machine(target.triple, target.cpu, target.features)
    return peak_flops(machine, target.vector_bytes, threads, fused=target.fma)
