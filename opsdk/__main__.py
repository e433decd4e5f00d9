"""The command line as `python -m opsdk`."""

from __future__ import annotations

from opsdk.ship.cli.main import main

if __name__ == "__main__":
    main()
