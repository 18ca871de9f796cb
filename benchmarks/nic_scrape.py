"""Reading the serving load out of a metrics text: ours against that of modelexpress 0.7.0, in one process.

    uv run python benchmarks/nic_scrape.py            # some ten seconds
    uv run python benchmarks/nic_scrape.py --short    # seconds

A folder of its own holds modelexpress' wheel without its dependencies; only its `__init__`, which imports torch, is stood in for. Both are handed the same text of about 170 kB, 3,000 lines of it histogram buckets, with one gauge that they know; the wheel
looks for its five names one after the other, ours for all at once. Times are CPU microseconds of one reading, the least of several;
fetching is left out.

Below the times stand texts that engines and proxies have been seen to write, and what each makes of them.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import nic_metrics

MODELEXPRESS = "0.7.0"
AIM = 3.0
NAMES = (
    "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc",
    "sglang:token_usage",
    "sglang:cache_usage",
    "dynamo_component_gpu_cache_usage_percent",
)
KV = NAMES[0]
SEEN: tuple[tuple[str, str, float | None], ...] = (
    ("a plain series", f'{KV}{{engine="0",model_name="m"}} 0.5\n', 0.5),
    ("one process of eight knows", "".join(f'{KV}{{pid="{pid}"}} {0.65 * (pid == 2)}\n' for pid in range(8)), 0.65),
    ("old and new name", f"{NAMES[1]} 0.9\n{KV} 0.25\n", 0.25),
    ("idle", f"{KV} 0.0\n", 0.0),
    ("no engine series", 'python_info{version="3.11"} 1\n', None),
    ("a time behind the value", f"{KV} 0.75 1719849600000\n", 0.75),
    ("a brace in a label", f'{KV}{{model_name="a}}b"}} 0.5\n', 0.5),
    ("a space before the labels", f'{KV} {{engine="0"}} 0.5\n', 0.5),
    ("lines that end in CR LF", f"{KV} 0.5\r\n", 0.5),
    ("underscores for colons", "sglang_token_usage 0.63\n", 0.63),
    ("an agent's prefix", "ray_vllm:gpu_cache_usage_perc 0.5\n", 0.5),
    ("a name in quotes", f'{{"{KV}",engine="0"}} 0.5\n', 0.5),
    ("an exemplar", f'{KV} 0.5 # {{trace_id="x"}} 1\n# EOF\n', 0.5),
    ("NaN beside a number", f'{KV}{{engine="0"}} 0.5\n{KV}{{engine="1"}} NaN\n', 0.5),
    ("the sentinel -1", f"{KV} -1.0\n", None),
    ("a percentage", f"{NAMES[2]} 55\n", None),
    ("a sleeping engine", f'{KV} 0.0\nvllm:engine_sleep_state{{sleep_state="awake"}} 0.0\n', None),
    ("a line that is cut off", f'{KV}{{engine="0"}} 0.0\n{KV}{{engine="1', None),
)


def exposition(name: str, position: float) -> str:
    """Return a text of about 170 kB with one gauge, at so much of its length."""
    labels = 'model_name="model"'
    buckets = [f'vllm:request_latency_bucket{{le="{n}",{labels}}} {n % 7}' for n in range(3_000)]
    buckets.insert(int(position * len(buckets)), f"# TYPE {name} gauge\n{name}{{{labels}}} 0.5")
    return "\n".join(buckets) + "\n"


def microseconds(action: Callable[[], object], seconds: float) -> float:
    """Return the CPU time of one call, the least of several."""
    least, end = float("inf"), time.process_time() + seconds
    while time.process_time() < end:
        start = time.process_time()
        for _ in range(10):
            action()
        least = min(least, (time.process_time() - start) / 10)
    return least * 1e6


def measure(seconds: float) -> None:
    """Print both tables."""
    metadata = import_module("importlib.metadata")
    package = ModuleType("modelexpress")
    package.__path__ = [str(metadata.distribution("modelexpress").locate_file("modelexpress"))]
    sys.modules["modelexpress"] = package
    theirs = import_module("modelexpress.runtime_load")
    reader = nic_metrics.ServingLoadReader()
    print(f"modelexpress {metadata.version('modelexpress')} from {theirs.__file__}")

    def their_load(text: str) -> float | None:
        load: float | None = theirs.RuntimeLoadProvider("", _fetch=lambda _url, _timeout: text).sample()
        return load

    ratios = []
    print(f"{'CPU us a reading of':<20}{'bytes':>8}{'theirs':>9}{'ours':>7}{'theirs / ours':>15}")
    for number, name in enumerate(NAMES, 1):
        text = exposition(name, number / (len(NAMES) + 1))
        body = text.encode()
        if not their_load(text) == reader.read(body).value == 0.5:
            raise SystemExit(f"one of the two doesn't read {name}")
        # Bytes come from the connection: decoding them is a part of theirs.
        their_time = microseconds(lambda body=body: their_load(body.decode("utf-8", "replace")), seconds)  # type: ignore[misc]
        our_time = microseconds(lambda body=body: reader.read(body), seconds)  # type: ignore[misc]
        ratios.append(their_time / our_time)
        print(f"name {number} of {len(NAMES):<11}{len(body):>8}{their_time:>9.0f}{our_time:>7.0f}{ratios[-1]:>15.1f}")
    print(f"{min(ratios):.1f} to {max(ratios):.1f} times theirs; the aim is at least {AIM:g}\n")

    right = [0, 0]
    print(f"{'texts as they were seen':<28}{'right':>7}{'theirs':>8}{'ours':>7}")
    for title, text, expected in SEEN:
        loads = their_load(text), reader.read(text.encode()).value
        right = [count + (load == expected) for count, load in zip(right, loads, strict=True)]
        cells = ["-" if load is None else f"{load:.2f}" for load in (expected, *loads)]
        print(f"{title:<28}{cells[0]:>7}{cells[1]:>8}{cells[2]:>7}")
    print(f"right: theirs {right[0]}, ours {right[1]} of {len(SEEN)}")
    if right[1] != len(SEEN):
        raise SystemExit("ours isn't right on every text")


def main() -> None:
    """Fetch the wheel and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="a tenth of the time")
    seconds = 0.1 if parser.parse_args().short else 1.0
    with tempfile.TemporaryDirectory() as folder:
        wheel = f"modelexpress=={MODELEXPRESS}"
        subprocess.run(["uv", "pip", "install", "--quiet", "--no-deps", "--target", folder, wheel], check=True)
        sys.path.append(folder)
        measure(seconds)


if __name__ == "__main__":
    main()
