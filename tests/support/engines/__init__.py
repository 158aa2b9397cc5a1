"""Engines that tests run programs on, in part, and what they need."""
