"""importlib mode puts no test folder on the path, and these tests share a module."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
