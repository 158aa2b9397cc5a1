"""The operators that `legalize` replaces are known to the code generator."""

from xrelay.lowering.registry import REWRITTEN, RULES, STRATEGIES
from xrelay.transforms.legalize import PARTIAL_RULES
from xrelay.transforms.legalize import RULES as LEGAL


def test_registry_names_what_the_pass_replaces():
    assert {op for op, step in REWRITTEN.items() if step == "legalize"} == set(LEGAL)


def test_nothing_with_kernels_is_replaced():
    assert not set(LEGAL) & {*RULES, *STRATEGIES}


def test_what_is_replaced_in_part_has_kernels():
    assert set(PARTIAL_RULES) <= {*RULES, *STRATEGIES}
