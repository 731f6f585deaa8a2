"""A broken schema keyword in plain words: the key, what was found, what is allowed, the mend."""

import difflib
import re
from collections.abc import Iterator
from typing import Any

from traingate.documents.characters import shown
from traingate.documents.kinds import SCHEMA
from traingate.documents.located import Document, Path, described
from traingate.documents.mends import fits, mended
from traingate.documents.scalars import Kind
from traingate.documents.slots import homes, slot, types
from traingate.documents.violation import Violation
from traingate.findings import Edit, Finding

_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
    "null": "empty",
}

#: A list of keys longer than this helps nobody at the end of a line.
_MOST_LISTED = 12

_LIBRARIES = {"deepspeed": "DeepSpeed", "fsdp": "FSDP", "horovod": "Horovod", "ddp": "DDP"}

#: Too far from the service's word for a spelling check to find it.
_NODE_COUNTS = {"node_count", "nodes", "num_nodes", "nnodes", "instances"}

#: Keys that say little without the one above them.
_VAGUE = {"type", "name", "path", "mode", "value", "version"}

Told = tuple[Path, Finding]


class Wording:
    """Words for what one document breaks in its schema."""

    def __init__(self, document: Document, schema: dict[str, Any]) -> None:
        self._document = document
        self._schema = schema

    def findings(self, broken: Violation) -> Iterator[Told]:
        """The findings of one violation, each with the path of what it speaks about."""
        if broken.is_name:
            yield self._bad_name(broken)
        elif broken.keyword == "additionalProperties":
            yield from self._unknown_keys(broken)
        elif broken.keyword == "required":
            yield from self._missing_keys(broken)
        elif broken.keyword == "type":
            yield broken.path, self._wrong_type(broken)
        elif broken.keyword in {"enum", "pattern", "not"} and broken.limit != {}:
            yield broken.path, self._no_choice(broken)
        else:
            yield broken.path, self._wrong_value(broken)

    def _found(
        self, path: Path, message: str, fix: str | None, edits: tuple[Edit, ...] = ()
    ) -> Finding:
        return SCHEMA.found(self._document.at(*path), message, fix=fix, edits=edits)

    def _bad_name(self, broken: Violation) -> Told:
        place = (*broken.path, broken.value)
        better = re.sub(r"\W+", "_", broken.value, flags=re.ASCII).strip("_")
        suggestion = f" Write `{better}` here and where it is used." if better else ""
        return place, SCHEMA.found(
            self._document.key(*place),
            f"`{shown(broken.value)}` cannot be a name under `{_key(broken.path)}`.",
            fix=f"{broken.schema['errorMessage']}{suggestion}",
        )

    def _unknown_keys(self, broken: Violation) -> Iterator[Told]:
        known = broken.schema.get("properties", {})
        place = f"`{_key(broken.path)}`" if broken.path else "this file"
        if broken.path and "title" in broken.schema:
            place = broken.schema["title"]
        for key in broken.value.keys() - known.keys():
            path = (*broken.path, key)
            yield (
                path,
                SCHEMA.found(
                    self._document.key(*path),
                    f"`{shown(key)}` is not a key of {place}.",
                    fix=self._other_key(path, [it for it in known if _is_offered(known[it])]),
                ),
            )

    def _other_key(self, path: Path, known: list[str]) -> str:
        """The key that was probably meant, the place where this one belongs, or what is allowed."""
        *parent, key = path
        if key in _NODE_COUNTS:
            return "The number of nodes is `instance_count`, under `resources`."
        here = slot(self._schema, tuple(parent)) or {}
        if key in here.get("properties", {}):
            return f"It takes {_listed(known)}."
        nearest = difflib.get_close_matches(str(key).lower(), known, n=1, cutoff=0.75)
        if nearest:
            return f"Did you mean `{nearest[0]}`?"
        elsewhere = homes(self._schema, str(key))
        if len(elsewhere) == 1:
            return f"It belongs {f'under `{elsewhere[0]}`' if elsewhere[0] else 'at the top'}."
        if len(known) <= _MOST_LISTED:
            return f"Remove it; allowed are {_listed(known)}."
        return "Remove it."

    def _missing_keys(self, broken: Violation) -> Iterator[Told]:
        path = broken.path
        for key in (it for it in broken.limit if it not in broken.value):
            about = broken.schema.get("properties", {}).get(key, {}).get("description", "")
            at = self._document.key(*path) if path else self._document.at()
            inside = f" in `{_key(path)}`" if path else ""
            yield (
                (*path, key),
                SCHEMA.found(
                    at, f"`{key}` is missing{inside}.", fix=f"Add `{key}:`. {about}".strip()
                ),
            )

    def _wrong_type(self, broken: Violation) -> Finding:
        path, value = broken.path, broken.value
        wanted = _wanted(types(broken.schema))
        advice = broken.schema.get("errorMessage")
        if value is None:
            message = f"`{_key(path)}` is empty; it must be {wanted}."
            return self._found(path, message, advice or "Give it a value, or remove the key.")
        message = f"`{_key(path)}` must be {wanted}, and this is {self._what(path, value)}."
        replacement = mended(value, self._document.spellings.get(path), broken.schema)
        if replacement is None:
            return self._found(path, message, advice or f"Write {wanted} here.")
        edits = self._document.replace(path, replacement)
        return self._found(path, message, f"Write `{replacement}`.", edits)

    def _what(self, path: Path, value: Any) -> str:
        spelling = self._document.spellings.get(path)
        if spelling is not None and spelling.kind is not Kind.USUAL:
            return f"{described(value)} (`{spelling.text}`)"
        return f"the text `{shown(value)}`" if isinstance(value, str) else described(value)

    def _no_choice(self, broken: Violation) -> Finding:
        path, value = broken.path, str(broken.value)
        choices = broken.schema.get("enum") or broken.schema.get("examples") or []
        message = f"`{_key(path)}` cannot be `{shown(value)}`."
        usual = value.strip().lower().replace("-", "_")
        if usual in choices and fits(broken.schema, usual):
            edits = self._document.replace(path, usual)
            return self._found(path, message, f"Write `{usual}`.", edits)
        if path == ("distribution", "type") and (reason := _not_a_type(value)):
            return self._found(path, f"{message} {reason}", "Write `pytorch` or `mpi`.")
        nearest = difflib.get_close_matches(value.lower(), choices, n=1, cutoff=0.7)
        advice = broken.schema.get("errorMessage") or f"Write {_listed(choices, 'or')}."
        return self._found(path, message, f"Did you mean `{nearest[0]}`?" if nearest else advice)

    def _wrong_value(self, broken: Violation) -> Finding:
        path, limit, advice = broken.path, broken.limit, broken.schema.get("errorMessage")
        key, value = f"`{_key(path)}`", shown(str(broken.value))
        if broken.keyword == "not":
            return SCHEMA.found(
                self._document.key(*path), f"{key} is not a key of an admission.", fix=advice
            )
        words = {
            "minimum": f"{key} is {value}; it must be at least {limit}.",
            "exclusiveMinimum": f"{key} is {value}; it must be above {limit}.",
            "maximum": f"{key} is out of range: {value}.",
            "minLength": f"{key} is empty.",
            "minItems": f"{key} is empty.",
            "maxLength": f"{key} is longer than {limit} characters.",
            "uniqueItems": f"{key} names something twice.",
            "format": f"`{value}` is no day of the calendar.",
            "dependentRequired": "`version` needs `name` beside it.",
        }
        fixes = {
            "minimum": f"Write {limit} or more.",
            "exclusiveMinimum": f"Write more than {limit}.",
            "maximum": f"Write at most {limit}.",
            "maxLength": "Shorten it.",
            "uniqueItems": "Keep one of them.",
            "dependentRequired": "Add `name:`, or remove `version:`.",
        }
        about_value = None if broken.keyword == "dependentRequired" else advice
        fix = about_value or fixes.get(broken.keyword, "Give it a value.")
        return self._found(path, words[broken.keyword], fix)


