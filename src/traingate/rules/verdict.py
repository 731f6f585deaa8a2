"""Every rule asked once, waivers and severities applied after."""

from traingate.documents.request import Context, Request
from traingate.findings import Finding
from traingate.rules.order import REQUEST_RULES
from traingate.rules.platform import CONTEXT_RULES
from traingate.rules.waivers import WAIVER_RULES, settle, weigh


def judge(request: Request) -> tuple[Finding, ...]:
    """What the rules say of one request."""
    rules = (*REQUEST_RULES, *WAIVER_RULES)
    return settle((finding for one in rules for finding in one.findings(request)), request)


def judge_context(context: Context) -> tuple[Finding, ...]:
    """What the rules say of the repository itself."""
    severities = context.platform.severities
    return tuple(
        weigh(finding, one, severities.get(one.id, severities.get(one.name)))
        for one in CONTEXT_RULES
        for finding in one.findings(context)
    )
