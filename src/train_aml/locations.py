"""Where the stores are: a location from the contract becomes an address, on rank zero only."""

from __future__ import annotations

from train_aml.problems import StoreProblem

VAULT_SCHEME = "keyvault://"


def resolve(location: str) -> str:
    """The address behind `location`, which is the location itself unless it is in a vault.

    Raises:
        StoreProblem: the location is `keyvault://...` and cannot be resolved.
    """
    if location.startswith(VAULT_SCHEME):
        raise StoreProblem(
            f"{location} is a Key Vault location, and this image cannot resolve those. On a laptop "
            "give the local stores as TRAINGATE_TRACKING_URI and TRAINGATE_RESULTS_URL."
        )
    return location