def _key(path: Path) -> str:
    """The key a path ends in; an item of a list by its number."""
    if path and isinstance(path[-1], int):
        return f"{_key(path[:-1])}[{path[-1]}]"
    if not path:
        return "the file"
    return shown(".".join(map(str, path[-2:] if path[-1] in _VAGUE else path[-1:])))


def _is_offered(subschema: Any) -> bool:
    """Whether a key is worth proposing: neither the service's own nor a trap with a message."""
    return subschema is True or not (subschema.get("readOnly") or "not" in subschema)


def _wanted(allowed: frozenset[str]) -> str:
    names = [word for kind, word in _TYPES.items() if kind in allowed]
    if "a number" in names and "a whole number" in names:
        names.remove("a whole number")
    return _listed(names, "or", mark="")


def _listed(words: list[str], last: str = "and", mark: str = "`") -> str:
    marked = [f"{mark}{word}{mark}" for word in words]
    return f" {last} ".join(filter(None, [", ".join(marked[:-1]), *marked[-1:]]))


def _not_a_type(value: str) -> str | None:
    """Why a well-known name is no distribution type."""
    name = re.sub(r"[^a-z]", "", value.lower())
    if name in _LIBRARIES:
        return f"{_LIBRARIES[name]} is code inside a pytorch or mpi job, not a type."
    return "PyTorch's own name here is `pytorch`." if name.startswith("torch") else None
