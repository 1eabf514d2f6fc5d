"""UDP flows: sentences, tables, the chapter and its figures."""
