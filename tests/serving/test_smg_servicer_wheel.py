"""`serve_with_reporter` around the released smg-grpc-servicer: its own `serve_grpc`, request manager and scheduler launcher.

An isolated environment holds the wheel and what it requires, but no SGLang, which needs a GPU's libraries. Stand-ins, files
of a package `sglang`, take its place: the scheduler process says that it is ready and waits, the reader of load snapshots
answers with fixed numbers, the rest is names. The program is docs/programs/serve_servicer.py. What ran is told by its first line.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from loadmonitor_router import MonitorClient, ReportStatus

# The first test of a fresh machine builds the environments.
pytestmark = pytest.mark.timeout(300)

ROOT = Path(__file__).parents[2]
WAIT_SECONDS = 60
NEWEST, LAST_WITHOUT_HOOK = "0.14.1", "0.5.4"

DRIVER = """
import importlib, importlib.metadata, json, runpy, sys
program, *arguments = sys.argv[1:]
names = ("server", "request_manager", "scheduler_launcher", "servicer")
modules = [importlib.import_module(f"smg_grpc_servicer.sglang.{name}") for name in names]
wheel = importlib.metadata.distribution("smg-grpc-servicer")
stood_in = sorted(name for name in sys.modules if name.partition(".")[0] in ("numpy", "sglang", "torch"))
print(json.dumps({
    "smg-grpc-servicer": wheel.version,
    "inside": [str(wheel.locate_file("")) in module.__file__ for module in modules],
    "files": [module.__file__ for module in modules],
    "stand_ins": stood_in,
}), flush=True)
sys.argv = [program, *arguments]
runpy.run_path(program, run_name="__main__")
"""

NAMES_ONLY = '''
def __getattr__(name):
    """A class for every name that is imported from here."""
    if name.startswith("__"):
        raise AttributeError(name)
    return globals().setdefault(name, type(name, (), {}))
'''

STAND_INS = {
    "sglang": "__version__ = 'stand-in'",
    "sglang.srt": "",
    "sglang.srt.arg_groups": "",
    "sglang.srt.arg_groups.model_override_base": "def resolved_view(server_args): return server_args",
    "sglang.srt.configs": "",
    "sglang.srt.configs.model_config": """
class ModelConfig:
    hf_config = None
    @classmethod
    def from_server_args(cls, server_args, *more): return cls()
    def __getattr__(self, name): return None
""",
    "sglang.srt.disaggregation": "",
    "sglang.srt.disaggregation.kv_events": NAMES_ONLY
    + """
class KVEventsConfig:
    publisher = "null"
    @classmethod
    def from_cli(cls, text): return cls()
""",
    "sglang.srt.disaggregation.utils": """
import enum
FAKE_BOOTSTRAP_HOST = "2.2.2.2"
class DisaggregationMode(enum.Enum):
    NULL, PREFILL, DECODE = "null", "prefill", "decode"
""",
    "sglang.srt.managers": "",
    "sglang.srt.managers.data_parallel_controller": NAMES_ONLY,
    "sglang.srt.managers.disagg_service": "def start_disagg_service(*_): return None",
    "sglang.srt.managers.io_struct": NAMES_ONLY,
    "sglang.srt.managers.load_snapshot": """
import time
class LoadSnapshot:
    VALID_SECTIONS = {"core", "memory", "spec", "lora", "disagg", "queues", "all"}
    def __init__(self, **fields): vars(self).update(fields)
class Reader:
    def read_all(self):
        return [LoadSnapshot(
            dp_rank=0, timestamp=time.time(), num_running_reqs=11, num_waiting_reqs=22, num_waiting_uncached_tokens=33,
            num_used_tokens=44, num_total_tokens=55, max_total_num_tokens=66, max_running_requests=77, token_usage=0.5,
            gen_throughput=88.5, cache_hit_rate=0.25, utilization=0.125,
        )]
    def close(self): pass
