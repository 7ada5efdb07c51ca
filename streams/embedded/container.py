"""Kafka in a container, when asked for."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from streams.embedded.configuration import controller_port, free_port, kafka_settings
from streams.embedded.errors import BrokerError, root_cause
from streams.embedded.readiness import await_kafka

# The first image is enough: the protocol is the same, and a newer one gains nothing here.
IMAGE = "apache/kafka:4.1.0"


@contextmanager
def container() -> Iterator[str]:
    """Yield the address of Kafka's own image at work; testcontainers' class for Kafka expects an older one.

    Raises BrokerError when no container engine answers, or Kafka does not.
    """
    try:
        from docker.errors import DockerException  # type: ignore[import-untyped]  # noqa: PLC0415 - optional
        from testcontainers.core.container import DockerContainer  # noqa: PLC0415 - optional
    except ImportError as error:
        raise BrokerError(
            "LADDERLOG_BROKER is 'testcontainers', which is not installed: run `pip install testcontainers`."
        ) from error
    port = free_port()
    try:
        node = DockerContainer(IMAGE).with_bind_ports(port, port)
        host = node.get_docker_client().host()
        every = "0.0.0.0"  # noqa: S104 - every address of the container, which is its own machine
        for key, value in kafka_settings(every, host, port, controller_port(port)).items():
            node.with_env(f"KAFKA_{key.upper().replace('.', '_')}", value)
        node.start()
    except DockerException as error:
        raise BrokerError(
            f"LADDERLOG_BROKER is 'testcontainers', but no container engine answers ({root_cause(error)}): "
            "start one, or unset LADDERLOG_BROKER for the embedded broker."
        ) from error
    try:
        yield _ready_container(f"{host}:{port}")
    finally:
        node.stop()


def _ready_container(address: str) -> str:
    try:
        await_kafka(address, time.monotonic() + 60, check=lambda: None, cluster=lambda: None)
    except TimeoutError as error:
        raise BrokerError(f"The container {IMAGE} did not answer on {address} in 60 s.") from error
    return address
