"""The arithmetic that this machine can do at best, as a bound to compare kernels with."""

import time
from functools import cache

import numpy as np

from xrelay.runtime.code import ModelCode
from xrelay.runtime.machine import Machine
from xrelay.runtime.model import Model
from xrelay.runtime.signature import Signature

CHAINS = 24
"""Independent multiply-adds: more than latency × units of present processors, and as many as
registers hold."""
ROUNDS = 200_000
TRIES = 10


@cache
def peak_flops(machine: Machine, vector_bytes: int, threads: int, *, fused: bool) -> float:
    """
    Single-precision operations per second that some threads of this machine reach together, with
    multiplications and additions on vector registers alone, `fused` where that is an instruction.
    The best of a few tries of some milliseconds each.
    """
    lanes = vector_bytes // 4
    signature = Signature("peak", (), (), 0, vector_bytes * CHAINS * threads, "", (), threads)
    ir = peak_ir(lanes, machine.triple, fused=fused).encode()
    model = Model.from_code(ModelCode(signature, ir, machine, np.empty(0, np.uint8)))
    best = float("inf")
    for _ in range(TRIES):
        start = time.perf_counter()
        model.run({})
        best = min(best, time.perf_counter() - start)
    return 2 * lanes * CHAINS * ROUNDS * threads / best


def peak_ir(lanes: int, triple: str, *, fused: bool) -> str:
    """A program in which every thread multiplies and adds, in chains that do not wait for one
    another, and stores what comes out."""
    vector = f"<{lanes} x float>"

    def splat(number: str) -> str:
        return f"<{', '.join([f'float {number}'] * lanes)}>"

    def step(chain: int) -> str:
        # A factor of one half and a summand of one half stay at one, a normal number.
        half = f"{vector} {splat('0.5')}"
        if fused:
            return (
                f"  %n{chain} = call {vector} @llvm.fma.v{lanes}f32({vector} %a{chain}, {half}, "
                f"{half})"
            )
        return (
            f"  %m{chain} = fmul {vector} %a{chain}, {splat('0.5')}\n"
            f"  %n{chain} = fadd {vector} %m{chain}, {splat('0.5')}"
        )

    chains = range(CHAINS)
    lines = [
        f'target triple = "{triple}"',
        f"declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})",
        "define void @peak_step_all(ptr %i, ptr %o, ptr %c, ptr %workspace, i64 %thread,",
        "                           i64 %threads, ptr %team) {",
        "start:",
        f"  %offset = mul i64 %thread, {4 * lanes * CHAINS}",
        "  %place = getelementptr i8, ptr %workspace, i64 %offset",
        "  br label %loop",
        "loop:",
        "  %round = phi i64 [ 0, %start ], [ %next, %loop ]",
        *(f"  %a{i} = phi {vector} [ {splat('2.0')}, %start ], [ %n{i}, %loop ]" for i in chains),
        *map(step, chains),
        "  %next = add i64 %round, 1",
        f"  %more = icmp ult i64 %next, {ROUNDS}",
        "  br i1 %more, label %loop, label %done",
        "done:",
    ]
    for i in chains:
        lines.append(f"  %p{i} = getelementptr {vector}, ptr %place, i64 {i}")
        lines.append(f"  store {vector} %n{i}, ptr %p{i}, align 4")
    return "\n".join([*lines, "  ret void", "}", ""])
