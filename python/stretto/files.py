# SPDX-License-Identifier: Apache-2.0
"""Writing files so that nobody ever finds half of one, and the folder of those that can be made again."""

from __future__ import annotations

import os
from pathlib import Path

from stretto.errors import StrettoError


def cache_folder() -> Path:
    """STRETTO_CACHE names another one than the user's."""
    chosen = os.environ.get("STRETTO_CACHE")
    if chosen:
        return Path(chosen)
    user = os.environ.get("XDG_CACHE_HOME")
    return (Path(user) if user else Path.home() / ".cache") / "stretto"


def write_atomically(path: Path, text: str) -> None:
    """Replace the file by one that holds the text (UTF-8): written beside it, then renamed.

    Raises StrettoError if that cannot be done; the file is then as it was.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise StrettoError(f"{path} could not be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)
