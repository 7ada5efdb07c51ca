"""A secured broker: TLS, SCRAM, PLAIN, bearer tokens, client certificates, and an authorizer.

Its usual listener stays open, for the tests alone: whoever comes there may do everything, and grants rights.
"""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import trustme
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from project import PROJECT

from streams.embedded.broker import EmbeddedBroker
from streams.embedded.configuration import HOST, Setup, free_port
from streams.runtime.clock import SystemClock
from streams.runtime.rights import Right

USER = "site"
PASSWORD = "s3cr3t and more"  # noqa: S105 - of a broker that lives as long as a test
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
# The listeners beside the open one.
SASL_SSL, SASL_PLAINTEXT, SSL = "SASL_SSL", "SASL_PLAINTEXT", "SSL"
_SECURED = (SASL_SSL, SASL_PLAINTEXT, SSL)
_LOGIN = "org.apache.kafka.common.security"
_EVERYTHING = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)
_PATIENCE = 30.0


def _binding(right: Right, user: str) -> AclBinding:
    """Return the right of a user as the broker takes it; a name that ends in `*` stands for a prefix."""
    kinds = {"topic": ResourceType.TOPIC, "group": ResourceType.GROUP}
    return AclBinding(
        kinds.get(right.resource, ResourceType.TRANSACTIONAL_ID),
        right.name.rstrip("*"),
        ResourcePatternType.PREFIXED if right.name.endswith("*") else ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        AclOperation[right.operation],
        AclPermissionType.ALLOW,
    )


def _bindings(admin: AdminClient) -> set[AclBinding]:
    return set(admin.describe_acls(_EVERYTHING).result(_PATIENCE))


def _only(binding: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        binding.restype,
        binding.name,
        binding.resource_pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
    )


@dataclass
class Certificates:
    """Who vouches for whom: the broker's certificate, a client's, and some that are not as they should be."""

    folder: Path
    authority: trustme.CA = field(default_factory=trustme.CA)

    def __post_init__(self) -> None:
        self.authority.cert_pem.write_to_path(self.ca)

    @property
    def ca(self) -> Path:
        """Return the file with the certificate of the authority."""
        return self.folder / "ca.pem"

    def issue(self, name: str, *hosts: str, common_name: str | None = None, expired: bool = False) -> Path:
        """Write a certificate with its chain and key into one file, and return it."""
        ended = SystemClock().now() - timedelta(days=1) if expired else None
        issued = self.authority.issue_cert(*hosts, common_name=common_name, not_after=ended)
        key = load_pem_private_key(issued.private_key_pem.bytes(), None)
        # Kafka reads no other form of a key.
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file = self.folder / f"{name}.pem"
        file.write_bytes(pem + b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        return file


@dataclass(frozen=True)
class SecuredBroker:
    """A running broker: `ports` by listener; `open_servers` is where everything is allowed."""

    open_servers: str
    ports: Mapping[str, int]
    certificates: Certificates

    def servers(self, listener: str) -> str:
        """Return the address of a listener."""
        return f"{HOST}:{self.ports[listener]}"

    def grant(self, rights: Iterable[Right], user: str = USER) -> None:
        """Let a user do this, and nothing else; what was allowed before and still is, is so all the time."""
        admin = AdminClient({"bootstrap.servers": self.open_servers})
        wanted = {_binding(right, user) for right in rights}
        held = _bindings(admin)
        if wanted - held:
            for future in admin.create_acls([*wanted - held]).values():
                future.result(_PATIENCE)
        if held - wanted:
            exactly = [_only(binding) for binding in held - wanted]
            for future in admin.delete_acls(exactly).values():
                future.result(_PATIENCE)
        # The controller has written it; the broker goes by it a little later.
        deadline = time.monotonic() + _PATIENCE
        while _bindings(admin) != wanted:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"the broker still allows {_bindings(admin)}, not {wanted}")
            time.sleep(0.02)

    def properties(self, folder: Path, **others: str) -> Path:
        """Write a client.properties of the user by SCRAM over TLS, and return it."""
        file = folder / "client.properties"
        login = f'{_LOGIN}.scram.ScramLoginModule required username="{USER}" password="{PASSWORD}";'
        said = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": login,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.certificates.ca),
            **{name.replace("_", "."): value for name, value in others.items()},
        }
        file.write_text("".join(f"{key}={value}\n" for key, value in said.items()), encoding="utf-8")
        return file


@contextmanager
def secured_broker(folder: Path, certificate: str = "broker") -> Iterator[SecuredBroker]:
    """Yield a secured broker; `certificate` names the one it shows: broker, expired or elsewhere."""
    certificates = Certificates(folder)
    shown = {
        "broker": lambda: certificates.issue("broker", "localhost", HOST),
        "expired": lambda: certificates.issue("expired", "localhost", HOST, expired=True),
        "elsewhere": lambda: certificates.issue("elsewhere", "kafka.example"),
    }[certificate]()
    ports = {listener: free_port() for listener in _SECURED}
    setup = Setup(lambda usual: {**usual, **_secured(usual, ports, certificates, shown)}, {USER: PASSWORD})
    with EmbeddedBroker(setup=setup) as broker:
        yield SecuredBroker(broker.bootstrap_servers, ports, certificates)


def _secured(
    settings: Mapping[str, str], ports: Mapping[str, int], certificates: Certificates, shown: Path
) -> dict[str, str]:
    listeners = ",".join(f"{listener}://{HOST}:{port}" for listener, port in ports.items())
    names = ",".join(f"{listener}:{listener}" for listener in ports)
    logins = {
        "plain": f'{_LOGIN}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";',
        "scram-sha-256": f"{_LOGIN}.scram.ScramLoginModule required;",
        "scram-sha-512": f"{_LOGIN}.scram.ScramLoginModule required;",
        "oauthbearer": (
            f'{_LOGIN}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
        ),
    }
    return {
        "listeners": f"{settings['listeners']},{listeners}",
        "advertised.listeners": f"{settings['advertised.listeners']},{listeners}",
        "listener.security.protocol.map": f"{settings['listener.security.protocol.map']},{names}",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        **{
            f"listener.name.{listener.lower()}.{mechanism}.sasl.jaas.config": login
            for listener in (SASL_SSL, SASL_PLAINTEXT)
            for mechanism, login in logins.items()
        },
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(shown),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "listener.name.ssl.ssl.client.auth": "required",
        # A client is known by the common name of its certificate.
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+),.*$/$1/",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        # Who comes through the open listener: the broker itself, its controller, and the tests.
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "false",
    }


def token(subject: str = USER) -> str:
    """Return a bearer token that the broker takes for a day, as it takes those that nobody has signed."""
    now = SystemClock().now()
    claims = {"sub": subject, "iat": now.timestamp(), "exp": (now + timedelta(days=1)).timestamp()}
    header, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "none"}, claims)
    )
    return f"{header}.{body}."


def ladderlog(
    *arguments: str, timeout: float = 120.0, **variables: str
) -> "subprocess.CompletedProcess[str]":
    """Run the command with no variables but these."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LADDERLOG_")}
    return subprocess.run(
        [sys.executable, "-m", "streams", *arguments],
        env={**inherited, "PYTHONPATH": str(PROJECT), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )
