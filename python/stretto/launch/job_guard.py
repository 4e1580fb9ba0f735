# SPDX-License-Identifier: Apache-2.0
"""Runs a launcher and sees to it that nothing of its job is left: a program that `jobs.py` starts.

    job_guard.py CONTROL GRACE sweep|leave FOLDER... -- LAUNCHER [ARGUMENTS]

CONTROL is the read end of a pipe whose other end only our command holds. When that is closed, because the
command is through with the job or was killed, or when TERM or HUP comes, the job is ended: the launcher is
asked once (a second signal makes Open MPI's leave its files behind), and killed after GRACE seconds with all
that came of it. An INT from a terminal went to the launcher, too, and counts as the asking.

As a subreaper the guard inherits daemons and ranks whose parents have ended, so it finds them all. `sweep`:
what still runs when the launcher has ended by itself is ended, too. FOLDERs are removed if the command was
killed.

Only the standard library, and of it what loads fast: this starts with every job. Exit status: the
launcher's, as a shell has it.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # typing's own takes long to load
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MOMENT_SECONDS = 0.5
"""Daemons of a job that ended well go by themselves a moment after the launcher."""
_GIVE_UP_SECONDS = 10.0
_SHARED_MEMORY = "/dev/shm/"
# Open MPI's and PRRTE's folders of a job, below the temporary folder.
_SESSION = r"/.*/(?:ompi|prte)\.[^/]+/(?:(?:pid|jf)\.\d+|\d+)(?=/)|/.*/prte\.[^/]+\.\d+\.\d+(?=/)"
SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36

_seen: set[int] = set()


class _ignoring:  # noqa: N801  as contextlib's, which takes long to load
    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)


def main(control: int, grace: float, sweeps: bool, folders: list[str], command: list[str]) -> int:
    """Run the command; the exit status."""
    parent = os.getppid()
    prctl = find_prctl()
    prctl(SET_CHILD_SUBREAPER, 1)
    woken = _listen()
    known = set(_shared_files())
    launcher = _start(command, prctl)
    # The launcher alone reads and writes what is ours; an end of a pipe is seen when it is through.
    with open(os.devnull, "r+b", buffering=0) as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(nothing.fileno(), 1)
    status, asked, left_behind = _attend(launcher, control, woken, grace)
    if asked or sweeps:
        _end_all()
    if asked or status:
        for path, place in left_behind.items():
            _remove(path, place, known)
        _remove_sessions_of(launcher)
    if os.getppid() != parent:
        for folder in folders:
            _remove_tree(folder)
    return status


def find_prctl() -> Callable[[int, int], object]:
    """The kernel's prctl; where it cannot be had, a function that does nothing."""
    try:
        import ctypes

        found: Callable[[int, int], object] = ctypes.CDLL(None).prctl
        return found
    except (ImportError, OSError, AttributeError):
        return lambda _option, _value: -1


