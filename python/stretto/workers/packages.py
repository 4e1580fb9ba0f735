# SPDX-License-Identifier: Apache-2.0
"""What an interpreter must have to train."""

from __future__ import annotations

PACKAGES = {"tensorflow": ("tensorflow", "keras", "horovod"), "pytorch": ("torch", "numpy")}
"""By framework."""


def missing_complaint(missing: str, framework: str, interpreter: str) -> str:
    """One line: which package, where, and what to do."""
    others = ", ".join(PACKAGES[framework])
    return (
        f"{interpreter} has no module {missing}: --framework {framework} needs {others}; install what is "
        "missing, or name another interpreter by --python"
    )


def import_complaint(error: ImportError, framework: str, interpreter: str) -> str:
    """The same for what an import said."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return missing_complaint(error.name, framework, interpreter)
    said = " ".join(str(error).split())[:300]
    return f"{framework} in {interpreter} cannot be imported ({said}); name another by --python"
