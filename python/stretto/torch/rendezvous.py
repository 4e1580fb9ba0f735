# SPDX-License-Identifier: Apache-2.0
"""Sets the variables of `init_process_group`'s env:// method, from MPI's ranks."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import threading
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any

from stretto.support.errors import StrettoError

_SIOCGIFADDR = 0x8915
_SECONDS_TO_CONNECT = 3.0
# The bytes for the text with rank 0's addresses.
_LONGEST = 1024


def set_environment(
    extension: Any, place: tuple[int, int, int, int], environment: MutableMapping[str, str]
) -> None:
    """Set the variables that are not yet set. Collective over all ranks."""
    check_environment(place, environment)
    rank, ranks, local_rank, local_ranks = place
    address, port = _find_master(extension, rank, several_nodes=ranks != local_ranks, environment=environment)
    values = {
        "RANK": rank,
        "WORLD_SIZE": ranks,
        "LOCAL_RANK": local_rank,
        "LOCAL_WORLD_SIZE": local_ranks,
        "MASTER_ADDR": address,
        "MASTER_PORT": port,
    }
    for name, value in values.items():
        environment.setdefault(name, str(value))


def check_environment(place: tuple[int, int, int, int], environment: MutableMapping[str, str]) -> None:
    """Raise StrettoError if the environment contradicts MPI."""
    for name, value in (("RANK", place[0]), ("WORLD_SIZE", place[1])):
        if environment.get(name, str(value)) != str(value):
            raise StrettoError(
                f"{name} is {environment[name]} in the environment, but {value} for MPI; leave it to "
                f"Stretto: unset {name}"
            )


def _find_master(
    extension: Any, rank: int, *, several_nodes: bool, environment: MutableMapping[str, str]
) -> tuple[str, int]:
    """Returns an address of rank 0 that all ranks reach, and a free port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        text = ""
        if rank == 0:
            listener.bind(("", 0))
            free = listener.getsockname()[1]
            named = environment.get("MASTER_ADDR")
            addresses = [named] if named else _own_addresses() if several_nodes else ["127.0.0.1"]
            text = " ".join([environment.get("MASTER_PORT") or str(free), str(free), *addresses])
            if len(addresses) > 1:
                _answer(listener)
            else:
                listener.close()  # a later connection must not reach this listener
        port, free, *addresses = _broadcast(extension, text).split()
        reached = [1] * len(addresses)
        if len(addresses) > 1:
            reached = extension.agree([int(rank == 0 or _reaches(one, int(free))) for one in addresses])
            if rank == 0:
                listener.shutdown(socket.SHUT_RDWR)  # this ends the accepting thread
    # After this, rank 0 has closed the listener.
    if len(addresses) > 1:
        extension.agree([1])
    for address, is_reached in zip(addresses, reached, strict=True):
        if is_reached:
            return address, int(port)
    raise StrettoError(
        f"no address of rank 0's node ({', '.join(addresses) or 'it has none'}) is reached by all ranks; "
        "name one by MASTER_ADDR"
    )


def _answer(listener: socket.socket) -> None:
    """Accept connections until the listener is shut down, since the system queues only a few."""
    # Closed connections linger. They would block the port for the next listener.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.listen(128)

    def accept() -> None:
        with suppress(OSError):
            while True:
                listener.accept()[0].close()

    threading.Thread(target=accept, daemon=True).start()


def _broadcast(extension: Any, text: str) -> str:
    sent: bytes = extension.broadcast_bytes(text.encode().ljust(_LONGEST)[:_LONGEST])
    return sent.decode()


def _reaches(address: str, port: int) -> bool:
    with suppress(OSError), socket.create_connection((address, port), _SECONDS_TO_CONNECT):
        return True
    return False


def _own_addresses() -> list[str]:
    """Returns the IPv4 addresses of GLOO_SOCKET_IFNAME, or of all interfaces except the loopback."""
    named = os.environ.get("GLOO_SOCKET_IFNAME")
    names = named.split(",") if named else [name for _, name in socket.if_nameindex() if name != "lo"]
    addresses = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for name in names:
            with suppress(OSError):  # no address
                answer = fcntl.ioctl(asked.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                addresses.append(socket.inet_ntoa(answer[20:24]))
    return addresses
