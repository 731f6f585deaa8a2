"""Every command on a page is tried: on this machine, or against stubs that record it."""

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "docs/**/*.md", "jobs/**/*.md", "infra/**/*.md")
    for path in ROOT.glob(pattern)
)
#: Programs that reach the cloud; each stub writes down what it was asked and answers something.
STUBBED = ("az", "gh", "terraform", "docker", "traingate", "python")
STUB = """\
#!/usr/bin/env bash
set -euo pipefail
printf '%s\\t%s\\n' "$(basename "$0")" "${*//$'\\n'/ }" >> "$RECORD"
case " $* " in
  *" --input - "*) python3 -m json.tool >/dev/null ;;
  *" init "*) touch infra/.terraform.lock.hcl ;;
esac
echo stub
"""


def test_there_are_pages():
    assert {"README.md", "docs/requester.md", "docs/owner.md", "docs/setup-azure.md"} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_block_says_how_it_is_tried(page, command_blocks):
    untagged = [block for block in command_blocks(page) if block.tag not in {"run", "cloud"}]
    assert untagged == []


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page, command_blocks):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    asked = [
        line.split()[1]
        for block in command_blocks(page)
        if block.tag == "run"
        for line in block.text.splitlines()
        if line.startswith("make ")
    ]
    assert set(asked) <= targets


@pytest.mark.parametrize("page", PAGES)
def test_cloud_blocks_run_against_stubs(page, command_blocks, tmp_path):
    blocks = [block for block in command_blocks(page) if block.tag == "cloud"]
    script = "\n".join(block.text for block in blocks)
    if not script:
        return
    record = run_stubbed(script, tmp_path)
    calls = record.read_text().splitlines()
    assert calls, f"{page} has cloud blocks that call nothing"
    assert all(len(call.split("\t")) == 2 and call.split("\t")[1] for call in calls)


def test_a_broken_cloud_block_is_noticed(tmp_path):
    with pytest.raises(AssertionError):
        run_stubbed("az account show --query id\nfor x in a; do az y\n", tmp_path)
    with pytest.raises(AssertionError):
        run_stubbed("gh api x --input - <<'JSON'\n{not json}\nJSON\n", tmp_path)
    with pytest.raises(AssertionError):
        run_stubbed('echo "$NOBODY_SET_THIS"\n', tmp_path)


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target and not target.startswith("mailto:"):
            assert ((ROOT / page).parent / target).exists(), f"{page} links {target}"


def run_stubbed(script: str, folder: Path) -> Path:
    """Run `script` as a person would paste it, with the cloud's programs replaced."""
    (folder / "bin").mkdir(exist_ok=True)
    for name in STUBBED:
        stub = folder / "bin" / name
        stub.write_text(STUB)
        stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
    for name in ("infra", "src/train_aml"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    record = folder / "record"
    record.touch()
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "RECORD": str(record),
            "TRACKING_URI": "https://mlflow.example",
            "RESULTS_URL": "postgresql://results.example/results",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return record
