"""What the code generator makes of the features of a processor."""

import pytest

from xrelay.lowering.emit.target import TARGETS, Target, native_target

BASES = {"x86-64": (), "x86-64-v3": ("avxvnni",), "x86-64-v4": ("avx512vnni", "avx512bf16")}
"""The dot products that LLVM has names for on the registers of each named target."""
FIELDS = (
    *("vector_bytes", "vector_registers", "fma", "f16c", "vnni", "bf16_dot", "byte_permutes"),
)
"""What a processor is asked for."""


def native(*features: str) -> Target:
    """A processor that has some features and lacks another."""
    return native_target("triple", "cpu", {"amx-fp16": False, **dict.fromkeys(features, True)})


def test_tile_registers_are_for_those_who_name_a_target() -> None:
    named = TARGETS["x86-64-v4-amx"]
    assert named.bf16_tiles and named.byte_tiles
    found = native(*named.required)
    assert not (found.bf16_tiles or found.byte_tiles)
    assert not any(feature.startswith("amx") for feature in found.required)
    assert "+amx" not in found.features and "-amx-tile" in found.features


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
