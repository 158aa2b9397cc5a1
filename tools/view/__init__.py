"""`xrelay view`: a program and what fusion makes of it, as a page, an SVG or a DOT graph."""
