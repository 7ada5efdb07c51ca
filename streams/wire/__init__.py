"""Bytes to events and back: schemas, decoders, encoders. No I/O."""
