"""Install the pinned torch into the environment this runs in: the CPU build where there is one.

PyPI's torch for Linux brings gigabytes of CUDA; PyTorch's own index has the CPU build. Where that
index cannot be reached, pip takes what the configured indexes offer.
"""

import subprocess
import sys
import urllib.error
import urllib.request

TORCH = "torch==2.13.0"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def main() -> int:
    index = []
    if sys.platform == "linux":
        try:
            urllib.request.urlopen(f"{CPU_INDEX}/torch/", timeout=10).close()  # noqa: S310 - a literal https address
            index = ["--extra-index-url", CPU_INDEX]
        except (urllib.error.URLError, TimeoutError) as error:
            print(f"{CPU_INDEX} cannot be reached ({error}): taking torch from pip's own indexes.")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    return subprocess.call([*pip, *index, "--constraint", "constraints.txt", TORCH])


if __name__ == "__main__":
    sys.exit(main())
