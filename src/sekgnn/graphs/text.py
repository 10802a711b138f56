"""Reading files whole, with errors that name the file."""

from __future__ import annotations

import codecs
from pathlib import Path

from sekgnn.errors import GraphInputError


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file, without a UTF-8 byte order mark.

    Raises:
        GraphInputError: If there is no such file or it cannot be read.
    """
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise GraphInputError(f"{path} does not exist; check the path.") from None
    except IsADirectoryError:
        raise GraphInputError(f"{path} is a folder; a file was expected.") from None
    except OSError as error:
        raise GraphInputError(f"{path} cannot be read: {error.strerror}.") from error
    return content.removeprefix(codecs.BOM_UTF8)


def read_text(path: str | Path) -> str:
    """Return the UTF-8 text of a file, without a byte order mark.

    Raises:
        GraphInputError: If it cannot be read or is not text.
    """
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise GraphInputError(
            f"{path} is not UTF-8 text (byte {error.start}); is it a binary file?"
        ) from None
