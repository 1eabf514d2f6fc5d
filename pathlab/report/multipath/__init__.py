"""Several links: sentences, tables, the chapter and its figures."""
