"""Every client of Kafka is made in one way, so that what is said of the connection holds for all of them."""

import ast
import pickle
from pathlib import Path

import pytest
from project import PROJECT

from streams.runtime.connection import Connection, Secret, Security

PACKAGE = PROJECT / "streams"
CLIENTS = {"AIOKafkaConsumer", "AIOKafkaProducer", "AIOKafkaAdminClient", "AIOKafkaClient"}
# It looks whether the broker that it has just started answers, at the open listener of that one.
EXEMPT = {PACKAGE / "embedded" / "readiness.py"}
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path not in EXEMPT]


def made_otherwise(path: Path) -> list[int]:
    """Return the lines where a client is made without the arguments of a connection."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in CLIENTS
        and "client_arguments"
        not in {ast.unparse(keyword.value).rpartition(".")[2][:16] for keyword in node.keywords}
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_client_is_made_by_a_connection(path: Path) -> None:
    assert made_otherwise(path) == []


def test_a_password_is_in_no_text_about_a_connection() -> None:
    connection = Connection("h:1", Security("SASL_SSL", "PLAIN", "ann", Secret("geheim")))

    assert "geheim" not in repr(connection)


def test_a_connection_goes_to_other_processes_with_its_password() -> None:
    connection = Connection("h:1", Security("SASL_PLAINTEXT", "PLAIN", "ann", Secret("geheim")))

    sent = pickle.loads(pickle.dumps(connection))  # noqa: S301 - our own

    assert sent.client_arguments() == connection.client_arguments()
    assert sent.security.password() == "geheim"
