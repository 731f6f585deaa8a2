"""What a refused sign-in means, and what to change so that it is granted."""

import json

from azure.core.exceptions import ClientAuthenticationError

from traingate.backends.azureml.github_token import AUDIENCE, Claims
from traingate.errors import TraingateError

_WRONG_SUBJECT = frozenset({70021, 700213})
_WRONG_CASE = 7002138
_EXPIRED = 700024
_UNKNOWN_CLIENT = 700016


def explain(
    error: ClientAuthenticationError, client_id: str, claims: Claims | None
) -> TraingateError:
    """The refusal of `client_id` in words; the subject is shown, the token never."""
    codes = error_codes(error)
    if codes & _WRONG_SUBJECT and claims is not None:
        return _wrong_subject(client_id, claims)
    if _WRONG_CASE in codes and claims is not None:
        return TraingateError(
            f"The federated credential's subject differs from the token's in upper and lower "
            f"case only (AADSTS{_WRONG_CASE}); the token says {claims.subject!r}.",
            todo=f"Write exactly that, letter for letter, into the federated credential of "
            f"{client_id}.",
        )
    if _EXPIRED in codes:
        return TraingateError(
            f"The workflow's token was too old or too new when it arrived (AADSTS{_EXPIRED}).",
            todo="Re-run the job; if it repeats, the runner's clock is wrong: a token lives five "
            "minutes and was fetched just before.",
        )
    if _UNKNOWN_CLIENT in codes:
        return TraingateError(
            f"The tenant knows no application {client_id} (AADSTS{_UNKNOWN_CLIENT}).",
            todo="Compare `tenant_id` and the client id in platform.yml with the identity's.",
        )
    names = ", ".join(f"AADSTS{code}" for code in sorted(codes)) or type(error).__name__
    return TraingateError(
        f"Microsoft Entra refused the sign-in of {client_id} ({names}).",
        todo="Look the code up at https://login.microsoftonline.com/error and compare the "
        "identity with platform.yml.",
    )


def error_codes(error: ClientAuthenticationError) -> frozenset[int]:
    """The `AADSTS` numbers of the answer, empty when there was none."""
    try:
        body = json.loads(error.response.text()) if error.response is not None else {}
    except ValueError:
        return frozenset()
    codes = body.get("error_codes") if isinstance(body, dict) else None
    return frozenset(code for code in codes or () if isinstance(code, int))


def _wrong_subject(client_id: str, claims: Claims) -> TraingateError:
    form = "numeric-id" if claims.subject == claims.id_form else "name"
    other = claims.name_form if form == "numeric-id" else claims.id_form
    hint = (
        ""
        if claims.environment
        else " The subject names no environment: give the workflow job `environment: azureml`."
    )
    return TraingateError(
        f"No federated credential of {client_id} matches this workflow. The token's subject is "
        f"{claims.subject!r}, in GitHub's {form} form; the other form would be {other!r}.{hint}",
        todo=f"Give {client_id} a federated credential with subject {claims.subject!r}, issuer "
        f"'https://token.actions.githubusercontent.com' and audience '{AUDIENCE}'; if there is "
        "one with the other form, replace it. A new credential takes minutes to be seen.",
    )
