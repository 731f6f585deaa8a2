"""Cut GitHub's GraphQL schema down to what our documents use.

Usage: python prune.py path/to/schema.graphql > graphql-shapes.graphql
(`npm pack @octokit/graphql-schema` holds the schema.)
"""

import re
import sys
from pathlib import Path

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    build_schema,
    get_named_type,
    is_specified_scalar_type,
    parse,
    validate,
    visit,
)

SOURCES = Path(__file__).parents[3] / "src" / "traingate" / "github"


def documents() -> list[str]:
    """Every GraphQL document written in `src/traingate/github`."""
    found = [
        text
        for file in sorted(SOURCES.glob("*.py"))
        for text in re.findall(r'"""\n(query .*?)"""', file.read_text(), re.DOTALL)
    ]
    assert found
    return found


class Collect(Visitor):  # type: ignore[misc]
    """Notes the parent type and name of every field visited."""

    def __init__(self, info: TypeInfo, used: dict[str, set[str]]) -> None:
        super().__init__()
        self.info, self.used = info, used

    def enter_field(self, node: object, *_: object) -> None:
        parent = self.info.get_parent_type()
        self.used.setdefault(parent.name, set()).add(node.name.value)  # type: ignore[union-attr, attr-defined]

    def enter_inline_fragment(self, node: object, *_: object) -> None:
        self.used.setdefault(node.type_condition.name.value, set())  # type: ignore[attr-defined]


def used_fields(schema: GraphQLSchema) -> dict[str, set[str]]:
    # What the fake answers with where a document names only the interface.
    concrete = {"User": {"login"}, "Bot": {"login"}, "Blob": {"oid"}, "Tree": {"oid"}}
    used: dict[str, set[str]] = concrete
    for text in documents():
        document = parse(text)
        if problems := validate(schema, document):
            raise SystemExit("\n".join(str(problem) for problem in problems))
        info = TypeInfo(schema)
        visit(document, TypeInfoVisitor(info, Collect(info, used)))
    return used


def definitions(schema: GraphQLSchema, used: dict[str, set[str]]) -> list[str]:
    out: dict[str, str] = {}
    todo = list(used)
    while todo:
        name = todo.pop()
        kind = schema.type_map[name]
        if name in out or is_specified_scalar_type(kind):
            continue
        out[name], more = definition(schema, kind, used)
        todo += more
    return [out[name] for name in sorted(out)]


def definition(
    schema: GraphQLSchema, kind: object, used: dict[str, set[str]]
) -> tuple[str, list[str]]:
    if isinstance(kind, GraphQLEnumType):
        return f"enum {kind.name} {{ {' '.join(kind.values)} }}", []
    if isinstance(kind, GraphQLUnionType):
        members = [member.name for member in kind.types if member.name in used]
        return f"union {kind.name} = {' | '.join(members)}", members
    if isinstance(kind, GraphQLInputObjectType):
        fields = [f"{name}: {field.type}" for name, field in kind.fields.items()]
        more = [get_named_type(field.type).name for field in kind.fields.values()]
        return f"input {kind.name} {{ {' '.join(fields)} }}", more
    if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
        return fielded(schema, kind, used)
    return f"scalar {kind}", []


def fielded(
    schema: GraphQLSchema,
    kind: GraphQLObjectType | GraphQLInterfaceType,
    used: dict[str, set[str]],
) -> tuple[str, list[str]]:
    names = set(used.get(kind.name, ()))
    interfaces = [one for one in kind.interfaces if one.name in used]
    for interface in interfaces:
        names |= used[interface.name]
    lines, more = [], [one.name for one in interfaces]
    if isinstance(kind, GraphQLInterfaceType):
        more += [one.name for one in schema.get_possible_types(kind) if one.name in used]
    for name in sorted(names - {"__typename"}):
        field = kind.fields[name]
        arguments = ", ".join(f"{key}: {arg.type}" for key, arg in field.args.items())
        lines.append(f"  {name}{f'({arguments})' if arguments else ''}: {field.type}")
        more += [get_named_type(arg.type).name for arg in field.args.values()]
        more.append(get_named_type(field.type).name)
    keyword = "type" if isinstance(kind, GraphQLObjectType) else "interface"
    implements = f" implements {' & '.join(one.name for one in interfaces)}" if interfaces else ""
    return f"{keyword} {kind.name}{implements} {{\n" + "\n".join(lines) + "\n}", more


def main() -> None:
    schema = build_schema(Path(sys.argv[1]).read_text(), assume_valid=True)
    head = "# From npm @octokit/graphql-schema 15.26.1 (MIT), cut by prune.py to what is used.\n"
    sys.stdout.write(head + "\n".join(definitions(schema, used_fields(schema))) + "\n")


if __name__ == "__main__":
    main()
