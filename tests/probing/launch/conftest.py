"""Asking the server."""

from launched import asked

__all__ = ["asked"]
