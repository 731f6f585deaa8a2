"""What a job's command runs: its launchers and the script files it names.

A launcher is a program that starts processes itself (torchrun and its kin). Text that merely
mentions one (`echo torchrun`, `pip install accelerate`, `train_deepspeed.py`) is none.
"""

import posixpath
import re
from dataclasses import dataclass, field
from functools import lru_cache

from traingate.rules.shell import PLACEHOLDER, simple_commands

_LAUNCHERS = {
    "torchrun",
    "deepspeed",
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "orterun",
    "horovodrun",
    "accelerate-launch",
}
#: Programs that launch only with this first argument.
_SUBCOMMANDS = {"accelerate": "launch", "ray": "start"}
#: Runs an unedited script: `python -m train_aml SCRIPT`.
_OUR_RUNNER = "train_aml"
_MODULES = {
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate.commands.launch",
    "deepspeed.launcher.runner",
    "deepspeed.launcher.launch",
    "horovod.runner",
}
_BUILTINS = {"cd", "eval", "source", "."}
_SHELLS = {"bash", "sh", "zsh", "dash"}
_PYTHON = re.compile(r"^python(?:\d(?:\.\d+)?)?$")
_MODULE_OPTION = re.compile(r"-[bBdEiIOqsSuvx]*m(?P<module>.*)")
_VARIABLE = re.compile(r"\$\{?(?P<name>[A-Za-z_]\w*)\}?")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_RESERVED = {"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time", "exec"}
_NAMES = {"-n", "--name", "-p", "--prefix"}
#: Programs that run the command given to them, with their options that take a value.
_WRAPPERS = {
    "env": {"-u", "--unset", "-C", "--chdir", "-S"},
    "sudo": {"-u", "-g"},
    "nohup": set[str](),
    "command": set[str](),
    "stdbuf": {"-i", "-o", "-e"},
    "nice": {"-n"},
    "timeout": {"-k", "-s"},
    "numactl": {"-N", "-m", "-C"},
    "setsid": set[str](),
    "strace": {"-e", "-o", "-p", "-s"},
    "xargs": {"-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s"},
}
#: The same, where the first argument says that a program follows.
_WRAPPER_SUBCOMMANDS: dict[tuple[str, ...], set[str]] = {
    **dict.fromkeys((("conda", "run"), ("uv", "run"), ("poetry", "run")), _NAMES),
    ("nsys", "profile"): {"-o", "-t", "-s", "-c", "-w", "-f", "-d", "-y", "-e", "-x"},
}
#: After one of these, files may exist that the repository does not hold.
_MAKES_FILES = {
    *("git", "wget", "curl", "tar", "unzip", "cp", "mv", "ln", "tee", "cat", "echo", "printf"),
    *("az", "azcopy", "hf", "huggingface-cli", "gsutil", "aws", "make"),
}
_PYTHON_OPTIONS_WITH_VALUE = {"-W", "-X", "--check-hash-based-pycs"}
_ASKS_ONLY = {"--help", "-h", "--version", "-V"}
_DEPTH = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandLine:
    """What a command runs.

    `launchers` as written, `torchrun` or `accelerate launch`, in order. `scripts` are the `.py`
    and `.sh` files it runs that must lie in the job's code, relative to its working directory;
    empty where the command makes files itself, for then nobody can tell. `shell_scripts` are the
    `.sh` files it runs or sources, if they lie there. `modules` are those `python -m` runs.
    `is_clear` is False for text no shell would parse.
    """

    launchers: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    shell_scripts: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    is_clear: bool = True


@dataclass(slots=True)
class _Reading:
    """Collects while the words are walked; `folder` is None once `cd` goes where none can tell."""

    launchers: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    shell_scripts: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    folder: str | None = ""
    makes_files: bool = False


@lru_cache(maxsize=64)
def read_command(text: str) -> CommandLine:
    """Take `text`, a job's command or a shell script's content, apart."""
    reading = _Reading()
    if not _walk(text, reading, _DEPTH):
        return CommandLine(is_clear=False)
    return CommandLine(
        launchers=tuple(reading.launchers),
        scripts=tuple(dict.fromkeys(reading.scripts)),
        shell_scripts=tuple(dict.fromkeys(reading.shell_scripts)),
        modules=tuple(dict.fromkeys(reading.modules)),
    )


def _walk(text: str, reading: _Reading, depth: int) -> bool:
    commands = simple_commands(text)
    if commands is None or depth == 0:
        return False
    for words in commands:
        _run(words, reading, depth)
    return True


