# SPDX-License-Identifier: Apache-2.0
"""The packages that an interpreter needs to train."""

from __future__ import annotations

PACKAGES = {"tensorflow": ("tensorflow", "keras", "horovod"), "pytorch": ("torch", "numpy")}
"""The packages of each framework."""


def missing_complaint(missing: str, framework: str, interpreter: str) -> str:
    """Returns an error of one line: which package is missing where, and what to do."""
    others = ", ".join(PACKAGES[framework])
    return (
        f"{interpreter} has no module {missing}: --framework {framework} needs {others}; install what is "
        "missing, or name another interpreter by --python"
    )


def import_complaint(error: ImportError, framework: str, interpreter: str) -> str:
    """Returns an error of one line for a failed import."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return missing_complaint(error.name, framework, interpreter)
    reason = " ".join(str(error).split())[:300]
    return f"{framework} in {interpreter} cannot be imported ({reason}); name another by --python"
