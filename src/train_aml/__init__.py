"""The data plane: what runs inside a training process. It knows nothing of the control plane."""

from train_aml.session import Session, session

__all__ = ["Session", "session"]
