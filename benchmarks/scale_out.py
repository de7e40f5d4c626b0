"""Throughput of a second Ray worker with a server, and whether the dataset stays the same.

Run with ``python benchmarks/scale_out.py [--latency 0.5] [--concurrency 8] [--rounds 2]``; needs
``pip install polbayes[ray]``. A server on this machine answers every question after the same time,
for any number of questions, like a model with spare capacity; its answers depend only on the
question. One and two Ray workers alternate in asking it the same design. The rate is computed from
the requests at the server, from the first question to the last answer, without the start of
Ray; a worker has at most `--concurrency` requests in flight.
"""

import argparse
import hashlib
import json
import os
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from polbayes.cli import _main
from polbayes.data.dataset import open_responses

WARM_UP = "Please answer with yes or no: is two more than one?"


class Server(ThreadingHTTPServer):
    """A server of the chat protocol that takes the same time for every question."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, latency: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.latency = latency
        self.times: list[tuple[float, float]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Base URL of the server."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    """Answers after a delay, depending only on the question."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        """Answer one question."""
        begun = time.monotonic()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][-1]["content"]
        digest = hashlib.blake2b(f"{prompt}|{body.get('seed')}".encode(), digest_size=4).digest()
        text = f"I {'agree' if digest[0] % 2 else 'disagree'}, {digest.hex()}."
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        count = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"]}
        data = json.dumps({**reply, "choices": [choice], "usage": count}).encode()
        time.sleep(max(0.0, self.server.latency - (time.monotonic() - begun)))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        if prompt != WARM_UP:
            self.server.times.append((begun, time.monotonic()))

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def main() -> None:
    """Print the rates and whether the datasets are the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.5, help="seconds")
    parser.add_argument("--concurrency", type=int, default=8, help="questions under way, a worker")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--runs", type=int, default=1, help="of each of the 810 prompts")
    chosen = parser.parse_args()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    server = Server(chosen.latency)
    rates: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(chosen.rounds):
            for workers in rates:
                rates[workers].append(_rate(server, Path(folder), workers, turn, chosen))
        _asked(server, Path(folder) / "local", "launcher=local", chosen)
        runs = [Path(folder) / f"{w}-{turn}" for w in rates for turn in range(chosen.rounds)]
        same = all(_same(run, Path(folder) / "local") for run in runs)
    best = {workers: float(np.median(found)) for workers, found in rates.items()}
    most = chosen.concurrency / chosen.latency
    print("workers  answers/s (median of rounds)  of what the latency allows  ratio")
    for workers, rate in best.items():
        ratio = rate / best[1]
        print(f"{workers:7d}  {rate:28.1f}  {100 * rate / (workers * most):25.0f} %  {ratio:5.2f}")
    print(f"datasets of all runs and of one without Ray: {'identical' if same else 'DIFFERENT'}")


def _asked(server: Server, folder: Path, launcher: str, chosen: argparse.Namespace) -> None:
    code = _main(
        [
            "+experiment=wvs_prefixes",
            "respondents=none",
            "+respondents.served.backend=chat_api",
            "+respondents.served.checkpoint=model",
            f"+respondents.served.api.base_url={server.url}",
            "+respondents.served.api.key_variable=null",
            f"+respondents.served.api.concurrency={chosen.concurrency}",
            f"elicitation.runs={chosen.runs}",
            "stages=[probe]",
            f"run_dir={folder}",
            *launcher.split(),
        ]
    )
    assert code == 0


def _rate(
    server: Server, folder: Path, workers: int, turn: int, chosen: argparse.Namespace
) -> float:
    server.times.clear()
    _asked(server, folder / f"{workers}-{turn}", f"launcher=ray launcher.shards={workers}", chosen)
    first, last = min(t for t, _ in server.times), max(t for _, t in server.times)
    return len(server.times) / (last - first)


def _same(one: Path, other: Path) -> bool:
    a, b = (open_responses(folder).drop_attrs(deep=False) for folder in (one, other))
    return bool(a.identical(b))


if __name__ == "__main__":
    main()
