"""Take the pictures of the catalogue's page: ``python docs/make_screenshots.py``.

Needs playwright and Chromium. Makes the synthetic catalogue of `nrcdt demo --serve`, serves it, and looks at it.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent / "images"
PICTURES = {
    (1200, 800, "light"): {"grid": "catalogue-grid.png", "query": "catalogue-query.png"},
    (1200, 800, "dark"): {"compare": "catalogue-compare.png"},
    (390, 800, "light"): {"query": "catalogue-phone.png"},
}


@contextmanager
def served(folder):
    command = [sys.executable, "-m", "nrcdt", "demo", "--serve", "--out", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield re.search(r"http://\S+", server.stdout.readline())[0]
        finally:
            server.terminate()


def look(page, address, photographs):
    """Walk through the pages; yield a name for each thing worth a picture."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    yield "grid"
    page.goto(f"{address}query")
    page.set_input_files("input[type=file]", photographs / "photograph-2.png")
    page.click("button.main")
    page.wait_for_url("**/query/q-*")
    page.wait_for_load_state("networkidle")
    yield "query"
    page.locator(".hit .card").first.click()
    page.wait_for_url("**/compare/**")
    page.wait_for_load_state("networkidle")
    yield "compare"


def main():
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    with (
        tempfile.TemporaryDirectory() as name,
        served(Path(name)) as address,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=browser) as chromium,
    ):
        for (width, height, scheme), wanted in PICTURES.items():
            page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            for shown in look(page, address, Path(name) / "photographs"):
                if shown in wanted:
                    page.screenshot(path=HERE / wanted[shown])
            page.close()


if __name__ == "__main__":
    main()
