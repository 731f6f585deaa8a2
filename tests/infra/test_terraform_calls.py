"""traingate.documents.terraform finds the module calls that Terraform finds, and no others."""

from __future__ import annotations

import io
import json
import subprocess
import tempfile
from pathlib import Path

import hcl2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.infra.terraform import terraform

from traingate.documents.terraform import ModuleCall, blocks, module_calls, module_calls_json

CALL = 'module "aml" {\n  source = "./modules/aml"\n}\n'

HIDDEN = {
    "nothing": "",
    "hash comment": '# module "aml" {}\n',
    "slash comment": '// module "aml" {}\n',
    "block comment": '/* module "aml" {\n} */\n',
    "string": 'locals {\n  a = "module \\"aml\\" {}"\n}\n',
    "heredoc": 'locals {\n  a = <<EOT\nmodule "aml" {\n}\nEOT\n}\n',
    "indented heredoc": 'locals {\n  a = <<-EOT\n    module "aml" {\n    }\n    EOT\n}\n',
    "nested block": 'resource "x" "y" {\n  module "aml" {\n  }\n}\n',
    "attribute": 'module = "aml"\n',
    "object": 'locals {\n  module = { aml = { source = "./modules/aml" } }\n}\n',
}

# What stands before a call and, misread, would swallow it.
BEFORE = {
    "comment with a quote": '# "\n',
    "comment with a brace": "/* { */\n",
    "string with a comment sign": 'locals {\n  a = "# /* //"\n}\n',
    "string with a brace": 'locals {\n  a = "{"\n}\n',
    "escaped quote": 'locals {\n  a = "\\""\n}\n',
    "escaped backslash": 'locals {\n  a = "\\\\"\n}\n',
    "escaped template": 'locals {\n  a = "$${"\n  b = "%%{"\n}\n',
    "dollar": 'locals {\n  a = "$"\n  b = "100%"\n}\n',
    "template with a string": 'locals {\n  a = "${"}"}"\n}\n',
    "template in a template": 'locals {\n  a = "${"${"{"}"}"\n}\n',
    "template with an object": 'locals {\n  a = "${jsonencode({ b = "}" })}"\n}\n',
    "template with a comment": 'locals {\n  a = "${ /* } */ 1 }"\n}\n',
    "directive": 'locals {\n  a = "%{ if true }{%{ endif }"\n}\n',
    "heredoc with a quote": 'locals {\n  a = <<EOT\n"\n{\n/*\nEOT\n}\n',
    "heredoc with its marker inside a line": "locals {\n  a = <<EOT\nEOT x\nx EOT\n  EOT\n}\n",
    "heredoc with its marker in a template": 'locals {\n  a = <<EOT\n${\nEOT\n}"\nEOT\n}\n',
    "heredoc with CRLF": "locals {\r\n  a = <<EOT\r\n{\r\nEOT\r\n}\r\n",
    "heredoc in a call": "locals {\n  a = [<<A\n{\nA\n  , <<B\n}\nB\n  ]\n}\n",
    "byte order mark": "\ufeff",
}


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_what_only_looks_like_a_call_is_none(text: str):
    assert module_calls(text) == []


@pytest.mark.parametrize("before", [*HIDDEN.values(), *BEFORE.values()], ids=[*HIDDEN, *BEFORE])
def test_a_call_behind_it_is_found_at_its_line(before: str):
    assert module_calls(before + CALL) == [
        ModuleCall(
            name="aml",
            source="./modules/aml",
            line=before.count("\n") + 1,
            column=2 if before == "\ufeff" else 1,
        )
    ]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ('module "aml" { source = "./modules/aml" }', "./modules/aml"),
        ('module aml {\n  source = "./modules/aml"\n}', "./modules/aml"),
        (
            'module /* a\n */ "aml" { # here\n  source = "./modules/\\u0061ml" # b\n}',
            "./modules/aml",
        ),
        ('module "aml" {\n  other = { source = "no" }\n  source = "./m"\n}', "./m"),
        ('module "aml" {\n  nested {\n    source = "no"\n  }\n}', None),
        ('module "aml" {\n  source = "./${x}"\n}', None),
        ('module "aml" {\n  source = var.source\n}', None),
        ('module "aml" {\n  source = "./modules/aml"\n', "./modules/aml"),
        ('module "aml" {', None),
    ],
)
def test_name_and_source(text: str, source: str | None):
    assert module_calls(text) == [ModuleCall(name="aml", source=source, line=1, column=1)]


def test_blocks_of_every_kind_are_listed_with_their_labels():
    text = 'terraform {\n}\nresource "a" "b" {\n}\n'
    assert [(block.kind, block.labels, block.line) for block in blocks(text)] == [
        ("terraform", (), 1),
        ("resource", ("a", "b"), 3),
    ]


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ({"module": {"aml": {"source": "./modules/aml"}}}, ["aml"]),
        ({"module": [{"aml": [{"source": "./modules/aml"}]}]}, ["aml"]),
        ([{"module": {"a": {}}}, {"module": {"b": {}}}], ["a", "b"]),
        ({"resource": {"module": {"aml": {}}}}, []),
        ("module", []),
        ({"module": 1}, []),
    ],
)
def test_json_syntax(document: object, names: list[str]):
    assert [call.name for call in module_calls_json(json.dumps(document))] == names


