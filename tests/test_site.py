"""The built site in a browser: every page loads whole, alone, and fits the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SITE = Path(__file__).parents[1] / "build" / "docs"
PAGES = [page for page in sorted(SITE.rglob("*.html")) if page != SITE / "index.html"]
BROKEN = "[...document.images].filter(i => !i.naturalWidth).map(i => i.src)"
TOO_WIDE = "document.documentElement.scrollWidth - innerWidth"


@pytest.mark.skipif(not PAGES, reason="the site is not built: make docs")
@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_loads_whole_and_fits_the_screen(browser: Any, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    faults: list[str] = []
    requests: list[str] = []
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.on("requestfailed", lambda request: faults.append(f"missing: {request.url}"))
    page.on("request", lambda request: requests.append(request.url))
    for path in PAGES:
        name = path.relative_to(SITE)
        page.goto(path.as_uri())
        faults += [f"{name}: broken picture {image}" for image in page.evaluate(BROKEN)]
        if (pixels := page.evaluate(TOO_WIDE)) > 0:
            faults.append(f"{name}: {pixels} pixels wider than {width}")
    page.close()
    own = (SITE.as_uri(), "data:")
    faults += [f"from elsewhere: {url}" for url in requests if not url.startswith(own)]
    assert not faults, "\n".join(faults)


@pytest.mark.skipif(not PAGES, reason="the site is not built: make docs")
def test_the_root_leads_to_the_first_page(browser: Any) -> None:
    page = browser.new_page()
    page.goto((SITE / "index.html").as_uri())
    page.wait_for_url("**/docs/docs/index.html")
    page.wait_for_selector("h1")
    page.close()
