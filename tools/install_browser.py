"""What the studio's tests need beside the Python packages: Chromium, and axe-core to check that
everybody can use it. Neither is part of the product, and tests without them are skipped.

    .venv/bin/python -m tools.install_browser
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request

from tests.browser.driving import program
from tests.browser.test_accessible import AXE

_AXE = "https://registry.npmjs.org/axe-core/-/axe-core-4.14.0.tgz"
_SHA256 = "2277b0a3ef47af9b52497faa3e71598e86e0a0e5e6eb295207a5657ede4709af"


def chromium() -> None:
    """The system's own, by apt as root; else the one that Playwright brings."""
    if found := program():
        print(f"Chromium is there: {found}")
    elif shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "install", "-y", "chromium"], check=True)
    else:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


def axe() -> None:
    if AXE.exists():
        print(f"axe-core is there: {AXE}")
        return
    with urllib.request.urlopen(_AXE, timeout=60) as answer:
        packed = answer.read(10_000_000)
    if hashlib.sha256(packed).hexdigest() != _SHA256:
        sys.exit(f"{_AXE} is not the file that we know")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script is not None
        AXE.write_bytes(script.read())
    print(f"axe-core: {AXE}")


if __name__ == "__main__":
    chromium()
    axe()
