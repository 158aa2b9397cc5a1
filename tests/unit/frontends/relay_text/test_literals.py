"""Numbers of Relay text."""

import pytest

from xrelay.frontends.relay_text.literals import int64


@pytest.mark.parametrize("end", [-(2**63), 2**63 - 1])
def test_integers_have_64_bits(end: int) -> None:
    assert int64(str(end)) == end
    beyond = end + (1 if end > 0 else -1)
    with pytest.raises(ValueError, match=f"found {beyond}, expected an integer of 64 bits"):
        int64(str(beyond))
