"""``pathlab validate HOST HOST``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pathlab.cli.commands.options import PATH, accept_option, hosts_option


@click.command(name="validate")
@click.argument("source")
@click.argument("destination")
@click.option("--streams", default="1,4,16", show_default=True, help="Numbers of streams, with commas.")
@click.option("--cycles", type=click.IntRange(1, 1000), default=7, show_default=True, help="Pairs of each.")
@click.option("--time", "duration", default="5s", show_default=True, help="Steady window of each trial.")
@click.option("--warmup", default="2s", show_default=True, help="Traffic before the steady window.")
@click.option("--congestion", help="Congestion control of both, such as cubic; else the system's.")
@click.option("--lab", metavar="NAME", help="Hosts of this ready-made lab (`pathlab lab list`).")
@hosts_option
@accept_option
@click.option("--out", type=PATH, help="Keep the results in this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the ratios as JSON.")
def command(source: str, destination: str, out: Path | None, as_json: bool, **options: Any) -> None:
    """Measure from SOURCE to DESTINATION by PathLab's engine and by iperf3, interleaved.

    The ratio of the two throughputs is printed with its 95 % confidence interval for each number of streams;
    the interval needs six cycles or more. iperf3 (3.7 or newer) has to be installed on both hosts.
    """
    from pathlab.cli import validate as action

    action.validate(source, destination, out, options, as_json=as_json)
