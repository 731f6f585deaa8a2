"""An error may quote what a stranger wrote; the command line prints it all the same."""

import pytest

from traingate import cli
from traingate.backends.base import Observation
from traingate.commands.status import lines
from traingate.errors import TraingateError


def test_no_line_of_an_error_is_a_workflow_command_or_moves_the_cursor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> int:
        problem = "git failed: \x1b[2Ja.py\n::set-output name=runs::[1]\n  ##[add-mask]x\udcff."
        raise TraingateError(problem, todo="Look.")

    monkeypatch.setattr(cli.cli, "main", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == 3
    told = capsys.readouterr().err
    assert "\x1b" not in told
    assert "##[" not in told
    assert not any(line.lstrip().startswith("::") for line in told.splitlines())


def test_the_reason_of_a_run_stays_on_its_line() -> None:
    seen = Observation(
        run_name="seg-1",
        state="Failed",
        reason="rank 0: \x1b]0;owned\x07\nseg-2  Completed",
        properties={},
    )
    assert "\x1b" not in "".join(lines(seen))
    assert not any("\n" in line for line in lines(seen))
