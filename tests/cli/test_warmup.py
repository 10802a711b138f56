"""``sekgnn warmup`` leaves no kernel uncompiled."""

from __future__ import annotations

import subprocess
import sys

import pytest

LEFT_OUT = """
import importlib, pkgutil
import sekgnn
from sekgnn.cli.warmup import warmup
from sekgnn.kernel import _Kernel

warmup()
rooms = ("graphs", "hops", "walks", "encoding", "wl", "nn")
for room in rooms:
    package = importlib.import_module(f"sekgnn.{room}")
    for found in pkgutil.walk_packages(package.__path__, f"sekgnn.{room}."):
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if isinstance(value, _Kernel) and value.__module__ == found.name:
                forms = vars(value).get("_outer"), vars(value).get("_inner")
                if not any(form is not None and form.signatures for form in forms):
                    print("LEFT OUT", found.name, name)
"""


@pytest.mark.slow
def test_every_kernel_is_compiled() -> None:
    """With the cache that all tests share, so that it is compiled once for all."""
    pytest.importorskip("igraph")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LEFT_OUT],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "compiled code is in" in done.stdout
    assert "LEFT OUT" not in done.stdout, done.stdout
