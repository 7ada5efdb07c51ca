"""Options of the command line that several commands have, and how their values become settings."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from streams.core.ratings.parameters import LadderFileError
from streams.core.rules import LadderRules
from streams.files.jsonl import DAMAGED
from streams.files.ladder_file import example_ladder_file, read_ladders


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make one decorator of several; help shows them in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(decorators):
            command = option(command)
        return command

    return decorate


def bootstrap_option(*, required: bool = True) -> Callable[[Any], Any]:
    """Give the option that names the broker."""
    return click.option(
        "--bootstrap-servers",
        envvar="LADDERLOG_BOOTSTRAP_SERVERS",
        required=required,
        help="The Kafka broker, as host:port[,host:port].",
    )


prefix_option = click.option(
    "--topic-prefix", envvar="LADDERLOG_TOPIC_PREFIX", default="", help="Put before every topic."
)
output_prefix_option = click.option(
    "--output-prefix",
    envvar="LADDERLOG_OUTPUT_PREFIX",
    show_default="that of every topic",
    help="Put before the topics published to, instead.",
)
app_id_option = click.option(
    "--app-id", envvar="LADDERLOG_APP_ID", default="ladderlog", help="Names consumer group and changelog."
)
partitions_option = click.option(
    "--partitions", envvar="LADDERLOG_PARTITIONS", default=4, type=click.IntRange(1), help="Of every topic."
)
replication_option = click.option(
    "--replication", envvar="LADDERLOG_REPLICATION", default=1, type=click.IntRange(1), help="Of every topic."
)
kafka_options = options(
    bootstrap_option(),
    prefix_option,
    output_prefix_option,
    app_id_option,
    partitions_option,
    replication_option,
)
ladders_option = click.option(
    "--ladders",
    envvar="LADDERLOG_LADDERS",
    type=click.Path(path_type=Path),
    default=example_ladder_file,
    show_default="the example club's",
    help="The ladder file.",
)


def read_rules(path: Path) -> dict[str, LadderRules]:
    """Read a ladder file. Raises click.ClickException, which names the file and the key."""
    try:
        return read_ladders(path)
    except LadderFileError as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def file_errors() -> Iterator[None]:
    """Show what is wrong with a file as a message; a reader of the output that has left is click's affair."""
    try:
        yield
    except DAMAGED as error:
        raise click.ClickException(f"a packed file is damaged: {error}") from error
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        raise click.ClickException(f"{error.filename or 'output'}: {error.strerror}") from error
