"""Installed packages, made up of their metadata: what importlib.metadata finds on sys.path, without pip."""

import sys
from pathlib import Path


def install(folder, name, entries, version="1.0", group="opsdk.ops"):
    """Writes the metadata of a distribution that announces modules; gives its dist-info folder.

    Args:
        folder: a folder on sys.path.
        name: of the distribution.
        entries: from names of entry points to modules.
        version: of the distribution.
        group: the group of the entry points.
    """
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [f"{point} = {module}" for point, module in entries.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))
    return info


def path_without_metadata():
    """Gives the folders of sys.path that hold no distribution, so that none of them announces ops."""
    return [folder for folder in sys.path if not any(Path(folder or ".").glob("*.*-info"))]
