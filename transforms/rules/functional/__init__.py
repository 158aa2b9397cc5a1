"""Rules that the passes on functions share: partial evaluation, copies for types, gradients in cells."""
