"""Passes that choose the layouts of tensors. They import what the other passes import."""
