"""Text from strangers made harmless before it stands in a comment or in a workflow's log.

GitHub turns mentions and references into links *after* it has rendered Markdown, so a backslash
or an HTML entity does not stop them; a zero-width space between the sign and the name does.
Inside a code span or a fence GitHub links nothing, which is why most untrusted text goes there.
"""

import re

_BREAK = "\u200b"
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
# Everything that moves, hides or reorders what a reader sees: C0 and C1 controls, zero-width
# and bidirectional marks, line separators, the byte order mark, tag characters, and what stands
# for bytes that are no text.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_MARKDOWN = re.compile(r"[\\`*_\[\]!|~$]|^[#+=-]|(?<=^\d)[.)]")
_LINKS = (
    (re.compile(r"@(?=[\w/])"), f"@{_BREAK}"),
    (re.compile(r"#(?=\d)"), f"#{_BREAK}"),
    (re.compile(r"(?i)\b(GH-)(?=\d)"), rf"\1{_BREAK}"),
    (re.compile(r"://"), f":{_BREAK}//"),
    (re.compile(r"(?i)\bwww\."), f"www{_BREAK}."),
)
_SECRETS = re.compile(
    r"gh[opsur]_[A-Za-z0-9_]{8,}|github_pat_\w{8,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"
    r"|\bAKIA[0-9A-Z]{16}\b|\bxox[abpr]-[\w-]{8,}|\bhf_[A-Za-z0-9]{16,}|\bdapi[0-9a-f]{32}"
    r"|\bsk-[\w-]{16,}|\b[\w.~-]{3}8Q~[\w.~-]{31,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?i:(?<=AccountKey=)|(?<=SharedAccessKey=)|(?<=[?&]sig=))[\w+/=%-]{8,}"
    r"|(?i:(?<=Bearer )|(?<=password=)|(?<=secret=)|(?<=token=))[^\s&\"']{6,}"
    r"|(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"
)


def visible(text: str) -> str:
    """`text` without ANSI codes, and with every hidden or reordering character spelled out."""
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _HIDDEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def plain(text: str, limit: int = 300) -> str:
    """One line of prose for Markdown: no markup, no link, no mention, no HTML, no table cell."""
    line = _short(" ".join(visible(text).split()), limit)
    line = _MARKDOWN.sub(lambda found: f"\\{found[0]}", line)
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for pattern, replacement in _LINKS:
        line = pattern.sub(replacement, line)
    return line


def prose(text: str, limit: int = 1_000) -> str:
    """`plain`, but what stands between a pair of backticks stays a code span."""
    parts = re.split(r"`([^`\n]+)`", visible(text))
    made = [
        code(part, limit) if index % 2 else _plain_around(part, limit)
        for index, part in enumerate(parts)
    ]
    return "".join(made).strip()


def _plain_around(part: str, limit: int) -> str:
    """`plain`, with the blanks that separate it from the code spans beside it."""
    before = " " if part[:1].isspace() else ""
    after = " " if part[-1:].isspace() and part.strip() else ""
    return f"{before}{plain(part, limit)}{after}"


def code(text: str, limit: int = 300) -> str:
    """A code span; also fit for a table cell, where GitHub takes the backslash off the pipe."""
    line = _no_markers(_short(" ".join(visible(text).split()), limit)) or " "
    if "`" not in line:
        return f"`{line}`"
    fence = "`" * (_longest_run(line) + 1)
    return f"{fence} {line} {fence}"


def cell(text: str, limit: int = 300) -> str:
    """A code span inside a table, where an unescaped pipe would end the cell."""
    # Two backslashes before a pipe would escape each other and leave the pipe free.
    return code(text, limit).replace("\\|", f"\\{_BREAK}|").replace("|", "\\|")


def link(url: str, words: str) -> str:
    """A link to a page of ours; anything that is no plain https address stays text."""
    if re.fullmatch(r"https://[\w./?=&%~:;,+-]+", url):
        return f"[{words}]({url})"
    return code(url)


def block(text: str, limit: int = 20_000, language: str = "text") -> str:
    """A fenced block; the fence is longer than any run of backticks in the text."""
    body = _no_markers(_short(visible(text).strip("\n"), limit))
    fence = "`" * max(3, _longest_run(body) + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def console(text: str) -> str:
    """Text for a workflow's log: no line of it can be read as a workflow command."""
    lines = visible(text).split("\n")
    return "\n".join(_no_command(line) for line in lines)


def scrub(text: str) -> str:
    """`text` with every known shape of a token or password replaced."""
    return _SECRETS.sub("[removed]", text)


def units(text: str) -> int:
    """Length as GitHub's strictest counter may see it: UTF-16 code units."""
    return len(text.encode("utf-16-le")) // 2


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}\u2026"


def _no_markers(text: str) -> str:
    return text.replace("<!--", f"<{_BREAK}!--")


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _no_command(line: str) -> str:
    # The runner reads `::` after any indentation, and the old `##[` anywhere in a line.
    line = line.replace("##[", f"#{_BREAK}#[")
    return f"{_BREAK}{line}" if line.lstrip().startswith("::") else line
