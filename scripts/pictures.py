"""Take the pictures of the documents from a real sandbox: `make pictures`. They need Chromium.

The sandbox runs in build/pictures-sandbox until every picture is taken.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page, sync_playwright

IMAGES: Final = Path("docs", "images")
SIZE: Final[Any] = {"width": 1280, "height": 900}
PAGES: Final = {"fleet": "/fleet", "fleet-pool": "/fleet/podpool/ci/runners"}
"""Name of a picture -> page."""


def take(page: Page, url: str) -> None:
    """Take each picture once its page is live."""
    for name, path in PAGES.items():
        page.goto(f"{url}{path}")
        page.wait_for_selector('#live[data-state="live"]')
        page.screenshot(path=IMAGES / f"{name}.png")
        print(f"{IMAGES / name}.png")


def main() -> int:
    """Return the exit status."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        print("there is no browser: apt-get install chromium", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "compose.sandbox", "--json", "--pods", "120", "--dir", "build/pictures-sandbox"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sandbox:
        try:
            assert sandbox.stdout
            lines = list(takewhile(lambda line: line != "}\n", sandbox.stdout))
            flower = json.loads("".join([*lines, "}"]))["flower"]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                person: Any = {"username": flower["user"], "password": flower["password"]}
                take(browser.new_page(viewport=SIZE, http_credentials=person), flower["url"])
                browser.close()
        finally:
            sandbox.send_signal(signal.SIGTERM)
    return 0


if __name__ == "__main__":
    sys.exit(main())
