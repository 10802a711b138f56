"""What a training tells while it runs, and whom it ends with."""

from __future__ import annotations

import multiprocessing
from typing import Any

from lightning.pytorch import Callback

from sekgnn.parallel import Progress


class ProgressReport(Callback):
    """Tells how many batches of the whole run are done.

    Args:
        progress: Called with (done, total).
    """

    def __init__(self, progress: Progress) -> None:
        """Keep it."""
        self.progress = progress

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *rest: Any) -> None:
        """Report a batch."""
        size = trainer.num_training_batches
        done = trainer.current_epoch * size + rest[-1] + 1
        self.progress(int(done), int(size * trainer.max_epochs))


class EndWithParent(Callback):
    """Ends a training whose parent process is gone, as after a kill -9."""

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Look for the parent."""
        parent = multiprocessing.parent_process()
        if parent is not None and not parent.is_alive():
            raise SystemExit(1)
