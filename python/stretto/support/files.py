# SPDX-License-Identifier: Apache-2.0
"""Writes files atomically, and finds the cache folder."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from stretto.support.errors import StrettoError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")
_PROBE = b"\0" * 4096
"""Bytes to try, since a full disk still creates empty files."""


def cache_folder() -> Path:
    """The cache folder: STRETTO_CACHE, or the user's."""
    chosen = os.environ.get("STRETTO_CACHE")
    if chosen:
        return Path(chosen)
    return user_cache(os.environ) / "stretto"


def user_cache(environment: Mapping[str, str]) -> Path:
    """The user's folder for caches. Raises StrettoError if there is none."""
    user = environment.get("XDG_CACHE_HOME")
    if user:
        return Path(user)
    # A home that does not exist is not ours to make. Users without one have such a HOME, and root could.
    home = Path(environment["HOME"]) if environment.get("HOME") else Path.home()
    if not home.is_dir():
        raise StrettoError(f"HOME={home} is no folder, so there is no place for a cache; set XDG_CACHE_HOME")
    return home / ".cache"


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace the file by the content (text as UTF-8), which is written beside it and then renamed.

    Raises StrettoError on failure, and the file is then unchanged.
    """
    with open_atomically(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def open_atomically(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to. It replaces the path when the block ends without an error.

    A device or a pipe (/dev/stdout) is written to directly, and a link stays a link.
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
    """Write a picture in the format of the file's suffix, or as PNG if it has none."""
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix.lower().lstrip(".") or "png", dpi=dpi)
    write_atomically(path, content.getvalue())


def write_all(*writes: Callable[[], None]) -> None:
    """Call all of them, even if one fails. Raises StrettoError in the end that names all failures."""
    failures = []
    for write in writes:
        try:
            write()
        except StrettoError as error:
            failures.append(str(error))
    if failures:
        raise StrettoError("; ".join(failures))


def check_files(files: Iterable[Path | None], pictures: Iterable[Path | None] = ()) -> None:
    """Raise StrettoError if a file cannot be written. Called before a measurement, not after."""
    for file in pictures:
        if file and file.suffix and file.suffix.lower() not in PICTURES:
            raise StrettoError(f"{file}: a picture's name ends in {', '.join(PICTURES)}")
    for file in [*files, *pictures]:
        if file:
            _check(file)


def make_folder(folder: Path, option: str = "--output") -> None:
    """Make the folder if it is missing. Raises StrettoError if no file can be written into it."""
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
    """Whether it is not a file on a disk (a device, a pipe), which must not be replaced."""
    whole = str(path.absolute())
    if whole.startswith(("/dev/", "/proc/")) and not whole.startswith("/dev/shm/"):
        return path.exists()
    return path.exists() and not path.is_file() and not path.is_dir()
