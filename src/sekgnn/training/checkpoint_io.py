"""Lightning's checkpoints: written all or nothing, read without running their code."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.plugins.io import CheckpointIO

from sekgnn.errors import ModelFileError
from sekgnn.files import write_atomically


class SafeCheckpointIO(CheckpointIO):
    """Writes to a draft that is renamed when complete; reads tensors and plain values.

    Python's pickle, in which such files are written, can run any code when it is read;
    torch's restricted reader refuses everything but tensors and plain values.
    """

    def save_checkpoint(
        self,
        checkpoint: dict[str, Any],
        path: str | os.PathLike[str],
        storage_options: Any = None,
    ) -> None:
        """Write a checkpoint.

        Raises:
            OutputError: If it cannot be written; an older file is then unchanged.
        """
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()  # torch hides why a disk refuses what it writes
        torch.save(checkpoint, content)
        write_atomically(path, lambda file: file.write(content.getbuffer()))

    def load_checkpoint(
        self,
        path: str | os.PathLike[str],
        map_location: Any = "cpu",
        weights_only: bool | None = None,
    ) -> dict[str, Any]:
        """Return a checkpoint.

        Raises:
            ModelFileError: If it is missing, cut short, or not one of ours.
        """
        return read_checkpoint(path, map_location)

    def remove_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Remove a checkpoint, if it is there."""
        Path(path).unlink(missing_ok=True)


def read_checkpoint(
    path: str | os.PathLike[str], map_location: Any = "cpu"
) -> dict[str, Any]:
    """Return a checkpoint without running code from it.

    Raises:
        ModelFileError: If it is missing, cut short, or holds anything but tensors and
            plain values.
    """
    try:
        found = torch.load(path, map_location=map_location, weights_only=True)
    except FileNotFoundError as error:
        raise ModelFileError(f"there is no checkpoint {path}.") from error
    except Exception as error:  # whatever torch makes of foreign bytes
        reason = str(error).strip().split("\n")[0]
        raise ModelFileError(
            f"the checkpoint {path} is damaged or was not written by sekgnn "
            f"({reason}); remove it to start the run again."
        ) from error
    if not isinstance(found, dict) or "state_dict" not in found:
        raise ModelFileError(
            f"{path} is no checkpoint of a run; remove it to start the run again."
        )
    return found
