"""Saved models whose functions take dimensions: files with programs for many lengths."""
