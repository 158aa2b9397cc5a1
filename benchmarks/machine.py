"""
The machine that measures: what it is, and what it can do.

Peak arithmetic and read bandwidths are measured with small kernels of our own, in textual LLVM IR.
They are the best of several tries: a bound for kernels, not what a busy machine reaches on average.
"""

import ctypes
import os
import platform
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from llvmlite import binding

PACKAGES = ("xrelay", "xdsl", "llvmlite", "numpy", "onnx", "onnxruntime", "openvino", "torch")
CHAINS = 24
"""Independent multiply-adds in flight: more than latency × units of present processors."""

FMA_ITERATIONS = 1_000_000
TRIES = 8
READ_BYTES = 1 << 28
"""What one try of a bandwidth reads at least."""


@dataclass(frozen=True)
class Peak:
    """What some threads reach together: GFLOP/s, and GB/s read from each level of memory."""

    threads: int
    gflops: float
    l2: float
    l3: float
    dram: float


@dataclass(frozen=True)
class Cache:
    """The sizes in bytes of the caches that one core can use."""

    l1: int = 32 << 10
    l2: int = 1 << 20
    l3: int = 16 << 20


@dataclass(frozen=True)
class MachineDescription:
    """What reports say about the machine."""

    cpu: str
    cores: int
    cache: Cache
    memory: int
    vector_bits: int
    low_precision: tuple[str, ...]
    """Units for bfloat16 and the like, which engines that compute in float32 do not use."""
    load: float
    """The load average before the run: what others did on the machine."""
    system: str
    versions: dict[str, str]
    peaks: tuple[Peak, ...]

    def peak(self, threads: int) -> Peak | None:
        """The measured peak of some threads."""
        return next((peak for peak in self.peaks if peak.threads == threads), None)


def usable_cores() -> int:
    """The CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_name() -> str:
    """The processor's name and identification, as Linux tells them; else what Python knows."""
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return platform.processor() or platform.machine()
    fields = dict(re.findall(r"^([^\t\n]+)\t*: (.*)$", path.read_text(), re.MULTILINE))
    name = fields.get("model name", platform.machine())
    if "cpu family" not in fields:
        return name
    return f"{name} (family {fields['cpu family']}, model {fields.get('model', '?')})"


def cache_sizes() -> Cache:
    """The data caches of CPU 0, as Linux tells them; common sizes for those it does not tell."""
    sizes: dict[str, int] = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = (
            (index / name).read_text().strip() for name in ("type", "level", "size")
        )
        number = re.fullmatch(r"(\d+)([KM])", size)
        if kind != "Instruction" and number and level in "123":
            sizes[f"l{level}"] = int(number[1]) << {"K": 10, "M": 20}[number[2]]
    return Cache(**sizes)


def memory_bytes() -> int:
    """The size of main memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def installed_versions() -> dict[str, str]:
    """The versions of the packages that matter."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def vector_bits(features: dict[str, bool]) -> int:
    """The width of float vectors that the processor computes with."""
    if features.get("avx512f"):
        return 512
    return 256 if features.get("avx") else 128


def kernels_ir(lanes: int) -> str:
    """
    Two functions in LLVM IR on vectors of `lanes` floats. `multiply_add(count, out)` runs CHAINS
    chains of `count` multiply-adds. `read(pointer, count, passes, out)` adds up `count` blocks of 8
    vectors, `passes` times. Both write a result, so that nothing is left out.
    """
    vector = f"<{lanes} x float>"
    size = 4 * lanes
    factor = f"<{', '.join(['float 5.0e-01'] * lanes)}>"

    def total(count: int) -> list[str]:
        lines = [f"  %t1 = fadd {vector} %n0, %n1"]
        for i in range(2, count):
            lines.append(f"  %t{i} = fadd {vector} %t{i - 1}, %n{i}")
        return [*lines, f"  store {vector} %t{count - 1}, ptr %out, align 4"]

    fma = [
        "define void @multiply_add(i64 %count, ptr %out) {",
        "entry:",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]",
        *(
            f"  %a{c} = phi {vector} [ zeroinitializer, %entry ], [ %n{c}, %loop ]"
            for c in range(CHAINS)
        ),
        *(
            f"  %n{c} = call {vector} @llvm.fmuladd.v{lanes}f32"
            f"({vector} %a{c}, {vector} {factor}, {vector} {factor})"
            for c in range(CHAINS)
        ),
        "  %j = add i64 %i, 1",
        "  %more = icmp ult i64 %j, %count",
        "  br i1 %more, label %loop, label %exit",
        "exit:",
        *total(CHAINS),
        "  ret void",
        "}",
    ]
    read = [
        "define void @read(ptr %start, i64 %count, i64 %passes, ptr %out) {",
        "entry:",
        "  br label %pass",
        "pass:",
        "  %p = phi i64 [ 0, %entry ], [ %q, %next ]",
        *(
            f"  %s{c} = phi {vector} [ zeroinitializer, %entry ], [ %n{c}, %next ]"
            for c in range(8)
        ),
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [ 0, %pass ], [ %j, %loop ]",
        "  %at = phi ptr [ %start, %pass ], [ %then, %loop ]",
        *(f"  %a{c} = phi {vector} [ %s{c}, %pass ], [ %n{c}, %loop ]" for c in range(8)),
    ]
    for c in range(8):
        read += [
            f"  %g{c} = getelementptr i8, ptr %at, i64 {c * size}",
            f"  %l{c} = load {vector}, ptr %g{c}, align {size}",
            f"  %n{c} = fadd {vector} %a{c}, %l{c}",
        ]
    read += [
        f"  %then = getelementptr i8, ptr %at, i64 {8 * size}",
        "  %j = add i64 %i, 1",
        "  %more = icmp ult i64 %j, %count",
        "  br i1 %more, label %loop, label %next",
        "next:",
        "  %q = add i64 %p, 1",
        "  %again = icmp ult i64 %q, %passes",
        "  br i1 %again, label %pass, label %exit",
        "exit:",
        *total(8),
        "  ret void",
        "}",
    ]
    declaration = f"declare {vector} @llvm.fmuladd.v{lanes}f32({vector}, {vector}, {vector})"
    return "\n".join([*fma, *read, declaration, ""])


