"""The curves of a training as CSV, a line per epoch, while it runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from sekgnn.errors import OutputError
from sekgnn.files import write_atomically


class CurveFile:
    """Writes ``epoch`` and a column per curve.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        """Keep the path."""
        self.path = path
        self._epoch = 0

    def start(self, curves: Mapping[str, Sequence[float]]) -> None:
        """Write the epochs so far, in place of what was there.

        Raises:
            OutputError: If it cannot be written.
        """
        self._epoch = max((len(curve) for curve in curves.values()), default=0)
        names = list(curves)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if names:
            writer.writerow(["epoch", *names])
            columns = [curves[name] for name in names]
            rows = zip(*columns, strict=True)
            writer.writerows([i, *row] for i, row in enumerate(rows, start=1))
        content = text.getvalue().encode()
        write_atomically(self.path, lambda file: file.write(content))

    def append(self, values: Mapping[str, float]) -> None:
        """Add an epoch.

        Raises:
            OutputError: If it cannot be written.
        """
        self._epoch += 1
        try:
            with self.path.open("a", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                if self._epoch == 1:
                    writer.writerow(["epoch", *values])
                writer.writerow([self._epoch, *values.values()])
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror}.") from error
