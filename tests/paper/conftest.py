"""The small file and the settings of tests of training."""

from tests.training.conftest import lines, one_thread

__all__ = ["lines", "one_thread"]
