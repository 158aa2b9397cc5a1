"""Lists of passes that have a name of their own. They import all other passes."""
