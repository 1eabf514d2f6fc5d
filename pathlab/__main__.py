"""``python -m pathlab``."""

from pathlab.cli.main import main

main()
