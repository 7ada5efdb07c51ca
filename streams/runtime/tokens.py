"""Bearer tokens for OAUTHBEARER: asked for at every connection, because they end."""

from pathlib import Path

from aiokafka.abc import AbstractTokenProvider

from streams.runtime.connection import read_token


class TokenProvider(AbstractTokenProvider):
    """Gives Kafka's client the token that a file holds now, or that a command prints."""

    def __init__(self, file: Path | None, command: str | None) -> None:
        super().__init__()
        self._file = file
        self._command = command

    async def token(self) -> str:
        """Return the token. Raises ConnectionSettingsError when there is none."""
        return await read_token(self._file, self._command)
