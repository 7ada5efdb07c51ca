"""Games and ratings in files: JSON lines, tables, and the fold over a file."""
