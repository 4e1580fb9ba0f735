# SPDX-License-Identifier: Apache-2.0
"""Writes files atomically, and finds the cache folder."""

from __future__ import annotations

import errno
import fcntl
import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from stretto.support.errors import StrettoError
from stretto.support.extras import require

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")
_PROBE = b"\0" * 4096
"""Bytes to try, since a full disk still creates empty files."""
_MOST_LINKS = 32
"""About the limit of the kernel."""


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
    # A home that does not exist is not ours to make. Users without one have such a HOME, and root could
    # make it.
    home = Path(environment["HOME"]) if environment.get("HOME") else Path.home()
    if not home.is_dir():
        raise StrettoError(
            f"HOME={home} is not a folder, so there is no place for a cache; set XDG_CACHE_HOME"
        )
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

    A device or a pipe (/dev/stdout) is written to directly, and a link stays a link. A link that belongs to
    another user is not followed: that user would choose which file of ours is replaced.
    """
    try:
        if _is_stream(path):
            with open(path, "ab", opener=_open_stream) as file:
                yield file
            return
        target = _target(path)
        made = beside(target)
        try:
            with made.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            made.replace(target)
        finally:
            made.unlink(missing_ok=True)
    except OSError as error:
        raise StrettoError(f"{path} could not be written: {error.strerror}") from None


def beside(file: Path) -> Path:
    """A name beside the file that nobody can foresee, for the content that is to replace the file."""
    return file.with_name(f".{file.name}.{os.urandom(8).hex()}")


def leftovers(file: Path) -> list[Path]:
    """The files that `beside(file)` named, left by processes that were killed, or still being written."""
    return sorted(file.parent.glob(f".{glob.escape(file.name)}.*"))


@contextmanager
def locked(file: Path) -> Iterator[int]:
    """Hold the lock that this file stands for, and yield its descriptor. A missing file is made."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def write_all(*writes: Callable[[], None]) -> None:
    """Call all functions, even if one fails. Then raises StrettoError, which names all failures."""
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
            raise StrettoError(f"{file}: expected a name that ends in {', '.join(PICTURES)}")
        if file:
            require(f"{file}: a picture", "matplotlib")
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
    if file.is_dir():
        raise StrettoError(f"{file} is a folder; name a file in it")
    try:
        target = _target(file)
        if not target.parent.is_dir():
            raise StrettoError(f"{file}: there is no folder {target.parent}")
        _try(target)
    except OSError as error:
        raise StrettoError(f"{file} cannot be written: {error.strerror}") from None


def _try(file: Path) -> None:
    made = beside(file)
    try:
        with made.open("xb") as probe:
            probe.write(_PROBE)
    finally:
        made.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """The path behind all links, even if it does not exist yet."""
    path = path.absolute()
    for _ in range(_MOST_LINKS):
        if not path.is_symlink():
            break
        if path.lstat().st_uid not in (os.geteuid(), 0):
            raise PermissionError(errno.EPERM, f"{path} is a link of another user")
        path = path.parent / path.readlink()
    return path


def _open_stream(path: str, flags: int) -> int:
    # Never creates anything: the path may lead elsewhere by now.
    return os.open(path, (flags & ~os.O_CREAT) | os.O_NOCTTY)


def _is_stream(path: Path) -> bool:
    """Whether it is not a file on a disk (a device, a pipe), which must not be replaced."""
    whole = str(path.absolute())
    if whole.startswith(("/dev/", "/proc/")) and not whole.startswith("/dev/shm/"):
        return path.exists()
    return path.exists() and not path.is_file() and not path.is_dir()
