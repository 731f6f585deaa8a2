"""TG411 and TG412: whose model it is, and how long the admission holds."""

from collections.abc import Iterator

from traingate.documents.request import Request
from traingate.findings import Severity
from traingate.rules.rule import Broken, rule


@rule("TG411", "model-of-another", Severity.ERROR, binding=True)
def model_of_another(request: Request) -> Iterator[Broken]:
    """A registered model has one workload that makes it.

    What it does: looks for another admission that makes a model of the same name. `existing:
    true` says that this workload adds versions to it on purpose.

    Why it is bad: versions of two trainings would alternate under one name, and whatever serves
    "the latest" changes without anybody's decision.

    Example: two admissions with `model: {name: segmentation}`.

    Fix: another name, or `existing: true`.

    Source: MLflow's registry has no owner of a name.
    """
    admission = request.admission
    if admission is None or admission.model.existing:
        return
    others = [
        one.workload
        for one in request.context.makers(admission.model.name)
        if one.file != admission.file
    ]
    if others:
        yield Broken(
            at=admission.document.at("model", "name"),
            message=f"The model {admission.model.name} is made by {', '.join(others)}.",
            fix="Choose another name, or write `existing: true` to add versions to it.",
        )


@rule("TG412", "expiry", Severity.ERROR, binding=True)
def expiry(request: Request) -> Iterator[Broken]:
    """The admission is valid today, and not for ever.

    What it does: asks for `expires` (its last valid day), compares it with today, and with the
    longest time the platform allows. A demonstration needs none.

    Why it is bad: a measurement ages. The next size holds the model, the next library halves the
    time, and an exception nobody looks at again becomes the rule.

    Example: `expires: 2026-10-31`, read in December.

    Fix: measure again, and set a new day.

    Source: `longest_admission_days` in platform.yml.
    """
    admission = request.admission
    if admission is None:
        return
    if admission.expires is None:
        if admission.need != "demonstration":
            yield Broken(
                at=admission.document.at("expires"),
                message="The admission has no end.",
                fix="Add `expires: <its last valid day>`.",
            )
        return
    today, longest = request.context.today, request.context.platform.longest_admission_days
    place = admission.document.at("expires")
    days = (admission.expires - today).days
    if days < 0:
        yield Broken(
            at=place,
            message=f"The admission expired on {admission.expires}; today is {today}.",
            fix="Measure again, and set a new day in a pull request.",
        )
    elif days > longest:
        yield Broken(
            at=place,
            message=f"The admission is valid for {days} days; the platform allows {longest}.",
            fix="Set an earlier day.",
        )
