"""The small file and the settings of tests of training, the figures of reports."""

from tests.reports.conftest import figures
from tests.training.conftest import lines, one_thread

__all__ = ["figures", "lines", "one_thread"]