def _run(words: tuple[str, ...], reading: _Reading, depth: int) -> None:
    _remember(words, reading)
    words = _unwrapped(_expanded(_unwrapped(words), reading))
    if not words:
        return
    program, arguments = posixpath.basename(words[0]), words[1:]
    if program in _SHELLS:
        _shell(arguments, reading, depth)
    elif program in _BUILTINS:
        _builtin(program, arguments, reading, depth)
    elif _PYTHON.match(program):
        _python(arguments, reading)
    elif program in _LAUNCHERS:
        _launch(program, arguments, reading)
    elif program in _SUBCOMMANDS:
        if arguments[:1] == (_SUBCOMMANDS[program],):
            _launch(f"{program} {arguments[0]}", arguments[1:], reading)
    elif words[0].endswith((".sh", ".py")):
        _script(words[0], reading)
    elif program in _MAKES_FILES:
        reading.makes_files = True


def _remember(words: tuple[str, ...], reading: _Reading) -> None:
    """Keep what a command of assignments alone, or `export`, sets."""
    assigned = words[words[:1] == ("export",) :]
    if all(_ASSIGNMENT.match(word) for word in assigned):
        reading.variables |= dict(word.split("=", 1) for word in assigned)


def _expanded(words: tuple[str, ...], reading: _Reading) -> tuple[str, ...]:
    """The words with a variable in the program's place filled in, where the command set it."""
    name = _VARIABLE.fullmatch(words[0]) if words else None
    if name is None or name["name"] not in reading.variables:
        return words
    return (*reading.variables[name["name"]].split(), *words[1:])


def _unwrapped(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without assignments, reserved words and wrappers before the program."""
    while words:
        head = posixpath.basename(words[0])
        if _ASSIGNMENT.match(words[0]) or words[0] in _RESERVED:
            words = words[1:]
        elif head in _WRAPPERS:
            if head == "command" and words[1:2] in {("-v",), ("-V",)}:
                return ()
            words = _after_options(words[1:], _WRAPPERS[head])
            words = words[1:] if head == "timeout" else words
        elif words[:2] in _WRAPPER_SUBCOMMANDS:
            words = _after_options(words[2:], _WRAPPER_SUBCOMMANDS[words[:2]])
        else:
            return words
    return ()


def _after_options(words: tuple[str, ...], with_value: set[str]) -> tuple[str, ...]:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in with_value else words[1:]
    return words


def _shell(arguments: tuple[str, ...], reading: _Reading, depth: int) -> None:
    for index, argument in enumerate(arguments):
        if re.fullmatch(r"-\w*c", argument):
            if index + 1 < len(arguments):
                _walk(arguments[index + 1], reading, depth - 1)
            return
        if not argument.startswith("-"):
            _script(argument, reading)
            return


def _builtin(program: str, arguments: tuple[str, ...], reading: _Reading, depth: int) -> None:
    if program == "cd":
        _change_folder(arguments, reading)
    elif program == "eval":
        _walk(" ".join(arguments), reading, depth - 1)
    else:
        reading.makes_files = True  # Set first: what is sourced may lie on the PATH instead.
        _script(" ".join(arguments[:1]), reading)


def _change_folder(arguments: tuple[str, ...], reading: _Reading) -> None:
    folder = arguments[0] if arguments else "~"
    if reading.folder is None or folder.startswith(("/", "~", "-")) or not _is_literal(folder):
        reading.folder = None
    else:
        reading.folder = posixpath.normpath(posixpath.join(reading.folder, folder))


def _python(arguments: tuple[str, ...], reading: _Reading) -> None:
    index = 0
    while index < len(arguments):
        argument = arguments[index]
        if option := _MODULE_OPTION.fullmatch(argument):
            module, *rest = filter(None, (option["module"], *arguments[index + 1 :], "-"))
            if module == _OUR_RUNNER:
                # `python -m train_aml SCRIPT` runs the script as `python SCRIPT` would.
                _python(tuple(rest[:-1]), reading)
                return
            reading.modules.append(module)
            if module in _MODULES:
                _launch(f"python -m {module}", tuple(rest[:-1]), reading)
            return
        if argument == "-c":
            return
        if not argument.startswith("-"):
            _script(argument, reading)
            return
        index += 2 if argument in _PYTHON_OPTIONS_WITH_VALUE else 1


def _launch(name: str, arguments: tuple[str, ...], reading: _Reading) -> None:
    if arguments and set(arguments) <= _ASKS_ONLY:
        return
    reading.launchers.append(name)
    script = next((word for word in arguments if word.endswith((".py", ".sh"))), None)
    if script is not None:
        _script(script, reading)


def _script(path: str, reading: _Reading) -> None:
    if not path.endswith((".py", ".sh")) or reading.folder is None:
        return
    if _is_literal(path) and not path.startswith(("/", "~")):
        place = posixpath.normpath(posixpath.join(reading.folder, path))
        if not reading.makes_files:
            reading.scripts.append(place)
        if place.endswith(".sh"):
            reading.shell_scripts.append(place)


def _is_literal(word: str) -> bool:
    return not any(sign in word for sign in ("$", "`", "*", "?", PLACEHOLDER))
