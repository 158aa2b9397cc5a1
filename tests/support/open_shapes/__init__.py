"""Programs for many lengths: their code, and what they know about lengths."""
