"""The explorer's pages: ``core`` computes without a page; ``page`` has the page's scripts and documents."""
