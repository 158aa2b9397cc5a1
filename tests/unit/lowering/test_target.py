"""What the code generator makes of the features of a processor."""

import pytest

from xrelay.lowering.emit.target import TARGETS, Target, native_target

BASES = {"x86-64": (), "x86-64-v3": ("avxvnni",), "x86-64-v4": ("avx512vnni", "avx512bf16")}
FIELDS = (
    *("vector_bytes", "vector_registers", "fma", "f16c", "vnni", "bf16_dot"),
    *("bf16_tiles", "byte_tiles", "byte_permutes"),
)
"""The dot products that LLVM has names for on the registers of each named target."""


def native(*features: str) -> Target:
    """A processor that has some features and lacks another."""
    return native_target("triple", "cpu", {"amx-fp16": False, **dict.fromkeys(features, True)})


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


@pytest.mark.parametrize("base", BASES)
def test_products_of_tiles_need_tiles_and_wide_registers(base: str) -> None:
    required = TARGETS[base].required
    for features in (("amx-tile", "amx-int8"), ("amx-tile", "amx-bf16"), ("amx-bf16", "amx-int8")):
        found = native(*required, *features)
        known = base == "x86-64-v4" and "amx-tile" in features
        assert found.byte_tiles == (known and "amx-int8" in features)
        assert found.bf16_tiles == (known and "amx-bf16" in features)
