"""Passes that leave a part of a program. They import what the other passes import."""
