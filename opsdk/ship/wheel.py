"""Wheels with compiled C kernels: `setup(distclass=KernelDistribution)` in a package's setup.py is all that it takes.

The kernels are those that the modules announced in the entry point group `opsdk.ops` register. They are compiled from
the files that go into the wheel, which is for one platform and every version of Python: no Python is in the libraries.
"""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from setuptools import Distribution
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, OptionError

from opsdk.backends.c.prebuilt import FOLDER
from opsdk.define.op_registry import GROUP

SOURCES = ["*.c", "*.h"]


class KernelDistribution(Distribution):  # type: ignore[misc]
    """A distribution whose wheel holds the compiled C kernels of its ops, and their sources.

    An editable install holds none: sources change there, and a kernel is compiled when it is first called.
    """

    package_data: dict[str, list[str]] | None

    # Any: setuptools has no types for what it passes on.
    def parse_config_files(self, *args: Any, **kwargs: Any) -> None:
        """Adds the C sources to what each package holds, in the wheel and in the source distribution."""
        super().parse_config_files(*args, **kwargs)
        patterns = dict(self.package_data or {})
        self.package_data = {**patterns, "": [*patterns.get("", ()), *SOURCES]}

    def has_ext_modules(self) -> bool:
        """Says that the wheel is for one platform."""
        return True

    def get_command_class(self, command: str) -> Any:
        """Returns the class of a command; the two that make a wheel build the kernels too, also where they are own."""
        found = super().get_command_class(command)
        ours = {"build_ext": BuildKernels, "bdist_wheel": KernelWheel}.get(command)
        if ours is None or issubclass(found, ours):
            return found
        return type(ours.__name__, (ours, found), {})


class BuildKernels(build_ext):  # type: ignore[misc]
    """Compiles the C kernels of the package as it lies in the folder of what was built."""

    def run(self) -> None:
        """Builds extension modules, where there are any, and then the kernels.

        Raises:
            CompileError: a kernel does not compile, the C compiler or every kernel is missing, or the package cannot be
                imported.
        """
        super().run()
        if self.inplace:  # an editable install
            return
        for folder in self._built():  # what an earlier build, of other sources, left there
            shutil.rmtree(folder)
        built = str(Path(self.build_lib).resolve())
        home = str(Path(__file__).resolve().parents[2])  # where this process found opsdk
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, [built, home, os.environ.get("PYTHONPATH")])),
            "PYTHONDONTWRITEBYTECODE": "1",  # __pycache__ would go into the wheel
        }
        code = "from opsdk.ship.package.build import main; main()"
        modules = announced_modules(self.distribution)
        if subprocess.run([sys.executable, "-c", code, *modules], env=environment, check=False).returncode:
            raise CompileError(f"{', '.join(modules)}: the C kernels were not built; the reason stands above")

    def get_outputs(self) -> list[str]:
        """Adds the libraries to the list of built files."""
        return [*super().get_outputs(), *(str(path) for folder in self._built() for path in folder.iterdir())]

    def _built(self) -> list[Path]:
        return sorted(path for path in Path(self.build_lib).rglob(FOLDER) if path.is_dir())


class KernelWheel(bdist_wheel):  # type: ignore[misc]
    """A wheel that every version of Python takes, since its libraries are plain C."""

    def get_tag(self) -> tuple[str, str, str]:
        """Returns the tag; the wheel of a package that has extension modules too is for one version."""
        python, abi, platform = super().get_tag()
        return (python, abi, platform) if self.distribution.ext_modules else ("py3", "none", platform)


def announced_modules(distribution: Distribution) -> list[str]:
    """Returns the modules that a distribution announces.

    Raises:
        OptionError: there are none.
    """
    points = _group(distribution.entry_points)
    values = [line.partition("=")[2] for line in points]
    modules = [value.partition(":")[0].partition("[")[0].strip() for value in values]
    if not modules:
        raise OptionError(
            f"{distribution.get_name()}: expected an entry point in the group {GROUP}, which names the module that "
            f'registers its ops, got none; add [project.entry-points."{GROUP}"] to pyproject.toml'
        )
    return list(dict.fromkeys(modules))


# Any: entry points as setuptools has them, text or a dict of lists of lines.
def _group(entry_points: Any) -> list[str]:
    if isinstance(entry_points, str):
        parser = configparser.ConfigParser(delimiters=("=",))
        parser.optionxform = str  # type: ignore[assignment, method-assign]
        parser.read_string(entry_points)
        return [f"{name} = {value}" for name, value in parser.items(GROUP)] if parser.has_section(GROUP) else []
    found = entry_points.get(GROUP, ()) if isinstance(entry_points, Mapping) else ()
    return found.split("\n") if isinstance(found, str) else list(found)
