"""The lossless rate: sentences, tables, the chapter and its figures."""
