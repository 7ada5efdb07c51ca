"""Settings come from options, variables and files, one before the other; what cannot be is named."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from project import PROJECT

from streams.runtime.connection import ConnectionSettingsError, read_token

SECRET = "correct horse"  # noqa: S105 - to see that it is not shown
JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="site" password="{}";'
SCRAM = f"security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config={JAAS.format(SECRET)}\n"


def ladderlog(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("LADDERLOG_")}
    return subprocess.run(
        [sys.executable, "-m", "streams", *arguments],
        env={**own, "PYTHONPATH": str(PROJECT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def settings(*arguments: str, **variables: str) -> dict[str, tuple[Any, str]]:
    run = ladderlog("settings", "--json", *arguments, **variables)
    assert run.returncode == 0, run.stderr
    return {row["name"]: (row["value"], row["from"]) for row in json.loads(run.stdout)["settings"]}


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_without_anything_all_are_the_defaults() -> None:
    shown = settings()

    assert {source for _, source in shown.values()} == {"default"}
    assert shown["security.protocol"] == ("PLAINTEXT", "default")


def test_an_option_comes_before_a_variable_and_that_before_the_files(tmp_path: Path) -> None:
    properties = written(tmp_path, "client.properties", "bootstrap.servers=properties:1\nsasl.username=bob\n")
    toml = written(
        tmp_path,
        "ladderlog.toml",
        'bootstrap_servers = "toml:1"\napp.id = "toml"\npartitions = 7\n[topic]\nprefix = "toml-"\n',
    )

    shown = settings(
        *("--config", toml, "--command-config", properties, "--app-id", "option"),
        LADDERLOG_TOPIC_PREFIX="variable-",
        LADDERLOG_APP_ID="variable",
    )

    assert shown["app.id"] == ("option", "option --app-id")
    assert shown["topic.prefix"] == ("variable-", "variable LADDERLOG_TOPIC_PREFIX")
    assert shown["bootstrap.servers"] == ("properties:1", f"file {properties}")
    assert shown["partitions"] == (7, f"file {toml}")


def test_files_are_named_by_variables_too(tmp_path: Path) -> None:
    toml = written(tmp_path, "ladderlog.toml", 'app-id = "league"\n')

    assert settings(LADDERLOG_CONFIG=toml)["app.id"] == ("league", f"file {toml}")


def test_java_s_way_to_write_a_password_is_understood_and_not_shown(tmp_path: Path) -> None:
    properties = written(tmp_path, "client.properties", SCRAM + "acks=all\n# a remark\n")

    run = ladderlog("settings", "--bootstrap-servers", "h:1", "--command-config", properties)

    assert run.returncode == 0
    assert "site" in run.stdout
    assert SECRET not in run.stdout + run.stderr


def test_what_is_said_of_a_broker_in_a_file_is_no_order_to_send(tmp_path: Path) -> None:
    toml = written(tmp_path, "ladderlog.toml", 'bootstrap.servers = "nowhere:1"\n')

    run = ladderlog("simulate", "--games", "2", "--config", toml)

    assert (run.returncode, len(run.stdout.splitlines())) == (0, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('colour = "red"', "colour: no such setting; there are bootstrap.servers, "),
        ('partitions = "many"', "partitions: 'many' is not a valid"),
        ("app.id = true", "app.id: expected a text or a number, not True"),
        ('security.protocol = "TLS"', "security.protocol: 'TLS' is not one of"),
        ("app.id = ", "Invalid value"),
    ],
)
def test_a_mistake_in_the_toml_file_is_named_by_file_and_key(text: str, message: str, tmp_path: Path) -> None:
    toml = written(tmp_path, "ladderlog.toml", text)

    run = ladderlog("settings", "--config", toml)

    assert run.returncode == 2
    assert run.stderr.startswith(f"Error: {toml}: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sasl.kerberos.service.name=kafka", "sasl.kerberos.service.name: is not supported; there are "),
        ("ssl.truststore.location=trust.jks", "ssl.truststore.type: JKS is not supported, only PEM. "),
        ("ssl.keystore.type=PKCS12", "ssl.keystore.type: PKCS12 is not supported, only PEM. "),
        ("sasl.jaas.config=com.sun.Krb5LoginModule required;", "sasl.jaas.config: expected PlainLoginModule"),
        (
            f"sasl.jaas.config={JAAS.format('').replace('password', 'p')}",
            "sasl.jaas.config: password is missing",
        ),
    ],
)
def test_what_cannot_be_followed_in_the_properties_is_named(text: str, message: str, tmp_path: Path) -> None:
    properties = written(tmp_path, "client.properties", text + "\n")

    run = ladderlog("settings", "--command-config", properties)

    assert run.returncode == 2
    assert run.stderr.startswith(f"Error: {properties}: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--security-protocol SASL_SSL", "sasl.mechanism: security.protocol SASL_SSL needs one of PLAIN, "),
        (
            "--sasl-mechanism PLAIN",
            "sasl.mechanism: PLAIN needs security.protocol SASL_SSL or SASL_PLAINTEXT",
        ),
        ("--security-protocol SASL_SSL --sasl-mechanism PLAIN", "sasl.username: PLAIN needs one"),
        (
            "--security-protocol SASL_SSL --sasl-mechanism PLAIN --sasl-username ann",
            "sasl.password.file: PLAIN needs one",
        ),
        (
            "--security-protocol SASL_SSL --sasl-mechanism OAUTHBEARER",
            "sasl.token.file: OAUTHBEARER needs it or sasl.token.command",
        ),
        ("--ssl-ca-location ca.pem", "ssl.ca.location: needs security.protocol SSL or SASL_SSL"),
        (
            "--security-protocol SSL --ssl-key-location k.pem",
            "ssl.certificate.location: a client's certificate",
        ),
        (
            "--security-protocol SSL --ssl-ca-location nowhere.pem",
            "ssl.ca.location: nowhere.pem cannot be used",
        ),
        (
            (
                "--security-protocol SASL_PLAINTEXT --sasl-mechanism PLAIN --sasl-username a "
                "--sasl-password-file nowhere"
            ),
            "sasl.password.file: nowhere cannot be used: No such file",
        ),
        ("--sasl-password geheim", "--sasl-password: everybody on the machine sees a command line."),
    ],
)
def test_what_cannot_be_together_is_named(arguments: str, message: str) -> None:
    run = ladderlog("settings", "--bootstrap-servers", "h:1", *arguments.split())

    assert run.returncode == 2
    assert f"Error: {message}" in run.stderr
    assert "geheim" not in run.stderr


def test_a_broker_that_is_not_there_is_said_in_one_line() -> None:
    run = ladderlog("status", "--bootstrap-servers", "127.0.0.1:1")

    assert run.returncode == 69
    assert len(run.stderr.splitlines()) == 1
    assert run.stderr.startswith("Error: Kafka: no broker at 127.0.0.1:1 can be used: ")


def test_a_secret_that_is_no_text_is_not_shown(tmp_path: Path) -> None:
    toml = written(tmp_path, "ladderlog.toml", f'sasl.password = ["{SECRET}"]\n')

    run = ladderlog("settings", "--config", toml)

    assert (run.returncode, run.stderr) == (
        2,
        f"Error: {toml}: sasl.password: expected a text or a number, not ***\n",
    )


def test_a_password_file_that_an_option_names_comes_before_a_password_in_a_file(tmp_path: Path) -> None:
    properties = written(tmp_path, "client.properties", SCRAM)

    run = ladderlog(
        *("settings", "--bootstrap-servers", "h:1", "--command-config", properties),
        *("--sasl-password-file", "nowhere"),
    )

    assert (run.returncode, run.stderr) == (
        2,
        "Error: sasl.password.file: nowhere cannot be used: No such file or directory\n",
    )


def test_two_passwords_in_files_are_one_too_many(tmp_path: Path) -> None:
    properties = written(tmp_path, "client.properties", SCRAM)
    toml = written(tmp_path, "ladderlog.toml", 'sasl.password.file = "password"\n')

    run = ladderlog(
        "settings", "--bootstrap-servers", "h:1", "--config", toml, "--command-config", properties
    )

    assert run.returncode == 2
    assert "Error: sasl.password and sasl.password.file are both given, in " in run.stderr


def test_a_property_that_is_none_of_a_connection_is_named(tmp_path: Path) -> None:
    properties = written(tmp_path, "client.properties", "securty.protocol=SSL\nacks=all\n")

    run = ladderlog("settings", "--command-config", properties)

    assert run.returncode == 0
    assert run.stderr == (
        f"{properties}: left aside, being no settings of a connection: securty.protocol, acks\n"
    )


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-program", "'no-such-program' cannot be run: "),
        ("sh 'unclosed", '"sh \'unclosed" cannot be run: '),
        ("true", "'true' printed no token"),
        ("sh -c 'echo geheim >&2; exit 3'", "ended with 3"),
    ],
)
def test_a_token_command_that_gives_none_is_said(command: str, message: str) -> None:
    with pytest.raises(ConnectionSettingsError) as caught:
        asyncio.run(read_token(None, command))

    assert str(caught.value).startswith("sasl.token.command: ")
    assert message in str(caught.value)
    assert str(caught.value).count("geheim") == command.count("geheim")


def test_a_token_is_what_a_command_prints() -> None:
    assert asyncio.run(read_token(None, "echo abc")) == "abc"
