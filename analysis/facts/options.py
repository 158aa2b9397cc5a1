"""What options of passes may be: the one wording of refusals of numbers."""

from xdsl.utils.exceptions import PassFailedException


def require_at_least(least: int, **options: int) -> None:
    """Raises PassFailedException for an option that is a smaller number; options are named like their fields."""
    for field, number in options.items():
        if number < least:
            option = field.replace("_", "-")
            raise PassFailedException(f"'{option}' is {number}, expected at least {least}")
