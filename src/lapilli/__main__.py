"""``python -m lapilli`` is the command ``lapilli``."""

from __future__ import annotations

from .tools.cli import main

if __name__ == "__main__":
    main()
