"""Round trips by technology: sentences, tables, the chapter and its figures."""
