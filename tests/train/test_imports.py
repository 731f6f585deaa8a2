from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import os, threading
from train_aml.imports import IMPORTS

importing, forking, done = threading.Event(), threading.Event(), threading.Event()

def hold():
    with IMPORTS:
        importing.set()
        forking.wait(20)
        # The fork is about to begin or waits already; only the release lets it go on.
        done.set()

thread = threading.Thread(target=hold)
thread.start()
importing.wait(20)
forking.set()
child = os.fork()
if child == 0:
    with IMPORTS:
        os._exit(0 if done.is_set() else 1)
assert os.waitpid(child, 0)[1] == 0
assert done.is_set()
thread.join()
"""


def test_a_fork_waits_for_an_import_and_its_child_may_import():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, timeout=60)
