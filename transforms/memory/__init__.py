"""Passes that say what memory programs need. They import what the other passes import."""
