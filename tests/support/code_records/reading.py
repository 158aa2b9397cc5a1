"""What records say, as tests read them."""

from collections.abc import Iterator, Mapping, Sequence


def entries(lines: Sequence[str]) -> dict[str, str]:
    """By each line that is not indented, the indented lines below it."""
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        if line.startswith(" "):
            found[name] += f"{line}\n"
        else:
            name = line
            found[name] = ""
    return found


def pairs(lines: Sequence[str]) -> dict[str, str]:
    """What stands in front of the first colon of each line, and what behind it."""
    return dict(line.split(": ", 1) for line in lines)


def require_same(known: Mapping[str, str], found: Iterator[tuple[str, str]]) -> None:
    """Raises AssertionError with all that is not as it is known."""
    differences = [
        f"- {name}: {known.get(name)}\n+ {name}: {now}"
        for name, now in found
        if now != known.get(name)
    ]
    assert not differences, "\n".join(["if this is better, run `make pages`", *differences])
