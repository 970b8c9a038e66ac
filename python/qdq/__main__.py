"""The command line tool, as it is in the wheel: ``qdq`` and ``python -m qdq``."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Replaces this process by the tool."""
    from ._engines import BIN, environment

    program = os.path.join(BIN, "qdq")
    os.execve(program, ["qdq", *sys.argv[1:]], environment())


if __name__ == "__main__":
    main()
