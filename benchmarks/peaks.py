"""
How fast this processor multiplies and adds elements of each type: what products of matrices can reach at best.

    python -m benchmarks.peaks [--threads 1,2]

For each instruction, the operations in a second of a loop that does nothing else, in registers; a product and a sum count
as two. Best of several tries. Products of f16 and of weights of 4 bits are those of f32 here.
"""

import argparse
import ctypes
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import binding
from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import thread_counts
from benchmarks.machine import best_time, machine_code
from xrelay.runtime.machine import TILES, may_use_tiles

ROUNDS = 300_000
CHAINS = 24
"""Independent sums in vector registers."""
TILE_SUMS = (0, 1, 2, 3, 4, 5)
"""Tile registers with sums; the last two of eight have operands."""
FULL_TILES = b"\x01" + bytes(15) + b"\x40\x00" * 8 + bytes(16) + b"\x10" * 8 + bytes(8)
"""The configuration of eight tiles: the palette, bytes of a row of each, and rows of each, 64 bytes with gaps."""


@dataclass(frozen=True)
class Instruction:
    """One that multiplies and adds."""

    title: str
    features: tuple[str, ...]
    """What a processor has that has it, in LLVM's words."""
    intrinsic: str
    operations: int
    sums: str = ""
    """The type of a register of sums; none for tiles."""
    factors: str = ""
    """That of the two factors."""


INSTRUCTIONS = (
    Instruction(
        *("f32, vfmadd", ("avx512f",), "llvm.fmuladd.v16f32", 32), "<16 x float>", "<16 x float>"
    ),
    Instruction(
        *("bf16, vdpbf16ps", ("avx512bf16",), "llvm.x86.avx512bf16.dpbf16ps.512", 64),
        *("<16 x float>", "<32 x bfloat>"),
    ),
    Instruction(
        *("u8 × s8, vpdpbusd", ("avx512vnni",), "llvm.x86.avx512.vpdpbusd.512", 128),
        *("<16 x i32>", "<64 x i8>"),
    ),
    Instruction("bf16, tdpbf16ps", (TILES, "amx-bf16"), "llvm.x86.tdpbf16ps", 2 * 16 * 16 * 32),
    Instruction("u8 × s8, tdpbusd", (TILES, "amx-int8"), "llvm.x86.tdpbusd", 2 * 16 * 16 * 64),
)


def loop_ir(instruction: Instruction) -> str:
    """A function `run(rounds, pointer)` with a loop over the instruction; the pointer is to a register's memory."""
    return tile_ir(instruction) if not instruction.sums else vector_ir(instruction)


def vector_ir(instruction: Instruction) -> str:
    """CHAINS sums in vector registers, which are added up and stored."""
    sums, factors, name = instruction.sums, instruction.factors, instruction.intrinsic
    # Of dot products the sums come first, of multiply-adds last.
    operands = [(sums, "%s{}"), (factors, "%x"), (factors, "%y")]
    operands = operands[1:] + operands[:1] if "fmuladd" in name else operands
    types = ", ".join(type_ for type_, _ in operands)
    values = ", ".join(f"{type_} {value}" for type_, value in operands)
    add = "fadd" if "float" in sums else "add"
    chains = range(CHAINS)
    total = [f"  %t1 = {add} {sums} %n0, %n1"]
    total += [f"  %t{i} = {add} {sums} %t{i - 1}, %n{i}" for i in range(2, CHAINS)]
    return "\n".join(
        [
            f"declare {sums} @{name}({types})",
            "define void @run(i64 %rounds, ptr %memory) {",
            "entry:",
            f"  %x = load {factors}, ptr %memory, align 64",
            f"  %y = load {factors}, ptr %memory, align 64",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]",
            *(
                f"  %s{c} = phi {sums} [ zeroinitializer, %entry ], [ %n{c}, %loop ]"
                for c in chains
            ),
            *(f"  %n{c} = call {sums} @{name}({values.format(c)})" for c in chains),
            "  %j = add i64 %i, 1",
            "  %more = icmp ult i64 %j, %rounds",
            "  br i1 %more, label %loop, label %exit",
            "exit:",
            *total,
            f"  store {sums} %t{CHAINS - 1}, ptr %memory, align 64",
            "  ret void",
            "}",
            "",
        ]
    )


def tile_ir(instruction: Instruction) -> str:
    """Sums in six tile registers, all of 16 rows of 64 bytes. The memory holds their configuration."""
    name = instruction.intrinsic
    return "\n".join(
        [
            "declare void @llvm.x86.ldtilecfg(ptr)",
            "declare void @llvm.x86.tilerelease()",
            "declare void @llvm.x86.tilezero(i8)",
            f"declare void @{name}(i8, i8, i8)",
            "define void @run(i64 %rounds, ptr %memory) {",
            "entry:",
            "  call void @llvm.x86.ldtilecfg(ptr %memory)",
            *(f"  call void @llvm.x86.tilezero(i8 {i})" for i in range(8)),
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]",
            *(f"  call void @{name}(i8 {i}, i8 6, i8 7)" for i in TILE_SUMS),
            "  %j = add i64 %i, 1",
            "  %more = icmp ult i64 %j, %rounds",
            "  br i1 %more, label %loop, label %exit",
            "exit:",
            "  call void @llvm.x86.tilerelease()",
            "  ret void",
            "}",
            "",
        ]
    )


def available(instruction: Instruction) -> bool:
    """Whether this process may use it."""
    features = binding.get_host_cpu_features()
    there = all(features.get(each) for each in instruction.features)
    return there and (TILES not in instruction.features or may_use_tiles())


class Loop:
    """The loop over an instruction, as machine code."""

    def __init__(self, instruction: Instruction):
        self.instruction = instruction
        self._engine = machine_code(loop_ir(instruction))
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(
            self._engine.get_function_address("run")
        )

    def rate(self, threads: int) -> float:
        """10⁹ operations a second of some threads together."""
        chains = CHAINS if self.instruction.sums else len(TILE_SUMS)
        rounds = ROUNDS if self.instruction.sums else ROUNDS // 16

        def work(index: int) -> None:
            del index
            buffer = ctypes.create_string_buffer(2 * len(FULL_TILES))
            address = -(-ctypes.addressof(buffer) // 64) * 64
            if not self.instruction.sums:
                ctypes.memmove(address, FULL_TILES, len(FULL_TILES))
            self._run(rounds, address)

        operations = chains * rounds * threads * self.instruction.operations
        return operations / best_time(work, threads) / 1e9


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser("python -m benchmarks.peaks", description=__doc__)
    parser.add_argument("--threads", type=thread_counts, default=(1, 2), help="default 1,2")
    args = parser.parse_args(arguments)
    table = Table("products", title="10⁹ operations a second", title_justify="left")
    for threads in args.threads:
        table.add_column("1 thread" if threads == 1 else f"{threads} threads", justify="right")
    for instruction in filter(available, INSTRUCTIONS):
        loop = Loop(instruction)
        table.add_row(instruction.title, *(f"{loop.rate(each):.0f}" for each in args.threads))
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
