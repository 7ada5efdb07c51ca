"""Ladderlog: ratings of a game site as an exactly-once stream processor."""
