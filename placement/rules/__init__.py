"""Rules that say which parts of a program an engine could run: candidates, which overlap."""
