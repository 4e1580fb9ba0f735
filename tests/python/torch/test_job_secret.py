# SPDX-License-Identifier: Apache-2.0
"""How the ranks of a job get its secret, and how nobody else does."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from stretto.support.errors import StrettoError
from stretto.torch.job_secret import VARIABLE, Secrecy

# Its stubs do not have all.
dist: Any = importlib.import_module("torch.distributed")

JOB = "0123"


@pytest.fixture
def until() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def server() -> Any:
    return dist.TCPStore("127.0.0.1", 0, is_master=True)


@pytest.fixture
def by_torchrun(server: Any) -> Secrecy:
    """A rank of two that torchrun has started on one node."""
    environment = {
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "GROUP_WORLD_SIZE": "1",
        "TORCHELASTIC_RUN_ID": "none",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(server.port),
    }
    return Secrecy(dist.PrefixStore("default_pg", server), 2, environment)


def file_of(offer: str) -> Path:
    way, _, path = offer.partition(" ")
    assert way == "file"
    return Path(path)


def keep(folder: Path, content: bytes = b"0" * 32, mode: int = 0o600) -> Path:
    """A user's file."""
    path = folder / "secret"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_without_another_way_it_is_in_the_store(server: Any, until: ExitStack) -> None:
    secrecy = Secrecy(server, 2, {})
    offers = {secrecy.offer(JOB, until) for _ in range(2)}
    assert len({secrecy.take(JOB, offer) for offer in offers}) == 2
    assert all(len(secrecy.take(JOB, offer)) == 16 for offer in offers)


def test_under_one_torchrun_it_is_in_a_file_of_the_user(by_torchrun: Secrecy) -> None:
    with ExitStack() as until:
        offer = by_torchrun.offer(JOB, until)
        path = file_of(offer)
        assert path.stat().st_mode & 0o777 == 0o600
        secret = by_torchrun.take(JOB, offer)
        assert path.read_bytes().endswith(secret)
        assert len(secret) == 16
    assert not path.exists()


@pytest.mark.parametrize(
    "change",
    [{"GROUP_WORLD_SIZE": "2"}, {"LOCAL_WORLD_SIZE": "1"}, {"WORLD_SIZE": "3"}, {"MASTER_PORT": "1"}],
)
def test_under_several_torchruns_it_is_in_the_store(
    by_torchrun: Secrecy, until: ExitStack, change: dict[str, str]
) -> None:
    secrecy = Secrecy(by_torchrun.store, 2, {**by_torchrun.environment, **change})
    assert secrecy.offer(JOB, until).startswith("store ")


def test_a_rank_with_a_safe_way_takes_no_other(by_torchrun: Secrecy, tmp_path: Path) -> None:
    """Somebody else may have written what rank 0 seems to say."""
    with pytest.raises(StrettoError, match="not started by this rank's torchrun"):
        by_torchrun.take(JOB, "store " + "00" * 16)
    own = Secrecy(by_torchrun.store, 2, {VARIABLE: str(keep(tmp_path))})
    for offer in ("store " + "00" * 16, f"file {tmp_path}"):
        with pytest.raises(StrettoError, match="set on this rank and not on rank 0"):
            own.take(JOB, offer)


def test_a_file_that_rank_0_has_not_made_is_refused(
    by_torchrun: Secrecy, until: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file_of(by_torchrun.offer(JOB, until))
    content, other = path.read_bytes(), tmp_path / "other"
    for wrong in (b"", content[:-1], content + b"0", b"0" * len(content)):
        other.write_bytes(wrong)
        other.chmod(0o600)
        with pytest.raises(StrettoError, match="is not a file with a secret"):
            by_torchrun.take(JOB, f"file {other}")
    other.write_bytes(content)
    other.chmod(0o604)
    with pytest.raises(StrettoError, match="is not a file with a secret"):
        by_torchrun.take(JOB, f"file {other}")
    other.unlink()
    link = tmp_path / "link"
    link.symlink_to(path)
    for unreadable in (other, link, tmp_path):
        with pytest.raises(StrettoError, match="cannot be read"):
            by_torchrun.take(JOB, f"file {unreadable}")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(StrettoError, match="is not a file with a secret"):
        by_torchrun.take(JOB, f"file {path}")


def test_beside_a_file_store_it_is_in_a_file_of_its_own(
    tmp_path: Path, until: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrecy = Secrecy(dist.PrefixStore("0", dist.FileStore(str(tmp_path / "store"), 2)), 2, {})
    offer = secrecy.offer(JOB, until)
    assert file_of(offer).parent == tmp_path
    assert len(secrecy.take(JOB, offer)) == 16
    # Where no such file can be made, the store has it: nobody else can have written there.
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert len(secrecy.take(JOB, secrecy.offer(JOB, until))) == 16


def test_a_users_file_gives_each_job_its_own(server: Any, until: ExitStack, tmp_path: Path) -> None:
    content = b"what only the user knows"
    one, other = (Secrecy(server, 2, {VARIABLE: str(keep(tmp_path, content))}) for _ in range(2))
    offers = {job: one.offer(job, until) for job in ("a", "b")}
    secrets = {job: other.take(job, offer) for job, offer in offers.items()}
    assert [len(secret) for secret in secrets.values()] == [16, 16]
    assert secrets["a"] != secrets["b"]
    assert all(secret.hex() not in offer for secret in secrets.values() for offer in offers.values())
    keep(tmp_path, content + b"!")
    with pytest.raises(StrettoError, match="differs from rank 0's"):
        other.take("a", offers["a"])
    with pytest.raises(StrettoError, match="set on rank 0 and not on this rank"):
        Secrecy(server, 2, {}).take("a", offers["a"])


def test_a_users_file_that_others_may_know_is_refused(
    server: Any, until: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(line: str) -> None:
        with pytest.raises(StrettoError, match=line):
            Secrecy(server, 2, {VARIABLE: str(tmp_path / "secret")}).offer(JOB, until)

    refused("secret cannot be read: No such file")
    keep(tmp_path, mode=0o640)
    refused("has mode 0640 .*: chmod 600")
    keep(tmp_path, b"15 bytes, no 16")
    refused("has 15 bytes, fewer than 16")
    keep(tmp_path)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    refused(f"belongs to user {user}, so others may know it; it must be this user's: chmod 600")
