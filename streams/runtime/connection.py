"""How the broker is reached, and by whom: the one place where a Kafka client gets its arguments.

The names are those of Kafka's own clients, with underscores: `security.protocol` is `security_protocol`.
"""

import asyncio
import shlex
import ssl
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

PLAINTEXT = "PLAINTEXT"
SSL = "SSL"
SASL_PLAINTEXT = "SASL_PLAINTEXT"
SASL_SSL = "SASL_SSL"
PROTOCOLS = (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)

PLAIN = "PLAIN"
OAUTHBEARER = "OAUTHBEARER"
MECHANISMS = (PLAIN, "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER)

HTTPS = "https"
NO_NAME_CHECK = "none"

_TOKEN_PATIENCE = 10.0


class ConnectionSettingsError(ValueError):
    """What was said about the connection cannot be; the message begins with the setting."""


class Secret:
    """A text that is never shown."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


@dataclass(frozen=True)
class Security:
    """How a client proves who it is, and knows the broker.

    Files are PEM. `ssl_endpoint_identification_algorithm` is `https`, or `none` when the broker's name is
    not to be compared with its certificate. Raises ConnectionSettingsError, which names the setting.
    """

    protocol: str = PLAINTEXT
    sasl_mechanism: str | None = None
    sasl_username: str | None = None
    sasl_password: Secret | None = None
    sasl_password_file: Path | None = None
    sasl_token_file: Path | None = None
    sasl_token_command: str | None = None
    ssl_ca_location: Path | None = None
    ssl_certificate_location: Path | None = None
    ssl_key_location: Path | None = None
    ssl_key_password: Secret | None = None
    ssl_key_password_file: Path | None = None
    ssl_endpoint_identification_algorithm: str = HTTPS

    def __post_init__(self) -> None:
        if self.uses_sasl:
            self._check_sasl()
        elif self.sasl_mechanism is not None:
            raise ConnectionSettingsError(
                f"sasl.mechanism: {self.sasl_mechanism} needs security.protocol SASL_SSL or SASL_PLAINTEXT, "
                f"and that is {self.protocol}"
            )
        if self.uses_tls and (self.ssl_key_location is None) != (self.ssl_certificate_location is None):
            missing = "ssl.key.location" if self.ssl_key_location is None else "ssl.certificate.location"
            raise ConnectionSettingsError(f"{missing}: a client's certificate and its key go together")
        if not self.uses_tls and self.ssl_ca_location is not None:
            raise ConnectionSettingsError(
                f"ssl.ca.location: needs security.protocol SSL or SASL_SSL, and that is {self.protocol}"
            )

    @property
    def uses_tls(self) -> bool:
        """Say whether the connection is encrypted."""
        return self.protocol in (SSL, SASL_SSL)

    @property
    def uses_sasl(self) -> bool:
        """Say whether the client gives a name and a password, or a token."""
        return self.protocol in (SASL_PLAINTEXT, SASL_SSL)

    @property
    def names_client(self) -> bool:
        """Say whether the broker knows who the client is; else all clients may do the same."""
        return self.uses_sasl or (self.uses_tls and self.ssl_certificate_location is not None)

    def password(self) -> str | None:
        """Return the password. Raises ConnectionSettingsError when its file cannot be read."""
        return _secret(self.sasl_password, self.sasl_password_file, "sasl.password.file")

    def key_password(self) -> str | None:
        """Return what the key is locked with. Raises ConnectionSettingsError when it cannot be read."""
        return _secret(self.ssl_key_password, self.ssl_key_password_file, "ssl.key.password.file")

    def _check_sasl(self) -> None:
        if self.sasl_mechanism is None:
            raise ConnectionSettingsError(
                f"sasl.mechanism: security.protocol {self.protocol} needs one of {', '.join(MECHANISMS)}"
            )
        if self.sasl_mechanism == OAUTHBEARER:
            if (self.sasl_token_file is None) == (self.sasl_token_command is None):
                raise ConnectionSettingsError(
                    "sasl.token.file: OAUTHBEARER needs it or sasl.token.command, and one of them only"
                )
            return
        if self.sasl_username is None:
            raise ConnectionSettingsError(f"sasl.username: {self.sasl_mechanism} needs one")
        if self.sasl_password is None and self.sasl_password_file is None:
            raise ConnectionSettingsError(f"sasl.password.file: {self.sasl_mechanism} needs one")


@dataclass(frozen=True)
class Connection:
    """Where the broker is, as host:port[,host:port], and how to reach it."""

    bootstrap_servers: str
    security: Security = field(default_factory=Security)

    def __getstate__(self) -> dict[str, Any]:
        # What was read from files is read again in another process.
        return {"bootstrap_servers": self.bootstrap_servers, "security": self.security}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def client_arguments(self) -> dict[str, Any]:
        """Return what every client of aiokafka is made with.

        Raises ConnectionSettingsError when a certificate, key or password cannot be read.
        """
        arguments: dict[str, Any] = {"bootstrap_servers": self.bootstrap_servers}
        security = self.security
        if security.protocol != PLAINTEXT:
            arguments["security_protocol"] = security.protocol
        if security.uses_tls:
            arguments["ssl_context"] = self.ssl_context
        if security.uses_sasl:
            arguments["sasl_mechanism"] = security.sasl_mechanism
            if security.sasl_mechanism == OAUTHBEARER:
                arguments["sasl_oauth_token_provider"] = self._tokens()
            else:
                arguments["sasl_plain_username"] = security.sasl_username
                arguments["sasl_plain_password"] = security.password()
        return arguments

    def faust_arguments(self) -> dict[str, Any]:
        """Return what a Faust app is made with. Raises ConnectionSettingsError as `client_arguments` does."""
        import faust  # noqa: PLC0415 - slow to import, and commands need it only here

        url = f"kafka://{self.bootstrap_servers.replace(',', ';')}"
        security = self.security
        # With a TLS context alone Faust would say nothing of who we are; so always by credentials.
        context = self.ssl_context if security.uses_tls else None
        if security.uses_sasl and security.sasl_mechanism == OAUTHBEARER:
            credentials: Any = faust.auth.OAuthCredentials(oauth_cb=self._tokens(), ssl_context=context)
        elif security.uses_sasl:
            credentials = faust.SASLCredentials(
                username=security.sasl_username,
                password=security.password(),
                ssl_context=context,
                mechanism=security.sasl_mechanism,
            )
        elif security.uses_tls:
            credentials = faust.SSLCredentials(context)
        else:
            return {"broker": url}
        return {"broker": url, "broker_credentials": credentials}

    @cached_property
    def ssl_context(self) -> ssl.SSLContext:
        """Return the TLS context. Raises ConnectionSettingsError when a file of it cannot be used."""
        security = self.security
        ca = security.ssl_ca_location
        try:
            context = ssl.create_default_context(cafile=None if ca is None else str(ca))
        except (OSError, ssl.SSLError) as error:
            raise _unusable("ssl.ca.location", ca, error) from error
        context.check_hostname = security.ssl_endpoint_identification_algorithm == HTTPS
        if security.ssl_certificate_location is not None and security.ssl_key_location is not None:
            certificate, key = security.ssl_certificate_location, security.ssl_key_location
            for setting, file in (("ssl.certificate.location", certificate), ("ssl.key.location", key)):
                _check_readable(setting, file)
            try:
                # Without the password an encrypted key would be asked for at the terminal.
                context.load_cert_chain(certificate, key, password=security.key_password() or "")
            except (OSError, ssl.SSLError) as error:
                raise _unusable("ssl.key.location", key, error) from error
        return context

    def _tokens(self) -> Any:
        from streams.runtime.tokens import TokenProvider  # noqa: PLC0415 - needs Kafka's client

        return TokenProvider(self.security.sasl_token_file, self.security.sasl_token_command)


async def read_token(file: Path | None, command: str | None) -> str:
    """Return the bearer token that a file holds, or that a command prints.

    Raises ConnectionSettingsError when there is none.
    """
    if file is not None:
        return _read("sasl.token.file", file)
    try:
        # What it prints beside the token is for its log, not for ours, where a token might show.
        process = await asyncio.create_subprocess_exec(
            *shlex.split(command or ""), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
    except (OSError, ValueError) as error:
        raise ConnectionSettingsError(f"sasl.token.command: {command!r} cannot be run: {error}") from error
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _TOKEN_PATIENCE)
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise ConnectionSettingsError(f"sasl.token.command: no token after {_TOKEN_PATIENCE:g} s") from error
    if process.returncode:
        raise ConnectionSettingsError(f"sasl.token.command: {command!r} ended with {process.returncode}")
    token = output.decode(errors="replace").strip()
    if not token:
        raise ConnectionSettingsError(f"sasl.token.command: {command!r} printed no token")
    return token


def _secret(value: Secret | None, file: Path | None, setting: str) -> str | None:
    if value is not None:
        return value.value
    return None if file is None else _read(setting, file)


def _read(setting: str, file: Path) -> str:
    """Return what a file holds, without the line's end that editors put there."""
    try:
        content = file.read_text(encoding="utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(setting, file, error) from error
    if not content:
        raise ConnectionSettingsError(f"{setting}: {file} is empty")
    return content


def _check_readable(setting: str, file: Path) -> None:
    try:
        file.read_bytes()
    except OSError as error:
        raise _unusable(setting, file, error) from error


def _unusable(setting: str, file: Path | None, error: Exception) -> ConnectionSettingsError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ConnectionSettingsError(f"{setting}: {file} cannot be used: {reason}")
