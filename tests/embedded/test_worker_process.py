"""A worker that the program starts reaches its broker as its settings say."""

from pathlib import Path

import pytest

from streams.cli.config_files import read_properties
from streams.embedded.worker_process import properties_of
from streams.runtime.connection import Secret, Security

SECURITIES = {
    "plaintext": Security(),
    "scram": Security(
        protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="site=1",
        sasl_password=Secret("p=ss word\\é#!"),
        ssl_ca_location=Path("/etc/ssl/a b.pem"),
        ssl_endpoint_identification_algorithm="none",
    ),
    "certificate": Security(
        protocol="SSL",
        ssl_certificate_location=Path("client.pem"),
        ssl_key_location=Path("client.key"),
        ssl_key_password_file=Path("/run/secrets/key"),
    ),
    "token": Security(
        protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", sasl_token_file=Path("/run/secrets/token")
    ),
}


@pytest.mark.parametrize("security", SECURITIES.values(), ids=SECURITIES)
def test_what_is_written_for_a_worker_is_what_it_reads(tmp_path: Path, security: Security) -> None:
    file = tmp_path / "client.properties"
    file.write_text(properties_of(security), encoding="utf-8")

    read = read_properties(file)

    assert {name: str(value) for name, value in read.items()} == {
        "security.protocol" if name == "protocol" else name.replace("_", "."): str(value)
        for name, value in vars(security).items()
        if value is not None and not isinstance(value, Secret)
    } | {
        name.replace("_", "."): value.value
        for name, value in vars(security).items()
        if isinstance(value, Secret)
    }
