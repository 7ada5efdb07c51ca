"""Every setting, once: its names, what it may be, its default and what it is for.

Options of commands, variables, the keys of `ladderlog.toml` and the page of all settings are made from this
table. A value is looked for in the option, the variable, the file of --command-config, `ladderlog.toml`, and
is the default where none of them has it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from streams.files.ladder_file import example_ladder_file
from streams.runtime.connection import HTTPS, MECHANISMS, NO_NAME_CHECK, PLAINTEXT, PROTOCOLS

_FILE = click.Path(path_type=Path)
CONNECTION_SECTION = "Connection"


@dataclass(frozen=True)
class Setting:
    """One setting. `name` is Kafka's own where Kafka's clients have it, and the key in `ladderlog.toml`.

    A `secret` has no option and no variable, where others would see it: it comes from a file.
    """

    name: str
    help: str
    type: click.ParamType = click.STRING
    default: Any = None
    shown_default: str | None = None
    section: str | None = None
    secret: bool = False

    @property
    def parameter(self) -> str:
        """Return the name of the option's value in Python."""
        return self.name.replace(".", "_")

    @property
    def option(self) -> str:
        """Return the option, such as --sasl-mechanism."""
        return "--" + self.name.replace(".", "-")

    @property
    def variable(self) -> str:
        """Return the variable, such as LADDERLOG_SASL_MECHANISM."""
        return "LADDERLOG_" + self.name.replace(".", "_").upper()


def _connection(name: str, text: str, **others: Any) -> Setting:
    return Setting(name, text, section=CONNECTION_SECTION, **others)


SETTINGS = (
    Setting("bootstrap.servers", "The Kafka broker, as host:port[,host:port]."),
    Setting("topic.prefix", "Put before every topic.", default=""),
    Setting(
        "output.prefix", "Put before the topics published to, instead.", shown_default="that of every topic"
    ),
    Setting("app.id", "Names consumer group and changelog.", default="ladderlog"),
    Setting(
        "partitions",
        "Of every topic.",
        type=click.IntRange(1),
        default=4,
        shown_default="as many as there are, else 4",
    ),
    Setting("replication", "Of every topic.", type=click.IntRange(1), default=1),
    Setting(
        "ladders",
        "The ladder file.",
        type=_FILE,
        default=example_ladder_file,
        shown_default="the deployment's own rules, else the example club's",
    ),
    Setting(
        "http.port",
        "A worker's: where it shows /metrics, /livez and /readyz.",
        type=click.IntRange(0, 65535),
        shown_default="none",
    ),
    Setting(
        "http.host",
        "A worker's: the address of that port.",
        default="0.0.0.0",  # noqa: S104 - nothing there is secret, and a cluster asks from elsewhere
        shown_default="0.0.0.0, every one",
    ),
    Setting(
        "http.ready.lag",
        "A worker's: seconds behind beyond which /readyz says no.",
        type=click.FloatRange(0),
        default=300.0,
    ),
    Setting(
        "log.format",
        "A worker's: how its log is written.",
        type=click.Choice(("text", "json")),
        default="text",
    ),
    _connection(
        "security.protocol", "How to speak to the broker.", type=click.Choice(PROTOCOLS), default=PLAINTEXT
    ),
    _connection("sasl.mechanism", "How to say who one is.", type=click.Choice(MECHANISMS)),
    _connection("sasl.username", "Who one is."),
    _connection("sasl.password", "The password.", secret=True),
    _connection("sasl.password.file", "A file with the password alone.", type=_FILE),
    _connection("sasl.token.file", "For OAUTHBEARER: a file with the token now.", type=_FILE),
    _connection("sasl.token.command", "For OAUTHBEARER: a command that prints the token."),
    _connection(
        "ssl.ca.location",
        "The certificates of those who may vouch for the broker, as PEM.",
        type=_FILE,
        shown_default="those of the system",
    ),
    _connection("ssl.certificate.location", "This client's certificate, as PEM.", type=_FILE),
    _connection("ssl.key.location", "The key of this client's certificate, as PEM.", type=_FILE),
    _connection("ssl.key.password", "What the key is locked with.", secret=True),
    _connection("ssl.key.password.file", "A file with what the key is locked with.", type=_FILE),
    _connection(
        "ssl.endpoint.identification.algorithm",
        "Whether the broker's name must be that of its certificate.",
        type=click.Choice((HTTPS, NO_NAME_CHECK)),
        default=HTTPS,
    ),
)
BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}
# The names of settings by those of their values in Python.
BY_PARAMETER: Mapping[str, str] = {setting.parameter: setting.name for setting in SETTINGS}


def security_settings() -> Iterable[Setting]:
    """Return the settings of the connection but for where the broker is."""
    return (setting for setting in SETTINGS if setting.section == CONNECTION_SECTION)


class SectionedOption(click.Option):
    """An option that help shows under a heading of its own, and that files of settings may answer."""

    def __init__(
        self, *args: Any, section: str | None = None, from_files: bool = True, **others: Any
    ) -> None:
        super().__init__(*args, **others)
        self.section = section
        self.from_files = from_files


class SectionedCommand(click.Command):
    """A command whose help has the options of the connection behind its own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                section = getattr(parameter, "section", None) or "Options"
                sections.setdefault(section, []).append(record)
        for section in sorted(sections, key=lambda name: name != "Options"):
            with formatter.section(section):
                formatter.write_dl(sections[section])


command = partial(click.command, cls=SectionedCommand)


def option(
    name: str, *, required: bool = False, variable: str | None = None, text: str | None = None
) -> Callable[[Any], Any]:
    """Return the click option of a setting; `variable` and `text` where a command has others."""
    setting = BY_NAME[name]
    others: dict[str, Any] = {}
    if setting.default is not None:
        others["default"] = setting.default
    if setting.shown_default is not None:
        others["show_default"] = setting.shown_default
    return click.option(
        setting.option,
        cls=SectionedOption,
        section=setting.section,
        from_files=variable is None,
        type=setting.type,
        envvar=None if setting.secret else variable or setting.variable,
        show_envvar=not setting.secret,
        hidden=setting.secret,
        callback=_refuse_secret if setting.secret else None,
        required=required,
        help=text or setting.help,
        **others,
    )


def _refuse_secret(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    source = context.get_parameter_source(parameter.name or "")
    if source is click.core.ParameterSource.COMMANDLINE:
        raise click.UsageError(
            f"{parameter.opts[0]}: everybody on the machine sees a command line. Put it into a file, and "
            f"say {parameter.opts[0]}-file"
        )
    return value
