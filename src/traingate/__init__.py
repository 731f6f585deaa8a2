"""The control plane: reads requests, checks and plans them, submits them and reports."""

__version__ = "0.1.0"
