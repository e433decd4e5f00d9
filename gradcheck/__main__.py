"""The command line as `python -m gradcheck`."""

from __future__ import annotations

from gradcheck.run.command import main

if __name__ == "__main__":
    raise SystemExit(main())
