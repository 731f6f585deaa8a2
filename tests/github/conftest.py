"""The fake is a package of its own, shared by tests and by `scripts/demo_pr.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
