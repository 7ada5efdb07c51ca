"""Where the project lies that is tested."""

from pathlib import Path

PROJECT = Path(__file__).parent.parent
