"""What is on record of generated code, in files of text that `make pages` writes."""