def create_load_snapshot_reader(*_, **named): return Reader()
""",
    "sglang.srt.managers.schedule_batch": NAMES_ONLY,
    "sglang.srt.managers.scheduler": """
import signal
def run_scheduler_process(*arguments):
    arguments[-1].send({"status": "ready", "max_total_num_tokens": 66})
    signal.pause()
""",
    "sglang.srt.observability": "",
    "sglang.srt.observability.req_time_stats": NAMES_ONLY,
    "sglang.srt.runtime_context": """
import types
def publish(*_, **named): pass
def get_observability(): return types.SimpleNamespace(enable_trace=False)
""",
    "sglang.srt.sampling": "",
    "sglang.srt.sampling.sampling_params": NAMES_ONLY,
    "sglang.srt.server_args": """
import tempfile
class PortArgs:
    def __init__(self):
        folder = tempfile.mkdtemp(prefix="smg")
        self.tokenizer_ipc_name, self.detokenizer_ipc_name, self.scheduler_input_ipc_name = (
            f"ipc://{folder}/{name}" for name in ("tokenizer", "detokenizer", "scheduler")
        )
    @classmethod
    def init_new(cls, server_args): return cls()
class ServerArgs:
    model_path = tokenizer_path = "stand-in"
    dp_size = tp_size = pp_size = nnodes = gpu_id_step = attn_cp_size = moe_dp_size = ep_size = 1
    node_rank = base_gpu_id = 0
    host, ep_join_mode, disaggregation_mode = "127.0.0.1", "none", "null"
    skip_tokenizer_init = skip_server_warmup = True
    kv_events_config = "{}"
    def __init__(self, port): self.port = port
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return (lambda: None) if name in ("resolve_once", "check_server_args") else None
def prepare_server_args(flags): return ServerArgs(int(flags[flags.index("--port") + 1]))
""",
    "sglang.srt.utils": """
import asyncio, contextlib, os, signal, types
numa_utils = types.SimpleNamespace(configure_subprocess=lambda *_: contextlib.nullcontext())
def configure_logger(*_, **named): pass
def get_bool_env_var(*_): return False
def get_or_create_event_loop(): return asyncio.get_event_loop()
def kill_process_tree(*_, **named): os._exit(70)
""",
    "sglang.srt.utils.hf_transformers_utils": NAMES_ONLY,
    "sglang.srt.utils.network": """
def get_zmq_socket(context, kind, endpoint, bind):
    socket = context.socket(kind)
    socket.bind(endpoint) if bind else socket.connect(endpoint)
    return socket
""",
    "sglang.srt.utils.torch_memory_saver_adapter": """
import contextlib
class TorchMemorySaverAdapter:
    @classmethod
    def create(cls, enable): return cls()
    def configure_subprocess(self): return contextlib.nullcontext()
""",
    "sglang.utils": "def get_exception_traceback(): return ''",
    "numpy": NAMES_ONLY,
    "torch": NAMES_ONLY,
}


@pytest.fixture
def stand_ins(tmp_path: Path) -> Path:
    """A folder that holds the package `sglang`."""
    for name, source in STAND_INS.items():
        is_package = any(other.startswith(f"{name}.") for other in STAND_INS)
        path = tmp_path.joinpath(*name.split("."), "__init__.py") if is_package else None
        path = path or tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return tmp_path


class Servicer:
    """A running servicer.

    Attributes:
        ran: What its first line told.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        line = process.stdout.readline()
        sys.stdout.write(line)
        self.ran: dict[str, Any] = json.loads(line)

    def fails(self) -> str:
        """Wait until it has ended with an error, and with it the scheduler, which holds the same pipes; return what was said."""
        _, said = self.process.communicate(timeout=WAIT_SECONDS)
        assert self.process.returncode == 1, said
        return said


