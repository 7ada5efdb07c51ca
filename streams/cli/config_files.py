"""The files that settings come from: `ladderlog.toml`, and `client.properties` of Kafka's own tools."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from streams.cli.settings_model import BY_NAME, SectionedOption, Setting, security_settings

_JAAS = re.compile(r"^\s*(?P<module>[\w.]+)\s+required\b(?P<options>.*?);?\s*$", re.DOTALL)
_JAAS_OPTION = re.compile(r"""([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;]+))""")
_TOKEN_MODULE = "OAuthBearerLoginModule"  # noqa: S105 - the name of a class
_JAAS_MODULES = ("PlainLoginModule", "ScramLoginModule")
_ORIGINS = "ladderlog.origins"
_PEM = "PEM"
# What a Java client's file says otherwise: its key, and ours.
_JAVA_NAMES = {"ssl.truststore.location": "ssl.ca.location"}
_CONNECTION = {"bootstrap.servers", *(setting.name for setting in security_settings())}
_STORE_TYPES = ("ssl.truststore.type", "ssl.keystore.type")


class ConfigFileError(click.ClickException):
    """What stands in a file of settings cannot be; the message names the file and the key."""

    exit_code = 2


def read_toml(path: Path) -> dict[str, Any]:
    """Return the settings of a `ladderlog.toml` by their names. Raises ConfigFileError."""
    text = _text(path)
    try:
        document = tomllib.loads(text)
    except ValueError as error:
        raise ConfigFileError(f"{path}: {error}") from error
    settings: dict[str, Any] = {}
    for key, value in _flat(document):
        setting = _setting(key, path)
        settings[setting.name] = _converted(setting, value, f"{path}: {key}")
    return settings


def read_properties(path: Path) -> dict[str, Any]:
    """Return the settings of the connection in a `client.properties` by their names.

    Keys may be those of Java's clients or of librdkafka. What concerns other things than the connection is
    left aside, as Kafka's own tools do; what concerns it and cannot be followed raises ConfigFileError.
    """
    given = dict(_properties(_text(path)))
    # Java's default, which would be refused at its key as well.
    for store in ("truststore", "keystore"):
        if f"ssl.{store}.location" in given:
            given.setdefault(f"ssl.{store}.type", "JKS")
    named: dict[str, str] = {}
    aside = []
    for key, value in given.items():
        said = _named(key, value, f"{path}: {key}")
        if said is None:
            aside.append(key)
        else:
            named.update(said)
    if aside:
        click.echo(f"{path}: left aside, being no settings of a connection: {', '.join(aside)}", err=True)
    return {name: _converted(BY_NAME[name], value, f"{path}: {name}") for name, value in named.items()}


def _named(key: str, value: str, where: str) -> dict[str, str] | None:
    """Return what a property of Kafka's clients says, by our names; None when it concerns other things.

    Raises ConfigFileError for one that concerns the connection and cannot be followed.
    """
    if key == "sasl.jaas.config":
        return _jaas(value, where)
    if key == "ssl.keystore.location":
        return {"ssl.certificate.location": value, "ssl.key.location": value}
    if key in _STORE_TYPES:
        _check_pem(key, value, where)
        return {}
    if key == "ssl.endpoint.identification.algorithm":
        return {key: value.lower() or "none"}
    name = _JAVA_NAMES.get(key, key)
    if name in _CONNECTION:
        return {name: value}
    if key.startswith(("ssl.", "sasl.", "security.")):
        raise ConfigFileError(f"{where}: is not supported; there are {', '.join(sorted(_CONNECTION))}")
    return None


def use_file(
    read: Callable[[Path], dict[str, Any]], context: click.Context, option: click.Parameter, path: Path | None
) -> None:
    """Take the settings of a file as defaults of a command: those of `client.properties` come first."""
    if path is None:
        return
    origins: dict[str, tuple[Path, Any]] = context.meta.setdefault(_ORIGINS, {})
    answered = {
        parameter.name
        for parameter in context.command.params
        if not isinstance(parameter, SectionedOption) or parameter.from_files
    }
    is_first = option.name == "command_config"
    for name, value in read(path).items():
        parameter = BY_NAME[name].parameter
        if parameter in answered and (is_first or parameter not in origins):
            origins[parameter] = (path, value)
    context.default_map = {name: value for name, (_, value) in origins.items()}


def origin(context: click.Context, parameter: str) -> Path | None:
    """Return the file that a value was taken from; None when no file has it."""
    path_and_value = context.meta.get(_ORIGINS, {}).get(parameter)
    return None if path_and_value is None else path_and_value[0]


def _text(path: Path) -> str:
    """Return what a file holds. Raises ConfigFileError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigFileError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigFileError(f"{path}: {error}") from error


def _flat(document: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the keys of a document with dots between the tables: `[ssl.ca]` is the dotted key as well."""
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _setting(key: str, path: Path) -> Setting:
    setting = BY_NAME.get(re.sub("[-_]", ".", key))
    if setting is None:
        raise ConfigFileError(f"{path}: {key}: no such setting; there are {', '.join(BY_NAME)}")
    return setting


def _converted(setting: Setting, value: Any, where: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        shown = "***" if setting.secret else repr(value)
        raise ConfigFileError(f"{where}: expected a text or a number, not {shown}")
    try:
        # What it is converted to is made again where the command takes it.
        setting.type.convert(str(value), None, None)
    except click.BadParameter as error:
        shown = "***" if setting.secret else error.message
        raise ConfigFileError(f"{where}: {shown}") from error
    return str(value)


def _properties(text: str) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of Java's properties, lines that go on put together."""
    lines = iter(text.splitlines())
    for line in lines:
        whole = line.lstrip()
        if not whole or whole[0] in "#!":
            continue
        while whole.endswith("\\") and not whole.endswith("\\\\"):
            whole = whole[:-1] + next(lines, "").lstrip()
        key, separator, value = re.split(r"\s*([=:])\s*|$", whole, maxsplit=1)[:3]
        yield key.strip(), (value or "").strip().replace("\\\\", "\\") if separator else ""


def _jaas(value: str, where: str) -> dict[str, str]:
    """Return the name and password in a line for Java's login modules."""
    match = _JAAS.match(value)
    module = match["module"].rpartition(".")[2] if match else ""
    if module == _TOKEN_MODULE:
        # Where the token comes from, sasl.token.file or sasl.token.command say.
        return {}
    if match is None or module not in _JAAS_MODULES:
        raise ConfigFileError(
            f'{where}: expected {" or ".join(_JAAS_MODULES)} required username="…" password="…";'
            + (f" not {module}" if module else "")
        )
    options = {
        key: re.sub(r"\\(.)", r"\1", double or single or bare)
        for key, double, single, bare in _JAAS_OPTION.findall(match["options"])
    }
    for key in ("username", "password"):
        if key not in options:
            raise ConfigFileError(f"{where}: {key} is missing")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _check_pem(key: str, value: str, where: str) -> None:
    if value.upper() != _PEM:
        store = key.split(".")[1]
        raise ConfigFileError(
            f"{where}: {value} is not supported, only PEM. To make one of it: `keytool -importkeystore "
            f"-srckeystore {store}.jks -destkeystore {store}.p12 -deststoretype PKCS12`, then `openssl "
            f"pkcs12 -in {store}.p12 -nodes -out {store}.pem`"
        )
