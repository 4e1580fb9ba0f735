# SPDX-License-Identifier: Apache-2.0
"""A process that is not of a job, and asks its ranks to be admitted as one (src/sockets/admission.hpp)."""

from __future__ import annotations

import os
import socket
import struct

_WORD = (1 << 64) - 1
_MAKER = b"\0"


def siphash(key: bytes, text: bytes) -> bytes:
    """SipHash-2-4 with 128 bits."""

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0] = v[0] + v[1] & _WORD
            v[2] = v[2] + v[3] & _WORD
            v[1] = left(v[1], 13) ^ v[0]
            v[3] = left(v[3], 16) ^ v[2]
            v[0] = left(v[0], 32)
            v[2] = v[2] + v[1] & _WORD
            v[0] = v[0] + v[3] & _WORD
            v[1] = left(v[1], 17) ^ v[2]
            v[3] = left(v[3], 21) ^ v[0]
            v[2] = left(v[2], 32)

    def left(word: int, bits: int) -> int:
        return (word << bits | word >> (64 - bits)) & _WORD

    one, other = struct.unpack("<QQ", key)
    v = [
        0x736F6D6570736575 ^ one,
        0x646F72616E646F6D ^ other ^ 0xEE,
        0x6C7967656E657261 ^ one,
        0x7465646279746573 ^ other,
    ]
    padded = text + bytes(7 - len(text) % 8) + bytes([len(text) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xEE
    rounds(4)
    first = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    rounds(4)
    return struct.pack("<QQ", first, v[0] ^ v[1] ^ v[2] ^ v[3])


def is_admitted(address: bytes, secret: bytes, rank: int, to: int, ranks: int, stream: int) -> bool:
    """Whether the listener at this address takes this process for a rank. `address`: as in the store."""
    _, port, _, ip = struct.unpack("<HHI16s", address)
    with socket.create_connection((socket.inet_ntoa(ip[:4]), port), timeout=30) as connection:
        hello = b"Stretto3" + struct.pack("<IIII", rank, ranks, stream, to) + os.urandom(16) + bytes(24)
        hello += struct.pack("<QQ", 1, 0)
        connection.sendall(hello)
        challenge = connection.recv(32, socket.MSG_WAITALL)
        if len(challenge) < 32:
            return False
        connection.sendall(siphash(secret, _MAKER + hello + challenge[:16] + address))
        # The welcome comes first.
        return connection.recv(1) != b""
