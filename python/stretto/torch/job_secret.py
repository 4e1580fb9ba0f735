# SPDX-License-Identifier: Apache-2.0
"""The secret of a job, by which its ranks know each other, and how all ranks get it.

Whoever reads a secret in the store of a job can enter the job, and whoever writes there can replace it. So a
secret stays out of the store where that is possible, and ranks that have a safe way take no other one.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch.distributed

from stretto.support.errors import StrettoError

dist: Any = torch.distributed  # its stubs are incomplete

VARIABLE = "STRETTO_SECRET_FILE"
_BYTES = 16
_LEAST_IN_FILE = 16
# The beginning of a file with a secret. No other file of the user is mistaken for one.
_MARK = b"a secret of Stretto\n"
# How the secret comes to the ranks: the words that begin what rank 0 says.
_BY_USERS_FILE, _BY_FILE, _BY_STORE = "users-file", "file", "store"


@dataclass(frozen=True)
class Secrecy:
    """What a rank knows about its job. Equal on all ranks."""

    store: Any
    ranks: int
    environment: Mapping[str, str]

    def offer(self, job: str, until: ExitStack) -> str:
        """Makes a secret, and returns what rank 0 says of it in the store. `until` removes its file."""
        if self._users_file is not None:
            return f"{_BY_USERS_FILE} {_check_of(_read_users_file(self._users_file), job)}"
        secret = secrets.token_bytes(_BYTES)
        folder = _folder_of_node() if self._is_by_torchrun_alone else self._folder_of_store
        if folder is not None:
            try:
                return f"{_BY_FILE} {_write(folder, secret, until)}"
            except OSError as error:
                if self._is_by_torchrun_alone:  # the others take no other way
                    raise StrettoError(f"no file can be made in {folder} ({error.strerror})") from None
        return f"{_BY_STORE} {secret.hex()}"

    def take(self, job: str, offer: str) -> bytes:
        """Returns the secret that rank 0 has offered. Raises StrettoError if this rank has a safer way."""
        way, _, text = offer.partition(" ")
        if self._users_file is not None:
            content = _read_users_file(self._users_file)
            if way != _BY_USERS_FILE:
                raise StrettoError(f"{VARIABLE} is set on this rank and not on rank 0; set it on all ranks")
            if not hmac.compare_digest(text, _check_of(content, job)):
                raise StrettoError(f"{VARIABLE}: {self._users_file} differs from rank 0's; copy that")
            return _derive(content, job)
        if way == _BY_USERS_FILE:
            raise StrettoError(f"{VARIABLE} is set on rank 0 and not on this rank; set it on all ranks")
        if way == _BY_FILE:
            return _read(Path(text))
        if self._is_by_torchrun_alone:
            raise StrettoError("rank 0 was not started by this rank's torchrun, though it is in its store")
        return bytes.fromhex(text)

    @property
    def _users_file(self) -> Path | None:
        named = self.environment.get(VARIABLE)
        return Path(named) if named else None

    @property
    def _is_by_torchrun_alone(self) -> bool:
        """Whether one torchrun has started all ranks on this node, and they meet in its store."""
        here, store = self.environment, underlying(self.store)
        return (
            here.get("GROUP_WORLD_SIZE") == "1"
            and here.get("LOCAL_WORLD_SIZE") == here.get("WORLD_SIZE") == str(self.ranks)
            and "TORCHELASTIC_RUN_ID" in here
            and isinstance(store, dist.TCPStore)
            and (store.host, str(store.port)) == (here.get("MASTER_ADDR"), here.get("MASTER_PORT"))
        )

    @property
    def _folder_of_store(self) -> Path | None:
        """The folder of a FileStore, which all ranks see. Others may read the store, but not write it."""
        store = underlying(self.store)
        return Path(store.path).absolute().parent if isinstance(store, dist.FileStore) else None


def underlying(store: Any) -> Any:
    """Returns the store without the prefixes of its keys."""
    while isinstance(store, dist.PrefixStore):
        store = store.underlying_store
    return store


def _folder_of_node() -> Path:
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())


def _write(folder: Path, secret: bytes, until: ExitStack) -> Path:
    """Returns a new file that only this user can read."""
    file, name = tempfile.mkstemp(prefix="stretto-secret-", dir=folder)
    path = Path(name)
    until.callback(path.unlink, missing_ok=True)
    with os.fdopen(file, "wb") as opened:
        opened.write(_MARK + secret)
        if os.fstat(file).st_uid != os.geteuid():  # a file server calls this user by another name
            raise OSError(0, "it belongs to another user")
    return path


def _read(path: Path) -> bytes:
    """Returns the secret in a file. Only this user can have written it, so it is rank 0's."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            about = os.fstat(file.fileno())
            content = file.read(len(_MARK) + _BYTES + 1) if stat.S_ISREG(about.st_mode) else b""
    except OSError as error:
        raise StrettoError(f"the job's secret in {path} cannot be read: {error.strerror}") from None
    is_ours = about.st_uid == os.geteuid() and stat.S_IMODE(about.st_mode) & 0o077 == 0
    if not is_ours or len(content) != len(_MARK) + _BYTES or not content.startswith(_MARK):
        raise StrettoError(f"{path} is not a file with a secret by which this user's rank 0 begins a job")
    return content.removeprefix(_MARK)


def _read_users_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            content = file.read()
    except OSError as error:
        raise StrettoError(f"{VARIABLE}: {path} cannot be read: {error.strerror}") from None
    mode = stat.S_IMODE(about.st_mode)
    if mode & 0o077 or about.st_uid != os.geteuid():
        raise StrettoError(
            f"{VARIABLE}: {path} has mode {mode:04o} and belongs to user {about.st_uid}, so others may know "
            f"it; it must be this user's: chmod 600 {path}"
        )
    if len(content) < _LEAST_IN_FILE:
        raise StrettoError(
            f"{VARIABLE}: {path} has {len(content)} bytes, fewer than {_LEAST_IN_FILE}; make another one: "
            f"openssl rand -hex 32 > {path}"
        )
    return content


def _derive(content: bytes, job: str) -> bytes:
    """Returns a secret of this job alone."""
    return hmac.digest(content, f"job {job}".encode(), hashlib.sha256)[:_BYTES]


def _check_of(content: bytes, job: str) -> str:
    """Returns what tells that a file is the same on two ranks, and nothing about what is in it."""
    return hmac.digest(content, f"check {job}".encode(), hashlib.sha256).hex()
