"""Paths: the routers on the way, and what each link between them can carry."""
