"""One host fact per file: a source to read and a pure parser."""