def _listen() -> int:
    """From now on signals are kept in `_seen`; the descriptor can be read when one came."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        # What is ignored stays so, for the launcher as well.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda which, _frame: _seen.add(which))
    signal.signal(signal.SIGCHLD, lambda _which, _frame: None)
    return reader


def _start(command: list[str], prctl: Callable[[int, int], object]) -> int:
    guard = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGHUP,
                   signal.SIGINT, signal.SIGQUIT):  # fmt: skip
        # Python itself ignores PIPE and XFSZ.
        if signal.getsignal(number) is not signal.SIG_IGN or number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
    # If the guard is killed, the launcher is asked to end all the same.
    prctl(SET_PDEATHSIG, int(signal.SIGTERM))
    try:
        if os.getppid() == guard:
            os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"stretto: {command[0]} could not be started: {error.strerror}\n".encode())
    os._exit(127)


def _attend(
    launcher: int, control: int, woken: int, grace: float
) -> tuple[int, bool, dict[str, tuple[int, int]]]:
    """Wait for the launcher's end.

    Returns its status, whether it was asked to end, and the files in shared memory that its job used then.
    """
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(woken, select.POLLIN)
    until = float("inf")
    files: dict[str, tuple[int, int]] = {}
    while (status := _reap(launcher)) is None:
        now = time.monotonic()
        if now >= until:
            _kill(signal.SIGKILL)
        wait = 0.05 if now >= until else until - now
        ready = {descriptor for descriptor, _ in poll.poll(None if wait == float("inf") else 1000 * wait)}
        with _ignoring(BlockingIOError):
            os.read(woken, 512)
        if until == float("inf") and (control in ready or _seen & {signal.SIGTERM, signal.SIGHUP}):
            poll.unregister(control)
            until = time.monotonic() + grace
            files = _mapped_files()
            if not _seen & {signal.SIGINT, signal.SIGQUIT}:
                _send(launcher, signal.SIGTERM)
            _send(launcher, signal.SIGCONT)
    asked = until < float("inf") or bool(_seen)
    return status, asked, files | (_mapped_files() if asked or status else {})


def _reap(launcher: int) -> int | None:
    """The launcher's status if it has ended; others that have ended are waited for meanwhile."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 127
        if pid == 0:
            return None
        if pid == launcher:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _has_children() -> bool:
    with _ignoring(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


def _end_all() -> None:
    """End what the launcher has left: after a moment politely, then by force."""
    begin = time.monotonic()
    asked = False
    while _has_children():
        spent = time.monotonic() - begin
        if spent > _GIVE_UP_SECONDS:
            os.write(2, f"stretto: processes {sorted(_descendants())} of the job do not end\n".encode())
            return
        if spent > 2 * _MOMENT_SECONDS:
            _kill(signal.SIGKILL)
        elif spent > _MOMENT_SECONDS and not asked:
            asked = True
            _kill(signal.SIGTERM)
        time.sleep(0.02)


def _descendants() -> set[int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with _ignoring(OSError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                # The name in brackets may hold anything.
                parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


def _kill(number: int) -> None:
    for pid in _descendants():
        _send(pid, number)


def _send(pid: int, number: int) -> None:
    with _ignoring(ProcessLookupError, PermissionError):
        os.kill(pid, number)


# What a job that was killed cannot take away itself


def _shared_files() -> list[str]:
    with _ignoring(OSError):
        return [_SHARED_MEMORY + name for name in os.listdir(_SHARED_MEMORY)]
    return []


def _maps(pid: int | str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The files that a process has in its memory, with device and inode."""
    with _ignoring(OSError), open(f"/proc/{pid}/maps", "rb") as file:
        for line in file:
            fields = line.split(None, 5)
            if len(fields) == 6 and fields[5].startswith(b"/"):
                major, minor = (int(part, 16) for part in fields[3].split(b":"))
                yield os.fsdecode(fields[5].rstrip(b"\n")), (os.makedev(major, minor), int(fields[4]))


def _mapped_files() -> dict[str, tuple[int, int]]:
    """Of all processes of the job: what lies in shared memory or in a session's folder."""
    return {
        path: place
        for pid in _descendants()
        for path, place in _maps(pid)
        if path.startswith(_SHARED_MEMORY) or _session_of(path)
    }


def _remove(path: str, place: tuple[int, int], known: set[str]) -> None:
    """A file of the job's; not one that was there before, nor one that another process uses.

    What ranks on a node of the lab call by that path is another file.
    """
    with _ignoring(OSError):
        at = os.stat(path)
        if path in known or (at.st_dev, at.st_ino) != place:
            return
        if any((path, place) in _maps(name) for name in os.listdir("/proc") if name.isdigit()):
            return
        if session := _session_of(path):
            _remove_session(session)
        else:
            os.unlink(path)


def _session_of(path: str) -> str | None:
    """The folder of a job's session that a file lies in."""
    import re

    found = re.match(_SESSION, path)
    return found.group() if found else None


def _remove_tree(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _remove_session(folder: str) -> None:
    _remove_tree(folder)
    with _ignoring(OSError):
        os.rmdir(os.path.dirname(folder))


def _remove_sessions_of(launcher: int) -> None:
    """Open MPI 4's folder bears the launcher's number."""
    base = os.environ.get("TMPDIR") or "/tmp"
    with _ignoring(OSError):
        for name in os.listdir(base):
            if name.startswith("ompi.") and os.path.isdir(f"{base}/{name}/pid.{launcher}"):
                _remove_session(f"{base}/{name}/pid.{launcher}")


if __name__ == "__main__":
    _control, _grace, _sweeps, *_rest = sys.argv[1:]
    _split = _rest.index("--")
    sys.exit(main(int(_control), float(_grace), _sweeps == "sweep", _rest[:_split], _rest[_split + 1 :]))
