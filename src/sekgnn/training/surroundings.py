"""What Lightning changes in the process around it, put back as it was."""

from __future__ import annotations

import logging
import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_NOISE = (
    ".*does not have many workers.*",
    ".*number of training batches.*",
    ".*Checkpoint directory .* exists and is not empty.*",
    ".*isinstance\\(treespec, LeafSpec\\).*",
    ".*`trainer.init_module.*",
    ".*sync_dist=True.*",  # what is logged is of all processes already
)
"""What Lightning says about things that are as they should be here."""


@contextmanager
def same_torch() -> Iterator[None]:
    """Leave torch's random state and its choice of algorithms as they were."""
    strict = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.use_deterministic_algorithms(strict, warn_only=warn_only)


@contextmanager
def same_interrupts() -> Iterator[None]:
    """Let Ctrl-C interrupt; Lightning ends the process and ignores all later ones."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit as error:
        if not isinstance(error.__context__, KeyboardInterrupt):
            raise
        signal.signal(signal.SIGINT, handler)
        raise KeyboardInterrupt from None


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Lightning's greetings and hints to itself."""
    loggers = [logging.getLogger(f"lightning.{part}") for part in ("pytorch", "fabric")]
    levels = [logger.level for logger in loggers]
    before = os.environ.get("POSSIBLE_USER_WARNINGS")
    os.environ["POSSIBLE_USER_WARNINGS"] = "off"
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            for text in _NOISE:
                warnings.filterwarnings("ignore", text)
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if before is None:
            os.environ.pop("POSSIBLE_USER_WARNINGS", None)
        else:
            os.environ["POSSIBLE_USER_WARNINGS"] = before
