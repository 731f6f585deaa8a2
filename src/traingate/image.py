"""Write an image's digest into a job file and leave every other byte as it is.

A YAML library would reflow the file; the reviewer should see one changed line. So the library only
says where the old reference stands, and the text is cut there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml

REFERENCE = re.compile(
    r"(?P<repository>[a-z0-9][a-z0-9.-]*(?::[0-9]+)?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)+)"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"@sha256:(?P<digest>[0-9a-f]{64})"
)
PLACEHOLDER_DIGEST = "0" * 64

_STYLES = {None: "", "": "", '"': '"', "'": "'"}
_WRITE_IMAGE = "write it as `environment:` with `image: REGISTRY/NAME@sha256:...` below it"


class ImageError(ValueError):
    """A job file whose image cannot be set; line and column count from 1."""

    def __init__(self, message: str, *, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """Where a job file names its image: the reference and its place in the text, in characters."""

    reference: str
    start: int
    end: int
    quote: str

    @property
    def is_placeholder(self) -> bool:
        """Whether no image has been pushed yet: the digest is all zeros."""
        return self.reference.endswith(f"@sha256:{PLACEHOLDER_DIGEST}")

    def same_repository(self, reference: str) -> bool:
        """Whether both are builds of one image, whatever their tags and digests."""
        ours, theirs = (re.split(r"@|:(?!.*/)", name)[0] for name in (self.reference, reference))
        return ours == theirs


def check_reference(reference: str) -> None:
    """Raise ValueError unless the reference pins an image that exists by digest."""
    match = REFERENCE.fullmatch(reference)
    if match is None:
        raise ValueError(
            f"{reference!r} does not pin an image: give REGISTRY/NAME@sha256:<64 hex digits>, "
            "as image.yml prints it"
        )
    if match["digest"] == PLACEHOLDER_DIGEST:
        raise ValueError(
            "an all-zero digest stands for an image that was never pushed: run image.yml and give "
            "the digest it prints"
        )


def find_image(text: str) -> Image:
    """Where the job file's text names its image.

    Raises:
        ImageError: the file is no YAML mapping, or its environment is not an image by reference.
    """
    root = _compose(text)
    environment_key, environment = _entry(root, "environment", after=root)
    if not isinstance(environment, yaml.MappingNode):
        raise _error(environment, f"the environment is no image: {_WRITE_IMAGE}")
    for key, _ in environment.value:
        if key.value in {"build", "conda_file"}:
            raise _error(
                key,
                f"with `{key.value}` Azure ML builds an image of its own, which no digest pins: "
                "build it in image.yml and name only `image`",
            )
    _check_in_place(environment_key, environment)
    image_key, image = _entry(environment, "image", after=environment_key)
    _check_in_place(image_key, image)
    quote = _STYLES.get(image.style) if isinstance(image, yaml.ScalarNode) else None
    start, end = image.start_mark.index, image.end_mark.index
    if quote is None or not image.value or text[start] in "&!":
        raise _error(image, "the image is no plain or quoted text: write it on one line")
    return Image(reference=image.value, start=start, end=end, quote=quote)


def set_image(text: str, reference: str) -> str:
    """The job file's text with the reference in place of the image it names now.

    Args:
        text: the file, decoded without newline translation.
        reference: `REGISTRY/NAME[:TAG]@sha256:<64 hex digits>`.

    Raises:
        ValueError: the reference does not pin an image.
        ImageError: a ValueError with a place, for a file whose image cannot be set.
    """
    check_reference(reference)
    image = find_image(text)
    return f"{text[: image.start]}{image.quote}{reference}{image.quote}{text[image.end :]}"


def _compose(text: str) -> yaml.MappingNode:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise ImageError(
            f"not YAML: {error.problem}; run `traingate check` and correct it first",
            line=mark.line + 1 if mark else 1,
            column=mark.column + 1 if mark else 1,
        ) from error
    except (yaml.YAMLError, RecursionError) as error:
        message = f"not YAML: {error}; run `traingate check` and correct it first"
        raise ImageError(message, line=1, column=1) from error
    if not isinstance(root, yaml.MappingNode):
        raise ImageError("a job file is a mapping: see jobs/digits-ddp/job.yml", line=1, column=1)
    return root


def _entry(
    mapping: yaml.MappingNode, name: str, *, after: yaml.Node
) -> tuple[yaml.Node, yaml.Node]:
    """The one entry of that name."""
    found = [(key, value) for key, value in mapping.value if key.value == name]
    if not found:
        raise _error(after, f"there is no `{name}`: {_WRITE_IMAGE}")
    if len(found) > 1:
        raise _error(found[1][0], f"a second `{name}`: keep one")
    return found[0]


def _check_in_place(key: yaml.Node, value: yaml.Node) -> None:
    """Refuse an alias: its text stands elsewhere, and other places may use it."""
    if value.start_mark.index < key.end_mark.index:
        raise _error(key, "the value is a YAML alias, which other keys share: write it out here")


def _error(node: yaml.Node, message: str) -> ImageError:
    mark = node.start_mark
    return ImageError(message, line=mark.line + 1, column=mark.column + 1)