@contextmanager
def serving(
    version: str, stand_ins: Path, *, report_on: int | None, listen_on: int = 0, **variables: str
) -> Iterator[Servicer]:
    command = ["uv", "run", "--quiet", "--isolated", "--no-project", "--python", sys.executable]
    command += ["--with", f"smg-grpc-servicer=={version}", "--with", "pyzmq==27.3.0", "--with", "msgspec==0.23.0"]
    command += ["--with-editable", f"{ROOT}/packages/loadmonitor-proto"]
    command += ["--with-editable", f"{ROOT}/packages/loadmonitor-worker[load-reporter]"]
    command += ["python", "-W", "ignore", "-c", DRIVER, str(ROOT / "docs/programs/serve_servicer.py")]
    command += [] if report_on is None else ["--load-reporter-port", str(report_on)]
    command += ["--", "--port", str(listen_on)]
    environment = os.environ | variables | {"PYTHONPATH": str(stand_ins)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            servicer = Servicer(process)
            assert servicer.ran["smg-grpc-servicer"] == version
            assert all(servicer.ran["inside"])
            assert set(servicer.ran["stand_ins"]) <= set(STAND_INS)
            yield servicer
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


async def serves(port: int) -> None:
    """Wait until the servicer says SERVING to a standard health check."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel, asyncio.timeout(WAIT_SECONDS):
        check: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
        while await check(b"", wait_for_ready=True) != b"\x08\x01":
            pass


async def test_the_released_servicer_reports_from_when_it_is_ready_until_it_ends(stand_ins: Path) -> None:
    listen_on = free_port()
    with serving(NEWEST, stand_ins, report_on=0, listen_on=listen_on) as servicer:
        assert servicer.process.stdout is not None
        told = await asyncio.to_thread(servicer.process.stdout.readline)
        assert set(servicer.ran["stand_ins"]) == set(STAND_INS) - {"numpy"}
        lost = asyncio.Event()
        client = MonitorClient(
            told.removeprefix("reporting on ").strip(),
            router_id="r",
            on_connection=lambda it: lost.set() if "SHUTTING_DOWN" in (it.last_error or "") else None,
        )
        async with client, asyncio.timeout(WAIT_SECONDS):
            report = await anext(client)
            assert report.status is ReportStatus.HEALTHY
            [rank] = report.ranks
            assert (rank.num_running_reqs, rank.num_waiting_reqs, rank.max_total_num_tokens) == (11, 22, 66)
            await serves(listen_on)
            servicer.process.send_signal(signal.SIGTERM)
            await lost.wait()
        _, said = await asyncio.to_thread(servicer.process.communicate, timeout=WAIT_SECONDS)
        assert servicer.process.returncode == 0, said
        assert said == ""


def test_a_servicer_without_the_hook_is_refused_before_it_starts_anything(stand_ins: Path) -> None:
    with serving(LAST_WITHOUT_HOOK, stand_ins, report_on=0) as servicer:
        said = servicer.fails()
        assert "MissingHookError: load reporting is on, but smg_grpc_servicer 0.5.4 takes no 'on_request_mana" in said
        assert "scheduler" not in said.lower()


async def test_a_servicer_without_the_hook_serves_while_reporting_is_off(stand_ins: Path) -> None:
    listen_on = free_port()
    with serving(LAST_WITHOUT_HOOK, stand_ins, report_on=None, listen_on=listen_on):
        await serves(listen_on)


def test_the_rust_servicer_has_no_request_manager_and_is_refused(stand_ins: Path) -> None:
    with serving(NEWEST, stand_ins, report_on=0, SMG_SGLANG_SERVICER_IMPL="rust") as servicer:
        assert "ServingModeError: load reporting is on (port=0), but SMG_SGLANG_SERVICER_IMPL=rust" in servicer.fails()


def test_a_taken_port_ends_the_start_of_the_servicer_and_its_scheduler(stand_ins: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with serving(NEWEST, stand_ins, report_on=port) as servicer:
            said = servicer.fails()
            assert "gRPC startup failed, releasing scheduler resources" in said
            assert f"BindError: can't listen on 127.0.0.1:{port}" in said
