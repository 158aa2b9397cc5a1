"""What the code generator makes of the features of a processor."""

import pytest

from xrelay.lowering.emit import target
from xrelay.lowering.emit.target import TARGETS, Target, named_target, native_target
from xrelay.runtime.host import Host

BASES = {"x86-64": (), "x86-64-v3": ("avxvnni",), "x86-64-v4": ("avx512vnni", "avx512bf16")}
"""The dot products that LLVM has names for on the registers of each named target."""
FIELDS = (
    *("vector_bytes", "vector_registers", "fma", "f16c", "vnni", "bf16_dot"),
    *("bf16_tiles", "byte_tiles", "byte_permutes"),
)
"""What a processor is asked for."""


def native(*features: str, tiles: bool = True) -> Target:
    """A processor that has some features and lacks another."""
    has = {"amx-fp16": False, **dict.fromkeys(features, True)}
    return native_target("triple", "cpu", has, tiles=tiles)


def test_native_does_without_tile_registers_that_the_system_refuses() -> None:
    named = TARGETS["x86-64-v4-amx"]
    found = native(*named.required, tiles=False)
    assert not (found.bf16_tiles or found.byte_tiles)
    assert not any(feature.startswith("amx") for feature in found.required)
    assert "+amx" not in found.features and "-amx-tile" in found.features


@pytest.mark.parametrize("has_tiles", [False, True])
@pytest.mark.parametrize("granted", [False, True])
def test_only_processors_with_tile_registers_ask_for_them(
    monkeypatch: pytest.MonkeyPatch, has_tiles: bool, granted: bool
) -> None:
    asked: list[bool] = []
    features = {name: True for name in TARGETS["x86-64-v4-amx"].required}
    found = Host("triple", "cpu", {**features, "amx-tile": has_tiles})
    monkeypatch.setattr(target, "host", lambda: found)
    monkeypatch.setattr(target, "may_use_tiles", lambda: asked.append(True) or granted)
    assert named_target("native").bf16_tiles == (has_tiles and granted)
    assert asked == [True] * has_tiles
    assert named_target("x86-64-v4-amx").bf16_tiles and len(asked) == has_tiles


@pytest.mark.parametrize("name", TARGETS)
def test_a_processor_with_the_features_of_a_named_target_is_like_it(name: str) -> None:
    named = TARGETS[name]
    found = native(*named.required)
    for field in FIELDS:
        assert getattr(found, field) == getattr(named, field), field


@pytest.mark.parametrize("base", BASES)
def test_dot_products_are_those_of_whole_registers(base: str) -> None:
    required = TARGETS[base].required
    for feature in ("avxvnni", "avx512vnni", "avx512bf16"):
        found = native(*required, feature)
        known = feature in BASES[base]
        assert found.vnni == (known and "vnni" in feature)
        assert found.bf16_dot == (known and "bf16" in feature)
