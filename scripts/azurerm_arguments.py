"""Write the names-only table of azurerm arguments that the module check compares with.

Run:
    pip download --no-deps --dest /tmp cdktn-provider-azurerm==18.9.0
    python scripts/azurerm_arguments.py /tmp/cdktn_provider_azurerm-18.9.0-py3-none-any.whl

The wheel holds Python bindings generated from the provider's schema. They are read as syntax, never
imported, so neither jsii nor Node.js is needed. The table goes to tests/infra/azurerm-VERSION.json,
where VERSION is the provider's; delete the older one with it.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODULE = ROOT / "infra" / "modules" / "aml"
TABLES = ROOT / "tests" / "infra"

# Terraform's own arguments, which every binding repeats, and the computed id, which nobody sets.
META = frozenset(
    {
        "connection",
        "count",
        "depends_on",
        "for_each",
        "id",
        "lifecycle",
        "provider",
        "provisioners",
        "timeouts",
    }
)

Arguments = dict[str, ast.arg]


def camel(snake: str) -> str:
    """The bindings' spelling of an argument or resource name."""
    return "".join(word.capitalize() for word in snake.split("_"))


def keyword_arguments(tree: ast.Module) -> dict[str, tuple[Arguments, frozenset[str]]]:
    """For each class, its keyword arguments and which of them have no default (are required)."""
    found: dict[str, tuple[Arguments, frozenset[str]]] = {}
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                pairs = zip(item.args.kwonlyargs, item.args.kw_defaults, strict=True)
                required = frozenset(arg.arg for arg, default in pairs if default is None)
                found[node.name] = ({arg.arg: arg for arg in item.args.kwonlyargs}, required)
    return found


def describe(
    name: str, prefix: str, classes: dict[str, tuple[Arguments, frozenset[str]]]
) -> dict[str, Any]:
    """The arguments of one class and of the blocks nested in it."""
    arguments, required = classes[name]
    names = sorted(set(arguments) - META)
    blocks = {
        argument: describe(prefix + camel(argument), prefix + camel(argument), classes)
        for argument in names
        if repr(prefix + camel(argument)) in ast.unparse(arguments[argument])
    }
    return {
        "required": [argument for argument in names if argument in required],
        "optional": [argument for argument in names if argument not in required],
        "blocks": blocks,
    }


def resource_types(module: Path) -> list[str]:
    """The resource types that the module's files declare."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(module.glob("*.tf")))
    return sorted(set(re.findall(r'^resource "(azurerm_\w+)"', text, flags=re.MULTILINE)))


def table(wheel: Path, resources: list[str]) -> tuple[str, dict[str, Any]]:
    """The provider's version and the table of the named resources, from the bindings' wheel."""
    described: dict[str, Any] = {}
    versions: set[str] = set()
    with zipfile.ZipFile(wheel) as archive:
        for resource in resources:
            short = resource.removeprefix("azurerm_")
            source = archive.read(f"cdktn_provider_azurerm/{short}/__init__.py").decode()
            versions.update(re.findall(r"hashicorp/azurerm/([0-9.]+)/docs", source))
            classes = keyword_arguments(ast.parse(source))
            described[resource] = describe(camel(short) + "Config", camel(short), classes)
    (version,) = versions
    return version, {
        "provider": f"hashicorp/azurerm {version}",
        "source": wheel.name.removesuffix("-py3-none-any.whl"),
        "resources": described,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("wheel", type=Path, help="the downloaded cdktn-provider-azurerm wheel")
    wheel = parser.parse_args().wheel
    version, content = table(wheel, resource_types(MODULE))
    path = TABLES / f"azurerm-{version}.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
