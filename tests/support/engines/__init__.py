"""Engines that tests run programs on, in part."""
