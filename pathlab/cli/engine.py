"""``pathlab-engine``: the native engine of this installation, found as measurements find it."""

from __future__ import annotations

import os
import sys

from pathlab.cli.main import print_error
from pathlab.errors import PathlabError
from pathlab.remote.engine import find_engine


def run_engine() -> None:
    """Become the engine, with the same arguments. Ends with status 3 where there is none."""
    try:
        engine = str(find_engine())
        os.execv(engine, [engine, *sys.argv[1:]])
    except PathlabError as error:
        print_error(error)
        sys.exit(error.exit_status)
