"""The findings that reading itself makes, each with a stable id, a name and a page.

Rules look at a request that was understood; what stands here is why a file was not. The pages
have the form of a rule's, so that `explain` and the rules page treat both alike.
"""

from dataclasses import dataclass

from traingate.findings import Edit, Finding, Location, Severity


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """One kind of unreadable: the same four fields a rule has."""

    id: str
    name: str
    page: str
    severity: Severity = Severity.ERROR

    def found(
        self,
        at: Location,
        message: str,
        *,
        fix: str | None = None,
        edits: tuple[Edit, ...] = (),
        severity: Severity | None = None,
    ) -> Finding:
        """A finding of this kind; `severity` only where this place weighs less than usual."""
        return Finding(
            rule=self.id,
            name=self.name,
            severity=severity or self.severity,
            location=at,
            message=message,
            fix=fix,
            edits=edits,
        )


UNREADABLE = Kind(
    id="TG001",
    name="unreadable-file",
    page="""\
The file is not UTF-8 text, not YAML, or larger than a request can be.

Why it matters: nothing can be said about a file that cannot be read, and what two readers
understand differently must not be submitted. Refused are other encodings, more than 1 MiB,
YAML syntax errors, several documents, tags outside the core schema (`!!python/...`), aliases
that contain themselves, more than 20,000 nodes after aliases are expanded and nesting deeper
than 50. The bounds are checked before anything is expanded.

Example: `NCCL_DEBUG: !!python/object/apply:os.getcwd []`

Fix: save as UTF-8, keep to one plain YAML document.

Source: YAML 1.1, sections 3.2 and 10; Azure ML reads job files with PyYAML's safe loader.""",
)

SCHEMA = Kind(
    id="TG002",
    name="schema",
    page="""\
A key or value is not what the file's schema allows.

Why it matters: Azure ML refuses the job at submit time with two kilobytes of nested JSON and no
line, or takes the value and does something else with it (`process_count_per_instance: 2.5` runs
two processes). `schemas/job.schema.json` has the shape of the SDK's own classes with the
service's tighter numbers; editors show it through yaml-language-server.

Example: `processes_per_instance: 8` under `distribution`.

Fix: the finding names the key, what was found, what is allowed and the nearest known key. Where
only quotes are missing or too many, `check --fix` mends it.

Source: azure-ai-ml 1.35.2, `CommandJobSchema`.""",
)

MISSING = Kind(
    id="TG003",
    name="missing-file",
    page="""\
A request is two files, and one of them is missing.

Why it matters: a job without an admission was never justified; an admission without a job
admits nothing.

Example: `jobs/segmentation-ddp/job.yml` exists, `admissions/segmentation-ddp.md` does not.

Fix: write the missing file, or delete the other one.

Source: this repository's own contract.""",
)

DUPLICATE_KEY = Kind(
    id="TG004",
    name="duplicate-key",
    page="""\
A mapping has the same key twice.

Why it matters: PyYAML, and with it Azure ML, silently keeps the last one. A reviewer who reads
the first `compute:` approves a cluster that is not used.

Example: `compute: azureml:small` above, `"compute": azureml:large` forty lines below.

Fix: keep one. Overriding a key that comes from a merge (`<<: *base`) is legal and stays so.

Source: YAML 1.1, section 3.2.1.3 (keys are unique).""",
)

YAML_SURPRISE = Kind(
    id="TG005",
    name="yaml-surprise",
    page="""\
An unquoted value that YAML 1.1 reads differently from a person.

Why it matters: `NO` is false, `010` is 8, `1:30` is 90, `1_000` is 1000, `1e-4` is text and
`2026-11-30` is a date. The SDK takes each without a word, so that `1:30` becomes ninety
processes a node. YAML 1.2 tools read several of these the other way.

Example: `experiment_name: no`

Fix: quotes where text is meant, plain digits where a number is. It is a warning only for a
number that is read as text where a job input takes either, because Azure ML sends inputs as
text anyway.

Source: YAML 1.1 types (yaml.org/type), as PyYAML 6 implements them.""",
)

HIDDEN_CHARACTER = Kind(
    id="TG006",
    name="hidden-character",
    page="""\
A character that a reviewer cannot see but a program obeys.

Why it matters: bidirectional controls reorder what the diff shows; U+0085 and U+2028 end a line
in YAML 1.1 and nowhere else, so one visible line can hold two keys; a no-break space is not
indentation; NUL and control characters have no place in a job.

Example: a command with U+202E in its comment, which shows the rest of the line backwards.

Fix: delete the character; type plain spaces.

Source: CVE-2021-42574 (Trojan Source); YAML 1.1, section 5.4.""",
)

FRONT_MATTER = Kind(
    id="TG007",
    name="front-matter",
    page="""\
The admission does not begin with front matter between two lines of `---`.

Why it matters: the front matter is what the gate judges; prose that slips into it, or keys that
slip out of it, would be judged wrongly. It begins on the first line and ends at the first later
line that is only `---`, wherever that stands: a `---` in the body or in a code block comes after
it and is prose.

Example: a file closed by `...`, which YAML ends a document with but GitHub does not know.

Fix: put `---` on a line of its own before and after the keys.

Source: GitHub renders front matter between `---` lines only.""",
)

OLD_SYNTAX = Kind(
    id="TG008",
    name="other-syntax",
    page="""\
The preview's syntax of 2021, or a component's, in a command job.

Why it matters: many pages on the web still show it, and the SDK answers with every branch of a
union. `compute: {target:}`, `code: {local_path:}`, `inputs: {data:}` and `{inputs.x}` are the
preview's; `type: number`, `optional` and `default` declare a component's input.

Example: `lr: {type: number, default: 0.01}`

Fix: `compute: azureml:NAME`, `code: ./src`, `path:` with a `type:`, `${{inputs.x}}`, and for an
input's value just `lr: 0.01`.

Source: azure-ai-ml 1.35.2; the 2021 preview's commandJob schema.""",
)

#: In the order of their ids.
KINDS: tuple[Kind, ...] = (
    UNREADABLE,
    SCHEMA,
    MISSING,
    DUPLICATE_KEY,
    YAML_SURPRISE,
    HIDDEN_CHARACTER,
    FRONT_MATTER,
    OLD_SYNTAX,
)