def machine_code(ir: str) -> binding.ExecutionEngine:
    """Functions in LLVM IR as machine code for this processor, with vectors as wide as it has."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple(binding.get_default_triple()).create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=f"{binding.get_host_cpu_features().flatten()},-prefer-256-bit",
        opt=2,
    )
    module = binding.parse_assembly(ir)
    module.verify()
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


class Kernels:
    """The kernels of `kernels_ir`, as machine code for this processor."""

    def __init__(self) -> None:
        self.lanes = vector_bits(binding.get_host_cpu_features()) // 32
        self._engine = machine_code(kernels_ir(self.lanes))
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self._multiply_add = ctypes.CFUNCTYPE(None, number, pointer)(
            self._engine.get_function_address("multiply_add")
        )
        self._read = ctypes.CFUNCTYPE(None, pointer, number, number, pointer)(
            self._engine.get_function_address("read")
        )

    def gflops(self, threads: int) -> float:
        """The rate of multiply-adds of some threads together; each counts as two operations."""

        def work(index: int) -> None:
            del index
            out = np.empty(self.lanes, np.float32)
            self._multiply_add(FMA_ITERATIONS, out.ctypes.data)

        operations = 2 * CHAINS * self.lanes * FMA_ITERATIONS * threads
        return operations / best_time(work, threads) / 1e9

    def bandwidth(self, threads: int, size: int) -> float:
        """GB/s that some threads read together, each over and over from `size` bytes of its own."""
        block = 8 * 4 * self.lanes
        blocks = max(1, size // block)
        passes = max(1, READ_BYTES // (blocks * block))
        buffers = [np.ones(blocks * block + 4096, np.uint8) for _ in range(threads)]

        def work(index: int) -> None:
            out = np.empty(self.lanes, np.float32)
            address = -(-buffers[index].ctypes.data // 4096) * 4096
            self._read(address, blocks, passes, out.ctypes.data)

        return threads * passes * blocks * block / best_time(work, threads) / 1e9


def best_time(work: Callable[[int], None], threads: int) -> float:
    """The shortest of TRIES times, in seconds, in which threads together do `work(index)`."""
    best = float("inf")
    for _ in range(TRIES):
        barrier = threading.Barrier(threads)
        spans: list[tuple[float, float]] = []

        def run(index: int, barrier: threading.Barrier, spans: list[tuple[float, float]]) -> None:
            barrier.wait()
            start = time.perf_counter()
            work(index)
            spans.append((start, time.perf_counter()))

        workers = [
            threading.Thread(target=run, args=(i, barrier, spans)) for i in range(1, threads)
        ]
        for worker in workers:
            worker.start()
        run(0, barrier, spans)
        for worker in workers:
            worker.join()
        best = min(best, max(end for _, end in spans) - min(start for start, _ in spans))
    return best


def measure_peak(kernels: Kernels, threads: int, cache: Cache) -> Peak:
    """Measures for a number of threads. Caches that are shared are shared among the threads."""
    l3 = max(min(4 * cache.l2, cache.l3 // (2 * threads)), cache.l2 + cache.l2 // 2)
    dram = min(2 * cache.l3, memory_bytes() // 4) // threads
    return Peak(
        threads,
        kernels.gflops(threads),
        kernels.bandwidth(threads, cache.l2 // 2),
        kernels.bandwidth(threads, l3),
        kernels.bandwidth(threads, dram),
    )


def measure_peaks(
    threads: tuple[int, ...], progress: Callable[[str], None], earlier: tuple[Peak, ...] = ()
) -> tuple[Peak, ...]:
    """Measures for some numbers of threads; what was higher earlier stays."""
    cache = cache_sizes()
    kernels = Kernels()
    best = {peak.threads: peak for peak in earlier}
    for count in threads:
        progress(f"measure the machine, {count} threads")
        peak = measure_peak(kernels, count, cache)
        best[count] = higher(peak, best.get(count, peak))
    return tuple(best.values())


def higher(one: Peak, other: Peak) -> Peak:
    """The higher of each number of two peaks of as many threads."""
    return Peak(
        one.threads,
        max(one.gflops, other.gflops),
        max(one.l2, other.l2),
        max(one.l3, other.l3),
        max(one.dram, other.dram),
    )


def describe_machine(
    threads: tuple[int, ...], progress: Callable[[str], None]
) -> MachineDescription:
    """Describes the machine, and measures its peaks for some numbers of threads."""
    load = os.getloadavg()[0]
    features = binding.get_host_cpu_features()
    units = ("amx-bf16", "amx-fp16", "amx-int8", "avx512bf16", "avx512fp16", "avx512vnni")
    return MachineDescription(
        cpu_name(),
        usable_cores(),
        cache_sizes(),
        memory_bytes(),
        vector_bits(features),
        tuple(unit for unit in units if features.get(unit)),
        load,
        f"{platform.system()} {platform.machine()}",
        installed_versions(),
        measure_peaks(threads, progress),
    )