def test_json_keeps_repeated_keys_and_positions():
    text = '{"module": {\n  "a": {"source": "./a"}},\n "module": {"b": {}}}'
    assert module_calls_json(text) == [
        ModuleCall(name="a", source="./a", line=2, column=3),
        ModuleCall(name="b", source=None, line=3, column=13),
    ]
    assert module_calls_json("{") == []
    assert module_calls_json("[" * 100_000) == []


HOSTILE = ["module", "}", "{", "#", "//", "/*", "*/", "EOT", "plain", "$", "%"]

# What Terraform reads and python-hcl2 8.1.4 does not, in some strings.
ESCAPES = ["$${", "%%{", '\\"', "\\\\"]


def values(words: list[str]) -> st.SearchStrategy[str]:
    """Expressions whose quotes, braces and comment signs try to mislead a scanner."""
    inside = st.lists(st.sampled_from(words), max_size=4).map(" ".join)
    leaf = st.one_of(
        inside.map(lambda text: f'"{text}"'),
        inside.map(lambda text: f'"${{lower("{text}")}}"'),
        st.sampled_from(["1", "true", "var.x", "null", "[]", "{}"]),
    )
    return st.recursive(
        leaf,
        lambda deeper: st.one_of(
            st.lists(deeper, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
            deeper.map(lambda value: f"{{ a = {value} }}"),
            deeper.map(lambda value: f"merge({value}, {{}})"),
        ),
        max_leaves=5,
    )


def documents(words: list[str]) -> st.SearchStrategy[str]:
    """Files of up to four blocks, numbered so that no name comes twice."""
    header = st.sampled_from(
        ['module "m{}"', "module m-{}", 'resource "azurerm_x" "r{}"', "locals"]
    )
    heredoc = st.lists(st.sampled_from(["{", "}", '"', "module", "# x", "/*"]), max_size=3).map(
        lambda lines: "".join(["<<EOT\n", *(line + "\n" for line in lines), "EOT"])
    )
    comment = st.sampled_from(["", "  # }\n", "  // {\n", '  /* { " */\n', "\n"])
    block = st.tuples(header, comment, st.one_of(values(words), heredoc))
    return st.lists(block, max_size=4).map(
        lambda parts: "".join(
            f'{head.format(number)} {{\n{between}  source = "./modules/aml"\n}}\n'
            if head.startswith("module")
            else f"{head.format(number)} {{\n{between}  a{number} = {value}\n}}\n"
            for number, (head, between, value) in enumerate(parts)
        )
    )


@settings(deadline=None)  # The parser of python-hcl2 is built during the first example.
@given(documents(HOSTILE))
def test_agrees_with_python_hcl2(text: str):
    options = hcl2.SerializationOptions(strip_string_quotes=True)
    parsed = hcl2.load(io.StringIO(text), serialization_options=options)
    expected = [name for block in parsed.get("module", []) for name in block if name[:2] != "__"]
    assert [call.name for call in module_calls(text)] == expected


@settings(deadline=None, max_examples=20)  # Each starts a process.
@given(documents([*HOSTILE, *ESCAPES]))
def test_agrees_with_terraform_on_escapes(text: str):
    with tempfile.TemporaryDirectory() as folder:
        names = terraform_calls(Path(folder), text)
    assert sorted(call.name for call in module_calls(text)) == names


@given(st.text(alphabet=st.sampled_from('module "aml"{}$%\\#/*<EOT\n=[]()-\r\u00e9'), max_size=60))
def test_no_text_is_an_error(text: str):
    for call in module_calls(text):
        assert 1 <= call.line <= text.count("\n") + 1


@pytest.mark.parametrize("before", [*HIDDEN.values(), *BEFORE.values()], ids=[*HIDDEN, *BEFORE])
def test_agrees_with_terraform(before: str, tmp_path: Path):
    if before == HIDDEN["attribute"]:
        with pytest.raises(subprocess.CalledProcessError):
            terraform_calls(tmp_path, before)
    else:
        assert terraform_calls(tmp_path, before + CALL) == ["aml"]


def terraform_calls(folder: Path, text: str) -> list[str]:
    """The calls that Terraform itself finds, by name."""
    (folder / "modules" / "aml").mkdir(parents=True)
    (folder / "modules" / "aml" / "main.tf").touch()
    (folder / "main.tf").write_text(text, encoding="utf-8", newline="")
    terraform("get", "-no-color", folder=folder).check_returncode()
    manifest = folder / ".terraform" / "modules" / "modules.json"
    if not manifest.exists():
        return []
    modules = json.loads(manifest.read_text(encoding="utf-8"))["Modules"]
    return sorted(module["Key"] for module in modules if module["Key"])
