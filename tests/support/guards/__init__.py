"""Both sides of each condition in a pass."""
