"""The local backend: real processes on this machine, started as Azure ML would start them."""

from traingate.backends.local.backend import LocalBackend
from traingate.backends.local.running import Stores

__all__ = ["LocalBackend", "Stores"]
