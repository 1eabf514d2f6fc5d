"""The command line: what each subcommand does; what it takes is in ``pathlab.cli.commands``."""
