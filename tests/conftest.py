"""What all tests share."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from sekgnn.files import cache_folder
from sekgnn.parameters import IMPORTED

# No deadline: the first example of a run may have to compile a kernel. CI draws the
# same examples every time; elsewhere each run looks at new ones, so few are enough.
settings.register_profile(
    "compiled", deadline=None, derandomize="CI" in os.environ, max_examples=50
)
settings.load_profile("compiled")

# Background jobs of a shell (nohup, CI) ignore Ctrl-C, and so would their children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def imports_of_the_test_end_with_it() -> Iterator[None]:
    """Forget modules that a test imported: processes of later ones would miss them."""
    before = [*IMPORTED]
    yield
    IMPORTED[:] = before


@pytest.fixture
def own_cache(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Keep what a test caches to itself; compiled kernels alone are shared."""
    folder = tmp_path_factory.mktemp("cache")
    kernels = cache_folder() / "kernels"
    kernels.mkdir(parents=True, exist_ok=True)
    (folder / "kernels").symlink_to(kernels)
    monkeypatch.setenv("SEKGNN_CACHE", str(folder))
    return folder


@pytest.fixture
def one_thread(own_cache: Path) -> Iterator[None]:
    """Train on one thread, with a cache of its own, and put the threads back."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """Return the folder of benchmark data, or skip."""
    root = os.environ.get("SEKGNN_DATA")
    if not root or not Path(root).is_dir():
        pytest.skip("SEKGNN_DATA is unset or no folder")
    return Path(root)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return a headless Chromium, or skip."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (extra dev)"
    )
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("there is no chromium to look at the page with")
    flags = [
        "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--no-first-run",
    ]  # fmt: skip
    with api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=found, args=flags)
        yield opened
        opened.close()
