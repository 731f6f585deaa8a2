"""A stateful stand-in for Azure ML, its storage, Entra and GitHub's tokens, over TLS on loopback.

Written from what azure-ai-ml 1.35.2 sends and from the service's published examples
(Azure/azure-rest-api-specs, Microsoft.MachineLearningServices). It says nothing about what the
real service would do beyond that.
"""

from azureml_fake.server import Fake, Fault, running
from azureml_fake.state import Seen, State

__all__ = ["Fake", "Fault", "Seen", "State", "running"]
