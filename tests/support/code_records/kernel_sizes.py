"""
How much code the kernels of operators are: `kernel_sizes.txt`, which a change of their code changes.

`make pages` writes it anew: the difference shows which kernels a change makes longer or
shorter, and what loops and accesses to memory it adds; by the digest, which are different at all.
"""

from collections import Counter
from hashlib import sha256
from pathlib import Path

from cases.kernel import Case
from cases.operators import CASES, ONE_DTYPE
from cases.tensor import TABLES
from graphs import Graph
from xdsl.dialects import llvm, scf
from xdsl.ir import Operation

from xrelay.collector import collector_paused
from xrelay.lowering.program.program import Program

FILE = Path(__file__).parents[2] / "unit" / "lowering" / "kernel_sizes.txt"
TARGET, THREADS = "x86-64-v3", 2

KINDS: dict[type[Operation], str] = {
    scf.ForOp: "loops",
    scf.WhileOp: "loops",
    scf.IfOp: "branches",
    llvm.LoadOp: "loads",
    llvm.StoreOp: "stores",
    llvm.ShuffleVectorOp: "shuffles",
}


def all_cases() -> dict[str, Case]:
    """One of each family: that of f32, or of the first dtype where there is none."""
    cases = {name: case for table in TABLES for name, case in table.cases.items()} | CASES
    found: dict[str, str] = {}
    for name in cases:
        stem, dash, _ = name.rpartition("-")
        family = name if name in ONE_DTYPE or not dash else stem + dash
        if family not in found or name.endswith("-float32"):
            found[family] = name
    return {name: cases[name] for name in found.values()}


def digest(module: Operation) -> str:
    """Stands for code."""
    return sha256(str(module).encode()).hexdigest()[:8]


def described(program: Program) -> str:
    """
    The numbers of steps, of arithmetic and of bytes of tensors, of operations, of some kinds of them, and of
    implementations; memory.
    """
    counts = Counter(KINDS.get(type(op), "others") for op in program.module.walk())
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in dict.fromkeys(KINDS.values()))
    used = Counter(choice.implementation.name for step in program.steps for choice in step.choices)
    ways = ", ".join(f"{count} {name}" for name, count in sorted(used.items()))
    flops, moved = (
        sum(each) for each in zip(*((s.flops, s.bytes) for s in program.steps), strict=True)
    )
    return (
        f"{len(program.steps)} steps, {flops} flops, {moved} bytes, {program.workspace_bytes} of workspace; "
        f"{counts.total()} operations, of these {kinds}; {ways or 'no choices'}; code {digest(program.module)}"
    )


@collector_paused()
def size(case: Case) -> str:
    """What is on record of a case."""
    g = Graph()
    case(g)
    return described(g.program(TARGET, THREADS))


def text() -> str:
    """A line for each case."""
    return "".join(f"{name}: {size(case)}\n" for name, case in sorted(all_cases().items()))


if __name__ == "__main__":
    FILE.write_text(text())
