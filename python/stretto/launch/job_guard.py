# SPDX-License-Identifier: Apache-2.0
"""Runs a launcher, and ends all processes of its job with it: a program that `jobs.py` starts.

    job_guard.py CONTROL GRACE sweep|leave FOLDER... -- LAUNCHER [ARGUMENTS]

CONTROL is the read end of a pipe whose other end only our command holds. The job is ended when that end is
closed (the command is done with the job, or was killed), and when TERM or HUP arrives. The launcher gets
one signal, since after a second one Open MPI's leaves its files behind. After GRACE seconds it is killed with
all its descendants. An INT from a terminal reaches the launcher, too, and counts as that signal.

As a subreaper the guard inherits daemons and ranks whose parents have ended, so it finds them all. With
`sweep`, it ends what still runs after the launcher has ended by itself. FOLDERs are removed if the command
was killed.

It imports only modules of the standard library that load fast, since it starts with every job. Its exit
status is the launcher's, as shells report it.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # importing typing takes long
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MOMENT_SECONDS = 0.5
"""Daemons of a successful job end by themselves shortly after the launcher."""
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
    """Run the command, and return its exit status."""
    parent = os.getppid()
    prctl = find_prctl()
    prctl(SET_CHILD_SUBREAPER, 1)
    woken = _listen()
    known = set(_shared_files())
    launcher = _start(command, prctl)
    # Only the launcher keeps our input and output open, so that pipes end when it ends.
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
    """The kernel's prctl, or a function that does nothing if there is none."""
    try:
        import ctypes

        found: Callable[[int, int], object] = ctypes.CDLL(None).prctl
        return found
    except (ImportError, OSError, AttributeError):
        return lambda _option, _value: -1


def _listen() -> int:
    """Collect signals in `_seen` from now on. The descriptor is readable after a signal."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        # Ignored signals stay ignored, for the launcher as well.
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
    # If the guard is killed, the launcher still gets a signal to end.
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
    """Wait until the launcher has ended, and end it if asked to.

    Returns its status, whether it was asked to end, and the files in shared memory that the job then used.
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
    """The launcher's status if it has ended, else None. Also reaps other processes that have ended."""
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
    """End the processes that the launcher has left: after a moment by SIGTERM, then by SIGKILL."""
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
                # The name in parentheses may contain anything.
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


# Files that a killed job leaves behind


def _shared_files() -> list[str]:
    with _ignoring(OSError):
        return [_SHARED_MEMORY + name for name in os.listdir(_SHARED_MEMORY)]
    return []


def _maps(pid: int | str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The files that a process has mapped, with device and inode."""
    with _ignoring(OSError), open(f"/proc/{pid}/maps", "rb") as file:
        for line in file:
            fields = line.split(None, 5)
            if len(fields) == 6 and fields[5].startswith(b"/"):
                major, minor = (int(part, 16) for part in fields[3].split(b":"))
                yield os.fsdecode(fields[5].rstrip(b"\n")), (os.makedev(major, minor), int(fields[4]))


def _mapped_files() -> dict[str, tuple[int, int]]:
    """The mapped files of all the job's processes, in shared memory or in a session's folder."""
    return {
        path: place
        for pid in _descendants()
        for path, place in _maps(pid)
        if path.startswith(_SHARED_MEMORY) or _session_of(path)
    }


def _remove(path: str, place: tuple[int, int], known: set[str]) -> None:
    """Remove a file of the job, unless it existed before or another process uses it.

    On a node of the lab that path may be another file, so device and inode must match.
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
    """The folder of the job's session that contains the file, or None."""
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
    """Remove Open MPI 4's folder of a job, which is named after the launcher's process number."""
    base = os.environ.get("TMPDIR") or "/tmp"
    with _ignoring(OSError):
        for name in os.listdir(base):
            if name.startswith("ompi.") and os.path.isdir(f"{base}/{name}/pid.{launcher}"):
                _remove_session(f"{base}/{name}/pid.{launcher}")


if __name__ == "__main__":
    _control, _grace, _sweeps, *_rest = sys.argv[1:]
    _split = _rest.index("--")
    sys.exit(main(int(_control), float(_grace), _sweeps == "sweep", _rest[:_split], _rest[_split + 1 :]))
