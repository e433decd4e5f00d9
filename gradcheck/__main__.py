"""The command line as `python -m gradcheck`."""

from __future__ import annotations

from gradcheck.run.command import main
from gradcheck.run.supervised import supervise

if __name__ == "__main__":
    raise SystemExit(supervise(main, "python -m gradcheck", repeat=True))
