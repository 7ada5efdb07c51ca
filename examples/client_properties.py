"""How the examples reach Kafka: a file of properties, with the names that librdkafka and its relatives use.

bootstrap.servers=kafka.example:9093
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.username=site
sasl.password=...
ssl.ca.location=/etc/ssl/kafka-ca.pem
"""

import ssl
from pathlib import Path
from typing import Any


def read_properties(path: Path) -> dict[str, str]:
    """Return the properties of a file; confluent-kafka takes them as they are."""
    properties = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            name, _, value = line.partition("=")
            properties[name.strip()] = value.strip()
    return properties


def for_aiokafka(properties: dict[str, str]) -> dict[str, Any]:
    """Return the properties as aiokafka's clients take them."""
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    options: dict[str, Any] = {
        "bootstrap_servers": properties["bootstrap.servers"],
        "security_protocol": protocol,
    }
    if protocol.endswith("SSL"):
        context = ssl.create_default_context(cafile=properties.get("ssl.ca.location"))
        if "ssl.certificate.location" in properties:
            context.load_cert_chain(
                properties["ssl.certificate.location"],
                properties.get("ssl.key.location"),
                properties.get("ssl.key.password"),
            )
        options["ssl_context"] = context
    if protocol.startswith("SASL"):
        options["sasl_mechanism"] = properties.get("sasl.mechanism") or properties["sasl.mechanisms"]
        options["sasl_plain_username"] = properties["sasl.username"]
        options["sasl_plain_password"] = properties["sasl.password"]
    return options
