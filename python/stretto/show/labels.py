# SPDX-License-Identifier: Apache-2.0
"""Short labels for the actions of a schedule, in diagrams."""

from __future__ import annotations

from stretto.show.timeline import Blocks, Local, Message, Stuck, Timeline

STUCK_MEANS = "never end: the other rank does not take part"


def stuck_label(one: Stuck) -> str:
    """Returns the label of a send or receive that never ends: `✗→2 b5`."""
    return f"✗{'→' if one.sends else '←'}{one.peer} {block_name(one.blocks)}"


def block_name(blocks: Blocks) -> str:
    """Returns the name of blocks of the result or of scratch memory: `b5`, `s0-3`."""
    return ("s" if blocks.scratch else "b") + blocks.numbers


def sent_name(timeline: Timeline, message: Message) -> str:
    """Returns the name of a message's blocks: `b5`, or `in5` if the input's block is another block."""
    return _operand_name(message.sent) if timeline.names_input else block_name(message.sent)


def operands(message: Message) -> str:
    """Returns the operands of a reduction, in order."""
    return "recv+own" if message.arrives_left else "own+recv"


def local_label(action: Local) -> str:
    """Returns the label of a copy or reduction inside a rank: `b3=in3`, `b3=b3+s0`."""
    into, left = block_name(action.into), _operand_name(action.left)
    return f"{into}={left}" if action.right is None else f"{into}={left}+{_operand_name(action.right)}"


def _operand_name(blocks: Blocks) -> str:
    return f"in{blocks.numbers}" if blocks.buffer == "input" else block_name(blocks)
