"""
What becomes of networks: `networks.txt`, which a change of passes, fusion, choices, plans or code changes.

`make pages` writes it anew: the difference shows which groups, implementations, buffers and loops a change makes
different, and by the digest of its code whether a program is different at all.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import onnx.backend.test
from cases.small_networks import convolutions, transformer
from onnx import ModelProto
from xdsl.dialects import func, llvm
from xdsl.ir import Operation

from benchmarks.placement_networks import detector, lstm_tagger, nasnet_stack, two_towers, unet
from code_records.kernel_sizes import KINDS, digest
from xrelay.collector import collector_paused
from xrelay.compiler import lower, read_model
from xrelay.lowering.program.program import Program
from xrelay.options import CompileOptions

FILE = Path(__file__).parents[2] / "unit" / "lowering" / "networks.txt"
LIGHT = Path(onnx.backend.test.__file__).parent / "data" / "light"
"""Networks that come with onnx, whose weights are all the same."""

Model: TypeAlias = Path | ModelProto
Options: TypeAlias = tuple[str, CompileOptions]
"""What is said of options, and they."""

PLAIN: Options = ("x86-64-v3, 1 thread", CompileOptions(1, "x86-64-v3"))
THREADS: Options = ("x86-64-v4-amx, 4 threads", CompileOptions(4, "x86-64-v4-amx"))
BFLOATS: Options = (
    "x86-64-v4-bf16, 2 threads, bf16",
    CompileOptions(2, "x86-64-v4-bf16", precision="bf16"),
)
BYTES: Options = ("x86-64-v4-vnni, 2 threads", CompileOptions(2, "x86-64-v4-vnni"))
PROFILE: Options = ("x86-64, 2 threads, profile", CompileOptions(2, "x86-64", profile=True))


@dataclass(frozen=True)
class Network:
    """A network and the options that it is compiled with."""

    model: Callable[[], Model]
    options: tuple[Options, ...] = (PLAIN, THREADS)


def light(name: str) -> Callable[[], Path]:
    """The file of one that comes with onnx."""
    return lambda: LIGHT / f"light_{name}.onnx"


def networks() -> Iterator[tuple[str, Network]]:
    """All of them, by name."""
    yield "resnet50", Network(light("resnet50"))
    yield "shufflenet", Network(light("shufflenet"))
    yield "squeezenet", Network(light("squeezenet"), (PLAIN, BFLOATS))
    yield "unet", Network(partial(unet, 32), (PLAIN, THREADS, BFLOATS, PROFILE))
    yield "detector", Network(partial(detector, 32), (PLAIN, THREADS, PROFILE))
    yield "lstm_tagger", Network(partial(lstm_tagger, 8))
    yield "nasnet_stack", Network(partial(nasnet_stack, 16), (PLAIN, BFLOATS))
    yield "two_towers", Network(partial(two_towers, 16), (PLAIN, THREADS, BFLOATS))
    yield "convolutions", Network(convolutions, (PLAIN, BFLOATS))
    yield "transformer", Network(transformer, (PLAIN, THREADS, BFLOATS))
    for build in (convolutions, transformer):
        yield (
            f"{build.__name__} of bytes",
            Network(partial(build, integers=True), (PLAIN, BYTES, THREADS)),
        )


@collector_paused()
def program(model: Model, options: CompileOptions) -> Program:
    """The kernel IR of a model."""
    module, _ = read_model(model)
    return lower(module, options)


def called(op: Operation) -> str | None:
    """The function of the runtime that an operation calls."""
    if not isinstance(op, func.CallOp | llvm.CallOp) or op.callee is None:
        return None
    name = op.callee.string_value()
    return name if name.startswith("xrelay_") else None


def lines(compiled: Program) -> Iterator[str]:
    """What a program is: memory, code, and the steps that are of the same name and implementations."""
    counts = Counter(KINDS.get(type(op)) or called(op) or "others" for op in compiled.module.walk())
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    yield (
        f"{compiled.workspace_bytes} bytes of workspace in {len(compiled.buffers)} buffers, "
        f"{compiled.constant_bytes} of constants; {kinds}; code {digest(compiled.module)}"
    )
    steps = Counter[str]()
    for step in compiled.steps:
        name = step.name.rstrip("0123456789").rstrip("_")
        ways = " + ".join(choice.implementation.name for choice in step.choices)
        steps[f"{name}{': ' if ways else ''}{ways}"] += 1
    yield from (f"{count} {step}" for step, count in steps.items())


def entries() -> Iterator[tuple[str, Callable[[], Model], CompileOptions]]:
    """The name of each network with options, and they."""
    for name, network in networks():
        for said, options in network.options:
            yield f"{name}, {said}", network.model, options


def entry(model: Callable[[], Model], options: CompileOptions) -> str:
    """What is on record of a network."""
    return "".join(f"  {line}\n" for line in lines(program(model(), options)))


def text() -> str:
    """All that is on record."""
    return "".join(f"{name}\n{entry(model, options)}" for name, model, options in entries())


if __name__ == "__main__":
    FILE.write_text(text())
