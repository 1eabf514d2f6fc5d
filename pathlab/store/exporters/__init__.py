"""Results in the formats of others: whole files or nothing. Each module is one format."""

import pkgutil

FORMAT_NAMES = sorted(module.name for module in pkgutil.iter_modules(__path__))
