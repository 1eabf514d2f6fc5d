"""Entry of the agent, in the zip and as ``python -m pathlab.agents``.

Written in syntax that older interpreters still read, so that they name the cause.
"""

import sys

if sys.version_info < (3, 8):
    sys.stderr.write("PathLab's agent needs Python 3.8 or newer, this one is %d.%d\n" % sys.version_info[:2])
    sys.exit(3)

from pathlab.agents.main import main

if __name__ == "__main__":
    sys.exit(main())
