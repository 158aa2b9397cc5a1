"""What the code generator knows about the CPU that it generates code for."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from xrelay.analysis.facts.suggestions import PassOptionError, did_you_mean
from xrelay.runtime.host import host
from xrelay.runtime.machine import TILES, may_use_tiles

TILE_ROW_BYTES = 64
"""Of a row of a tile register."""


@dataclass(frozen=True)
class Target:
    """
    A CPU: what LLVM calls it, and what strategies choose by. A named target never looks at the
    host; only `native` does.
    """

    name: str
    cpu: str
    """LLVM's name of the processor."""
    features: str
    """LLVM's feature string, "+avx2,+fma"; empty for what `cpu` implies."""
    vector_bytes: int
    """Width of the vector registers in bytes."""
    vector_registers: int
    fma: bool
    """Whether fused multiply-add is an instruction. Where it is not, it would be a call."""
    f16c: bool
    """Whether conversion between f16 and f32 is an instruction. Where it is not, likewise."""
    vnni: bool = False
    """Whether products of four bytes in 32-bit lanes are summed by one instruction, on whole registers."""
    bf16_dot: bool = False
    """Whether products of two bf16 in f32 lanes are summed by one instruction, on whole registers."""
    bf16_tiles: bool = False
    """Whether tile registers sum the products of two matrices of bf16 by one instruction (AMX)."""
    byte_tiles: bool = False
    """Whether they do so for matrices of bytes."""
    byte_permutes: bool = False
    """Whether bytes of two registers are picked by one instruction, with a number for each byte (VBMI)."""
    required: tuple[str, ...] = ()
    """The features, in LLVM's names, without which its code does not run."""
    flops: float = 20e9
    """Single-precision operations per second of one core, multiply-add counted as two."""
    l1_bytes: int = 32 * 1024
    l2_bytes: int = 512 * 1024
    kept_bytes: int = 16 * 1024 * 1024
    """So many bytes of weights are taken to be in the last-level cache still when the program runs again."""
    l2_bandwidth: float = 50e9
    """Bytes per second that one core reads from its second-level cache."""
    memory_bandwidth: float = 10e9
    """Bytes per second that one core reads from memory."""
    triple: str = "x86_64-unknown-linux-gnu"

    @property
    def title(self) -> str:
        """What signatures say: the name, or for the CPU of this machine LLVM's name of it."""
        return self.cpu if self.name == NATIVE else self.name

    @property
    def has_short_dots(self) -> bool:
        """Whether products of two 16-bit integers in 32-bit lanes are summed by one instruction."""
        return self.triple.startswith("x86_64-")

    @property
    def cycle_seconds(self) -> float:
        """The time in which a core starts two multiply-adds on vectors of single precision."""
        return 4 * self.lanes(4) / self.flops

    @property
    def byte_tile_lanes(self) -> int:
        """How many bytes of a position tile registers take at once; 0 where they multiply none."""
        return TILE_ROW_BYTES if self.byte_tiles else 0

    @property
    def bf16_tile_lanes(self) -> int:
        """How many bf16 of a position they take at once; 0 where they multiply none."""
        return TILE_ROW_BYTES // 2 if self.bf16_tiles else 0

    def lanes(self, element_bytes: int) -> int:
        """How many elements of a size one vector register holds."""
        return max(1, self.vector_bytes // element_bytes)


GENERIC = Target("x86-64", "x86-64", "", 16, 16, fma=False, f16c=False)
_V3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
AVX2 = Target(
    "x86-64-v3",
    "x86-64-v3",
    "",
    32,
    16,
    fma=True,
    f16c=True,
    required=_V3,
    flops=80e9,
    l2_bandwidth=70e9,
)
AVX512 = Target(
    "x86-64-v4",
    "x86-64-v4",
    "",
    64,
    32,
    fma=True,
    f16c=True,
    required=_V4,
    flops=150e9,
    l2_bytes=1024 * 1024,
    l2_bandwidth=84e9,
)


def _with_features(base: Target, features: Collection[str]) -> Target:
    """A CPU with the registers of `base`, and the instructions for them among some features."""
    vnni = {AVX2.vector_bytes: "avxvnni", AVX512.vector_bytes: "avx512vnni"}
    wide = base.vector_bytes == AVX512.vector_bytes
    has_tiles = wide and "amx-tile" in features
    return replace(
        base,
        vnni=vnni.get(base.vector_bytes) in features,
        bf16_dot=wide and "avx512bf16" in features,
        bf16_tiles=has_tiles and "amx-bf16" in features,
        byte_tiles=has_tiles and "amx-int8" in features,
        byte_permutes=wide and "avx512vbmi" in features,
    )


def _with_dots(base: Target, name: str, *features: str) -> Target:
    """A CPU that has some dot products more than another."""
    return replace(
        _with_features(base, features),
        name=name,
        features=",".join(f"+{feature}" for feature in features),
        required=(*base.required, *features),
    )


AVX2_VNNI = _with_dots(AVX2, "x86-64-v3-vnni", "avxvnni")
AVX512_VNNI = _with_dots(AVX512, "x86-64-v4-vnni", "avx512vnni")
AVX512_VBMI = _with_dots(AVX512, "x86-64-v4-vbmi", "avx512vnni", "avx512vbmi")
AVX512_BF16 = _with_dots(AVX512, "x86-64-v4-bf16", "avx512vnni", "avx512bf16")
AVX512_AMX = _with_dots(
    AVX512, "x86-64-v4-amx", "avx512vnni", "avx512bf16", "amx-tile", "amx-bf16", "amx-int8"
)

TARGETS = {
    target.name: target
    for target in (
        *(GENERIC, AVX2, AVX512, AVX2_VNNI, AVX512_VNNI, AVX512_VBMI, AVX512_BF16),
        AVX512_AMX,
    )
}
NATIVE = "native"


def named_target(name: str) -> Target:
    """
    The description of a named target, or of the processor of this machine for `native`.

    Raises PassOptionError for an unknown name.
    """
    if name == NATIVE:
        found = host()
        tiles = bool(found.features.get(TILES)) and may_use_tiles()
        return native_target(found.triple, found.cpu, found.features, tiles=tiles)
    if name not in TARGETS:
        raise PassOptionError(unknown_target(name))
    return TARGETS[name]


def unknown_target(name: str) -> str:
    """What is said of a name that is not that of a target."""
    known = (NATIVE, *TARGETS)
    suggestion = did_you_mean(name, known)
    return f"unknown target '{name}', known targets are {', '.join(known)}{suggestion}"


def native_target(triple: str, cpu: str, features: Mapping[str, bool], *, tiles: bool) -> Target:
    """
    The description of a processor that LLVM calls `cpu`, with or without some features, and with `tiles` where the
    system lets this process use the tile registers that it has.
    """
    has = {
        feature
        for feature, present in features.items()
        if present and (tiles or not feature.startswith("amx"))
    }
    if set(AVX512.required) <= has:
        base = AVX512
    elif set(AVX2.required) <= has:
        base = AVX2
    else:
        base = GENERIC
    return replace(
        _with_features(base, has),
        name=NATIVE,
        cpu=cpu,
        features=",".join(f"{'+' if name in has else '-'}{name}" for name in sorted(features)),
        f16c="f16c" in has,
        required=tuple(sorted(has)),
        triple=triple,
    )
