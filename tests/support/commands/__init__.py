"""Commands that tests run in their own process."""
