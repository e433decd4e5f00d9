"""Build rules: what goes into the wheel. The metadata is in pyproject.toml."""

from __future__ import annotations

import os
import shutil
import zlib
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent

# The wheel's top level is exactly these three; a generic name such as `templates` stays out of site-packages.
PACKAGES = ["opsdk", "gradcheck", "contrib_ops"]


def template_files() -> list[str]:
    """Paths of the files under templates/, relative to the root; none while the folder does not exist."""
    found = (ROOT / "templates").rglob("*")
    return sorted(str(p.relative_to(ROOT)) for p in found if p.is_file() and "__pycache__" not in p.parts)


class BuildPy(build_py):
    """Copies templates/ to opsdk/templates: data for `opsdk new`, never an importable package of its own.

    An editable install copies nothing: there the templates are read from the checkout.
    """

    def run(self) -> None:
        """Builds the packages, then adds the templates."""
        super().run()
        for built, source in self._template_mapping().items():
            Path(built).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, built)

    def get_source_files(self) -> list[str]:
        """Adds the templates to what a source distribution holds."""
        return [*super().get_source_files(), *template_files()]

    def get_output_mapping(self) -> dict[str, str]:
        """Adds the templates to the map from each built file to its source."""
        return {**super().get_output_mapping(), **self._template_mapping()}

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """Adds the templates to the list of built files."""
        return [*super().get_outputs(include_bytecode), *self._template_mapping()]

    def _template_mapping(self) -> dict[str, str]:
        if self.editable_mode:
            return {}
        return {str(Path(self.build_lib, "opsdk", name)): name for name in template_files()}


class BuildExt(build_ext):
    """Builds the fast path with NumPy's headers; where that fails, the build goes on, and opsdk works without."""

    def finalize_options(self) -> None:
        """Adds where NumPy's headers lie."""
        super().finalize_options()
        try:
            import numpy
        except ImportError:  # then it is not built
            return
        self.include_dirs.append(numpy.get_include())


def fast_path() -> Extension:
    """Returns the extension, marked with its sources: `opsdk.core.fast` knows by it that a build is of these."""
    folder, mark = Path("opsdk", "core", "fast"), 0
    for path in sorted((ROOT / folder).glob("*.[ch]")):
        mark = zlib.crc32(path.read_bytes(), mark)
    return Extension(
        "opsdk.core.fast._built",
        sorted(str(folder / path.name) for path in (ROOT / folder).glob("*.c")),
        depends=[str(folder / "fast.h")],
        define_macros=[("OPSDK_SOURCE", f'"{mark:08x}"')],
        extra_compile_args=["-fvisibility=hidden"] if os.name == "posix" else [],
        optional=True,
    )


setup(
    ext_modules=[fast_path()],
    packages=find_packages(include=[pattern for name in PACKAGES for pattern in (name, f"{name}.*")]),
    package_data={"": ["py.typed", "*.c", "*.h", "*.cu", "*.json"]},
    cmdclass={"build_py": BuildPy, "build_ext": BuildExt},
)
