"""What each subcommand takes: arguments, options, help. What it does is in ``pathlab.cli``."""
