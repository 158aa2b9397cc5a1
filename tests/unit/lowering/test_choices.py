"""What computes layers of well-known networks is what `choices.txt` says."""

from difflib import unified_diff

from code_records import choices


def test_choices_are_those_on_record() -> None:
    found, known = choices.text().splitlines(), choices.FILE.read_text().splitlines()
    difference = "\n".join(unified_diff(known, found, "choices.txt", "now", n=1, lineterm=""))
    assert not difference, f"if this is better, run `make pages`\n{difference}"
