"""The variables by which a job knows what it is: the same whatever the backend.

`train_aml` reads them; everything is text, and a value that does not exist is left out.
"""

from traingate.backends.base import Provenance
from traingate.plan import Plan


def contract(plan: Plan, provenance: Provenance) -> dict[str, str]:
    """`TRAINGATE_*` of one run, as rank zero needs them to register what it made."""
    image = plan.job.environment.image or plan.job.environment.reference
    known = {
        "RUN": plan.run_name(provenance.origin),
        "WORKLOAD": plan.workload,
        "MODEL": plan.model.name,
        "MODEL_EXISTING": "true" if plan.model.existing else "false",
        "DIGEST": plan.digest,
        "ATTEMPT": str(provenance.attempt),
        "IMAGE": image,
        "COMMIT": provenance.commit,
        "PULL_REQUEST": str(provenance.pull_request) if provenance.pull_request else None,
        "REPOSITORY": plan.repository,
    }
    return {f"TRAINGATE_{name}": value for name, value in known.items() if value is not None}
