"""TG303: no secret stands in a request."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from traingate.documents.job import Job
from traingate.documents.located import Document
from traingate.documents.request import Request
from traingate.findings import Severity
from traingate.rules.places import at_offset, within
from traingate.rules.rule import Broken, rule
from traingate.rules.shell import PLACEHOLDER, simple_commands


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """A shape its issuer documents: long or marked enough to be no ordinary word.

    One of the `marks` is in every match; looking for it first costs next to nothing, and the
    pattern is compiled only then.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str


def _shape(kind: str, pattern: str, *marks: str) -> Shape:
    return Shape(kind=kind, marks=marks, pattern=pattern)


SHAPES = (
    _shape(
        "a GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{36,}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"
    ),
    _shape("a GitHub token", r"\bgithub_pat_[A-Za-z0-9_]{22,}", "github_pat_"),
    _shape("an Azure storage key", r"AccountKey=[A-Za-z0-9+/]{40,}={0,2}", "AccountKey="),
    _shape("a shared access signature", r"[?&;]sig=[A-Za-z0-9%+/]{30,}", "sig="),
    _shape("an AWS access key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", "AKIA", "ASIA"),
    _shape("a Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}", "hf_"),
    _shape("an API key", r"(?<![\w-])sk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}", "sk-"),
    _shape("a Google API key", r"\bAIza[A-Za-z0-9_-]{35}", "AIza"),
    _shape("a Slack token", r"(?<![\w-])xox[abprs]-[A-Za-z0-9-]{20,}", "xox"),
    _shape(
        "a secret of Microsoft Entra", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~-])", "Q~"
    ),
    _shape("a private key", r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----", "-----BEGIN "),
    _shape("a JSON web token", r"(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}", "eyJ"),
    _shape(
        "a password in an address",
        r"\b[a-z][a-z0-9+.-]{1,20}://[^/\s:@'\"$<{]{1,64}:[^/\s:@'\"$<{]{1,128}@",
        "://",
    ),
    _shape(
        "a password in an address",
        r"(?<=[?&;])(?:password|pwd)=[^\s&;'\"$<{]{4,128}",
        "password=",
        "pwd=",
    ),
)

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:PASSWORD|PASSWD|PWD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|ACCOUNT_?KEY|PRIVATE_?KEY"
    r"|CREDENTIALS?|CONNECTION_?STRING|CONN_?STR|SAS|WANDB_KEY|SSH_KEY)(?:$|_)",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
#: Words after which a secret-named variable is about a secret rather than one.
_ABOUT = re.compile(
    r"_(?:NAME|FILE|PATH|URI|URL|ID|LENGTH|LEN|COUNT|LIMIT|PROCS|TYPE|TTL)$", re.IGNORECASE
)
#: Values that name a place or a switch instead of holding a secret.
_NO_SECRET = re.compile(
    r"keyvault://.*|\$\{?\{?.*|[./~].*|.*\.pub|\d{1,10}|true|false|yes|no|none|null|on|off|<.*>|",
    re.IGNORECASE | re.DOTALL,
)
_MOST = 20


@rule("TG303", "secret-in-request", Severity.ERROR, binding=True)
def secret_in_request(request: Request) -> Iterator[Broken]:
    """No secret is written into a job, an admission or a script.

    What it does: looks for known shapes (GitHub, Azure storage keys and signatures, AWS, Hugging
    Face, OpenAI-like keys, JWTs, private keys, passwords in addresses) in the job, the admission
    and the request's scripts and settings, also behind YAML's escapes, and for variables named
    like a secret with a literal value, in the job or set by its command.
    `PRETOKEN_PROCS` and a public key's file name are none. The value is never repeated.

    Why it is bad: it is in git for ever, in Azure ML's job record, and readable by everyone who
    may see the workspace.

    Example: `WANDB_API_KEY: 0123456789abcdef...`.

    Fix: revoke it; then write `keyvault://<vault>/<secret>`, which rank zero resolves.

    Source: GitHub, "Secret scanning patterns"; Azure storage's connection string format.
    """
    texts = dict(request.sources)
    if request.job is not None:
        texts[request.job.file] = request.job.document.text
    if request.admission is not None:
        texts[request.admission.file] = request.admission.document.text
    for file, text in texts.items():
        yield from _shapes(file, text)
    for one in (request.job, request.admission):
        if one is not None:
            yield from _escaped(one.document)
    if request.job is not None:
        yield from _named(request.job)


def _shapes(file: str, text: str) -> Iterator[Broken]:
    for shape in _likely(text):
        for match in islice(re.finditer(shape.pattern, text), _MOST):
            yield Broken(
                at=at_offset(file, text, match.start()),
                message=f"This looks like {shape.kind}.",
                fix="Revoke it, and write `keyvault://<vault>/<secret>` instead.",
            )


def _likely(text: str) -> tuple[Shape, ...]:
    return tuple(shape for shape in SHAPES if any(mark in text for mark in shape.marks))


def _named(job: Job) -> Iterator[Broken]:
    places = {
        name: within(job.document, ("command",), f"{name}=")
        for name, value in _assigned(job.command)
        if _is_secret(name, value)
    }
    places |= {
        name: job.document.at("environment_variables", name)
        for name, value in job.environment_variables.items()
        if _is_secret(name, value)
    }
    for name, place in places.items():
        yield Broken(
            at=place,
            message=f"{name} holds a literal value.",
            fix="Write `keyvault://<vault>/<secret>` instead, and revoke it if it was real.",
        )


def _is_secret(name: str, value: str) -> bool:
    """Whether a variable's name says secret and its value is one, of no shape told anyway."""
    name = _CAMEL.sub("_", name)
    if not _SECRET_NAME.search(name) or _ABOUT.search(name):
        return False
    if _NO_SECRET.fullmatch(value.strip()):
        return False
    return not any(re.search(shape.pattern, value) for shape in _likely(value))


def _assigned(command: str) -> Iterator[tuple[str, str]]:
    """The variables a command sets before a program, or by `export` and `env`."""
    for words in simple_commands(command) or ():
        for word in words:
            match = _ASSIGNMENT.fullmatch(word)
            if match:
                yield match["name"], match["value"].replace(PLACEHOLDER, "$")
            elif word not in {"export", "env"}:
                break


def _escaped(document: Document) -> Iterator[Broken]:
    """Shapes that stand in a value and not in the file's text, because escapes hide them."""
    if "\\" not in document.text:
        return
    for path in document.values:
        value = document.value_at(path)
        for shape in _likely(value) if isinstance(value, str) else ():
            match = re.search(shape.pattern, value)
            if match and match[0] not in document.text:
                yield Broken(
                    at=document.at(*path),
                    message=f"Behind its escapes this looks like {shape.kind}.",
                    fix="Revoke it, and write `keyvault://<vault>/<secret>` instead.",
                )
