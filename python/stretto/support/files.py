# SPDX-License-Identifier: Apache-2.0
"""Writing files so that nobody ever finds half of one, and the folder of those that can be made again."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from stretto.support.errors import StrettoError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")
_PROBE = b"\0" * 4096
"""A full disk still makes files that hold nothing."""


def cache_folder() -> Path:
    """STRETTO_CACHE names another one than the user's."""
    chosen = os.environ.get("STRETTO_CACHE")
    if chosen:
        return Path(chosen)
    user = os.environ.get("XDG_CACHE_HOME")
    return (Path(user) if user else Path.home() / ".cache") / "stretto"


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace the file by one that holds the content (text as UTF-8): written beside it, then renamed.

    Raises StrettoError if that cannot be done; the file is then as it was.
    """
    with open_atomically(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def open_atomically(path: Path) -> Iterator[IO[bytes]]:
    """A file to be written: it takes the path's place when the block ends without an error.

    A device or a pipe (/dev/stdout) is written to as it is, and a link stays one.
    """
    try:
        if _is_stream(path):
            with path.open("ab") as file:
                yield file
            return
        target = path.resolve()
        beside = _beside(target)
        try:
            with beside.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise StrettoError(f"{path} could not be written: {error.strerror}") from None


def save_figure(figure: Figure, path: Path, dpi: float = 150) -> None:
    """Write a picture in the format that the name's ending says, as PNG where it has none."""
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix.lower().lstrip(".") or "png", dpi=dpi)
    write_atomically(path, content.getvalue())


def write_all(*writes: Callable[[], None]) -> None:
    """Do all of them, though one cannot be done. Raises StrettoError of those that could not, in the end."""
    failures = []
    for write in writes:
        try:
            write()
        except StrettoError as error:
            failures.append(str(error))
    if failures:
        raise StrettoError("; ".join(failures))


def check_files(files: Iterable[Path | None], pictures: Iterable[Path | None] = ()) -> None:
    """Refuse before anything is measured what could not be written after."""
    for file in pictures:
        if file and file.suffix and file.suffix.lower() not in PICTURES:
            raise StrettoError(f"{file}: a picture's name ends in {', '.join(PICTURES)}")
    for file in [*files, *pictures]:
        if file:
            _check(file)


def make_folder(folder: Path, option: str = "--output") -> None:
    """Make it if it is not there. Raises StrettoError if no file could be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _try(folder / "file")
    except OSError as error:
        raise StrettoError(f"{option} {folder}: {error.strerror}") from None


def _check(file: Path) -> None:
    if _is_stream(file):
        if not os.access(file, os.W_OK):
            raise StrettoError(f"{file} cannot be written: Permission denied")
        return
    folder = file.resolve().parent
    if not folder.is_dir():
        raise StrettoError(f"{file}: there is no folder {folder}")
    if file.is_dir():
        raise StrettoError(f"{file} is a folder; name a file in it")
    try:
        _try(file.resolve())
    except OSError as error:
        raise StrettoError(f"{file} cannot be written: {error.strerror}") from None


def _try(file: Path) -> None:
    beside = _beside(file)
    try:
        with beside.open("wb") as probe:
            probe.write(_PROBE)
    finally:
        beside.unlink(missing_ok=True)


def _beside(file: Path) -> Path:
    return file.with_name(f".{file.name}.{os.getpid()}")


def _is_stream(path: Path) -> bool:
    """Whether it is something else than a file on a disk: what stands there must not be replaced."""
    whole = str(path.absolute())
    if whole.startswith(("/dev/", "/proc/")) and not whole.startswith("/dev/shm/"):
        return path.exists()
    return path.exists() and not path.is_file() and not path.is_dir()
