"""The server, and asking it."""

from launched import asked, loopback

__all__ = ["asked", "loopback"]
