"""Print the completion script of a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from pathlab.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


@click.command(name="completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash:  eval "$(pathlab completion bash)"     in ~/.bashrc
    zsh:   eval "$(pathlab completion zsh)"      in ~/.zshrc
    fish:  pathlab completion fish | source      in ~/.config/fish/config.fish
    """
    from pathlab.cli.main import COMPLETION_VARIABLE, pathlab  # the group imports this module on demand

    completion = get_completion_class(shell)
    if completion is None:
        raise UsageError(f"no completion for {shell}", hint=f"one of: {', '.join(SHELLS)}")
    click.echo(completion(pathlab, {}, "pathlab", COMPLETION_VARIABLE).source())
