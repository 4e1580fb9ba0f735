# SPDX-License-Identifier: Apache-2.0
"""`python -m stretto`, and what the program `stretto` becomes for all commands but `stretto exec`."""

from stretto.support.interruption import exit_by_signal


def tool() -> None:
    """Run the command line. A signal during the imports, which take their time, ends it in one line, too."""
    with exit_by_signal():
        from stretto.cli.main import app  # noqa: PLC0415  the imports are what may be interrupted

        app(prog_name="stretto")


if __name__ == "__main__":
    tool()
