"""All kinds of package, rendered, built and installed once for the tests of this folder."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from opsdk.ship.package.scaffold import Author, Package, kinds, write
from tests.contracts.tree import REPOSITORY

KINDS = tuple(kinds())
# Sees this checkout, and what the tests have; a venv inside of a venv would see only what lies below both.
PATHS = f"{REPOSITORY}\nimport site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"


class Rendered:
    """Packages called `ops_<kind>`, and an environment in which their wheels are installed."""

    def __init__(self, folder):
        self.folder = folder
        self.wheels = folder / "wheels"
        self.python = folder / "venv" / "bin" / "python"

    def make(self):
        """Renders, builds and installs."""
        for kind in KINDS:
            write(Package(name(kind), kinds()[kind], Author('Ada "A" Lovelace', "ada@example.org")), self.folder)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.python.parents[1]], check=True)
        self.site.joinpath("suite.pth").write_text(PATHS, encoding="utf-8")
        pip = ("-m", "pip", "--disable-pip-version-check", "--quiet")
        offline = ("--no-index", "--no-deps", "--no-build-isolation")
        sources = [self.folder / name(kind) for kind in KINDS]
        self.run(*pip, "wheel", *offline, "--wheel-dir", self.wheels, *sources)
        self.run(*pip, "install", *offline, "--no-compile", *self.wheels.iterdir())

    @property
    def site(self):
        (found,) = self.python.parents[1].glob("lib/python*/site-packages")
        return found

    def run(self, *arguments, kind=None, check=True, **variables):
        """Runs Python there, in the package of a kind or above all of them; an exit status other than 0 fails."""
        at = self.folder / name(kind) if kind else self.folder
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | variables
        command = [self.python, *map(str, arguments)]
        done = subprocess.run(command, cwd=at, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or not check, f"{done.args}\n{done.stdout}\n{done.stderr}"
        return done

    def wheel(self, kind):
        (found,) = self.wheels.glob(f"{name(kind)}-*.whl")
        return found

    def text(self, kind, path):
        return Path(self.folder, name(kind), path).read_text(encoding="utf-8")


def name(kind):
    return f"ops_{kind}"
