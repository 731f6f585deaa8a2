"""The data plane: what runs inside a training process. It knows nothing of the control plane."""

from train_aml.loop import Recipe
from train_aml.provenance import dataset_digest
from train_aml.sampler import Batch, Sampler, shard
from train_aml.session import Session, session
from train_aml.strategy import Network

__all__ = ["Batch", "Network", "Recipe", "Sampler", "Session", "dataset_digest", "session", "shard"]
