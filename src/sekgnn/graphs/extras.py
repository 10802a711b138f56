"""Optional packages, imported when first needed."""

from __future__ import annotations

import importlib
from typing import Any

from sekgnn.errors import MissingExtraError


def require(module: str, extra: str | None) -> Any:
    """Import ``module``, or name the command that installs it, with its ``extra``."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        target = f"'sekgnn[{extra}]'" if extra else package
        raise MissingExtraError(
            f"{package} is needed here and could not be imported ({error}). "
            f"Install it with: pip install {target}"
        ) from None  # the reason is in the message: one error, not two
