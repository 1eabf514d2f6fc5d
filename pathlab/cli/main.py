"""The command ``pathlab``: finds the subcommand, turns every error into one line and an exit status."""

from __future__ import annotations

import contextlib
import difflib
import gc
import importlib
import keyword
import os
import shutil
import sys
import textwrap
import traceback
from pathlib import Path

import click

from pathlab import __version__
from pathlab.errors import CampaignError, ExitStatus, PathlabError
from pathlab.escaping import escape_line, escaping_streams
from pathlab.runner.campaign.interruption import ENDING, Interrupted, Interruption

#: Subcommands in the order in which a newcomer meets them; any other follows.
ORDER = (
    *(
        "run",
        "stop",
        "pause",
        "resume",
        "measure",
        "path",
        "plan",
        "campaigns",
        "hosts",
        "technologies",
        "lab",
    ),
    *(
        "report",
        "serve",
        "view",
        "analyze",
        "inspect",
        "recommend",
        "reference",
        "export",
        "import",
        "results",
    ),
    *("compare", "validate", "doctor", "completion"),
)
#: Objects that Python makes before it looks for unused cycles among them, young, middle and old. By its own
#: numbers a fifth of the time of a report goes into that search.
COLLECTED_AFTER = (100_000, 50, 100)
#: Set by the script of ``pathlab completion`` where a shell asks for completions.
COMPLETION_VARIABLE = "_PATHLAB_COMPLETE"
EPILOG = "\b\n" + textwrap.fill(
    f"Exit statuses: {'; '.join(f'{status:d} {status.meaning}' for status in ExitStatus)}.",
    78,
    break_on_hyphens=False,
)
EPILOG_BELOW = "Exit statuses: see `pathlab --help`."


def _read_summaries() -> dict[str, str]:
    """Each file of ``pathlab.cli.commands`` as a subcommand, with its first line; nothing is imported."""
    files = {path.stem.rstrip("_"): path for path in (Path(__file__).parent / "commands").glob("[a-z]*.py")}
    names = [*(name for name in ORDER if name in files), *sorted(files.keys() - ORDER)]
    return {name: _read_first_line(files[name]) for name in names}


def _read_first_line(file: Path) -> str:
    with file.open(encoding="utf-8") as text:
        return text.readline().strip().strip('"')


#: Subcommand to its line in the help. Its module, ``pathlab.cli.commands.NAME``, is imported when it is used.
SUBCOMMANDS = _read_summaries()


class Subcommands(click.Group):
    """Loads a subcommand's module on first use, so that ``--help`` and completion stay fast."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Every subcommand, in the order in which a newcomer meets them."""
        return list(SUBCOMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        module = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        command: click.Command = importlib.import_module(f"pathlab.cli.commands.{module}").command
        below = command.commands.values() if isinstance(command, click.Group) else ()
        for item in (command, *below):
            item.epilog = item.epilog or EPILOG_BELOW
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The subcommand, or an error that names the one that was probably meant."""
        near = difflib.get_close_matches(args[0], SUBCOMMANDS, 1)
        if near and args[0] not in SUBCOMMANDS:
            raise click.UsageError(f"No such command '{args[0]}'. Did you mean '{near[0]}'?", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help, without importing what it lists."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.group(
    cls=Subcommands,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="pathlab", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def pathlab(context: click.Context, debug: bool) -> None:
    """Measure what a network path can carry, and what carrying it costs.

    How many streams, what window, at what cost to everyone else on the path and to the CPU, and what
    limits it.
    """
    context.obj = {"debug": debug}


def print_error(error: PathlabError) -> None:
    """One line for what is wrong, one for the fix; every mistake of a campaign file on its own line."""
    _print_problem(escape_line(str(error)))
    if isinstance(error, CampaignError) and len(error.mistakes) > 1:
        for mistake in error.mistakes:
            click.echo(f"  {escape_line(mistake)}", err=True)
    if error.hint:
        click.echo(f"  fix: {escape_line(error.hint)}", err=True)


def _print_problem(text: str) -> None:
    """What is wrong, in one line; a terminal continues it between words."""
    line = f"pathlab: {text}"
    if sys.stderr.isatty():
        columns = shutil.get_terminal_size().columns
        line = textwrap.fill(
            line, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
    click.echo(line, err=True)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the console script. Ends the process with the documented exit status."""
    gc.set_threshold(*COLLECTED_AFTER)
    # click writes completions as bytes, which an escaping stream refuses; they contain no foreign text.
    with contextlib.nullcontext() if COMPLETION_VARIABLE in os.environ else escaping_streams():
        _main(arguments)


def _main(arguments: list[str] | None) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in given
    try:
        # As Ctrl-C: `timeout` sends SIGTERM, and open files and hosts have to be closed.
        with Interruption(ENDING).watch():
            status = pathlab.main(args=given, prog_name="pathlab", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(ExitStatus.USAGE)
    except click.ClickException as error:
        _print_problem(" ".join(error.format_message().split()))
        context = getattr(error, "ctx", None)
        where = context.command_path if context else "pathlab"
        click.echo(f"  fix: {where} --help", err=True)
        sys.exit(ExitStatus.USAGE)
    except PathlabError as error:
        if debug:
            traceback.print_exc()
        print_error(error)
        sys.exit(error.exit_status)
    except (KeyboardInterrupt, Interrupted, click.exceptions.Abort):
        click.echo("pathlab: interrupted", err=True)
        sys.exit(ExitStatus.INTERRUPTED)
    except Exception:  # noqa: BLE001 -- a fault of PathLab; its text may be foreign
        traceback.print_exc()
        sys.exit(ExitStatus.FAULT)
    sys.exit(status if isinstance(status, int) else 0)
