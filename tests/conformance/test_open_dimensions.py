"""A sample of the operators of ONNX's suite with open dimensions. `make conformance-onnx` runs all of them."""

import open_dimensions
import pytest


@pytest.mark.slow
def test_one_program_serves_all_lengths_of_a_sample() -> None:
    """Every hundredth variant, and one of each reason."""
    reasons = {reason: name for name, reason in open_dimensions.listed().items()}
    names = dict.fromkeys([*open_dimensions.variants("", 100), *reasons.values()])
    assert open_dimensions.disagreements(open_dimensions.outcomes(list(names))) == []


@pytest.mark.slow
def test_what_is_listed_is_there() -> None:
    assert {*open_dimensions.listed()} <= {*open_dimensions.variants("", 1)}
