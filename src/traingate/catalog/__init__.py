"""Azure VM sizes: what a node of a size has, and what it costs."""

from traingate.catalog.sizes import Size, size_named

__all__ = ["Size", "size_named"]
