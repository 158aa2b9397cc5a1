"""What the passes share that make one operator of several with the same input."""
