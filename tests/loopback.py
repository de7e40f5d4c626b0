"""A server on this machine that speaks the chat protocol, and goes wrong where it is told to."""

import hashlib
import json
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

KEY = "sk-loopback-0123456789abcdef"
VARIABLE = "POLBAYES_TEST_KEY"


@dataclass(frozen=True)
class Said:
    """One answer: its text, and for each token its text and the likeliest ones at its place."""

    text: str
    tokens: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = ()
    finish: str = "stop"
    refusal: str | None = None
    thoughts: str = ""  # kept apart
    thought_tokens: int = 0


def spread(prompt: str) -> Said:
    """Answer with a yes whose probability hangs on the prompt alone."""
    yes = 0.1 + 0.8 * int.from_bytes(hashlib.blake2b(prompt.encode()).digest()[:4], "big") / 2**32
    top = (("Yes", 0.88 * yes), (" yes", 0.1 * yes), ("No", 0.95 * (1 - yes)), ("Well", 0.02))
    return Said(f"I agree, {yes:.6f}.", (("Yes", top),))


@dataclass
class World:
    """What the server does, and what it saw; all of it may be changed while it runs."""

    answer: Callable[[str, Mapping], Said] = lambda prompt, body: spread(prompt)
    # Probabilities of each fault.
    faults: dict[str, float] = field(default_factory=dict)
    seed: int = 1
    retry_after: str = "0.05"
    hang: float = 30.0
    delay: float = 0.0
    # Requests in a window of seconds; more are turned away.
    limit: tuple[int, float] | None = None
    logprobs: bool = True
    usage: bool = True
    unknown: tuple[str, ...] = ()
    model: str = "m-1"
    key: str | None = None
    extra_status: Callable[[str], tuple[int, object] | None] = lambda prompt: None
    # What it says of fields of a request that it does not take.
    refuses: Callable[[Mapping], tuple[int, object] | None] = lambda body: None
    # What is written in place of a reply, byte for byte, as long as there is somebody to read it.
    pieces: Callable[[str], Iterable[bytes] | None] = lambda prompt: None
    down: int = 0  # so many requests to come are turned away

    def __post_init__(self):
        self.lock = threading.Lock()
        self.random = random.Random(self.seed)
        self.bodies: list[dict] = []
        self.headers: list[dict] = []
        self.arrived: list[float] = []
        self.turned_away: list[tuple[float, float]] = []
        self.given: Counter = Counter()
        self.failed: Counter = Counter()
        self.tokens = [0, 0]
        self.active = self.most_active = 0
        self.ended = threading.Event()
        self.url = ""

    def early(self, grace: float) -> int:
        """Count the requests that came while it was asked to wait, but for a time of grace."""
        waits = [(at + grace, at + wait) for at, wait in self.turned_away]
        return sum(any(a <= t < b for a, b in waits) for t in self.arrived)

    def fault(self) -> str | None:
        """Draw whether this request goes wrong, and how."""
        at = self.random.random()
        for name, share in self.faults.items():
            if at < share:
                return name
            at -= share
        return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        world = self.server.world
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        now = time.monotonic()
        with world.lock:
            body = json.loads(raw)
            world.bodies.append(body)
            world.headers.append({name.lower(): value for name, value in self.headers.items()})
            window = world.limit and [t for t in world.arrived if t > now - world.limit[1]]
            world.arrived.append(now)
            world.active += 1
            world.most_active = max(world.most_active, world.active)
            fault = world.fault()
            if world.limit and len(window) >= world.limit[0]:
                fault = "limit"
        try:
            self.reply(world, body, fault, now)
        except ConnectionError:
            self.close_connection = True
        finally:
            with world.lock:
                world.active -= 1

    def reply(self, world, body, fault, now):
        if self.path != "/v1/chat/completions":
            return self.send(404, {"error": {"message": f"no such path {self.path}"}})
        if world.key and self.headers["Authorization"] != f"Bearer {world.key}":
            said = f"Incorrect API key: {self.headers['Authorization']}"
            return self.send(401, {"error": {"message": said}})
        if body["model"] != world.model:
            return self.send(404, {"error": {"message": f"The model {body['model']} is not here"}})
        for name in world.unknown:
            if name in body:
                return self.send(400, {"error": {"message": f"Unknown argument: {name}"}})
        if (refusal := world.refuses(body)) is not None:
            return self.send(*refusal)
        prompt = body["messages"][-1]["content"]
        if (extra := world.extra_status(prompt)) is not None:
            return self.send(*extra)
        if (pieces := world.pieces(prompt)) is not None:
            self.close_connection = True
            for piece in pieces:
                self.wfile.write(piece)
            return None
        time.sleep(world.delay)
        if fault is not None:
            with world.lock:
                world.failed[fault] += 1
        if fault in ("429", "limit"):
            wait = world.retry_after if fault == "429" else f"{world.limit[1]}"
            with world.lock:
                world.turned_away.append((time.monotonic(), float(wait)))
            return self.send(429, {"error": {"message": "slow down"}}, {"Retry-After": wait})
        if fault == "500":
            return self.send(500, {"error": {"message": "oh no"}})
        if fault == "hang":
            # Whoever asked gives up long before this ends, and is not counted as waiting still.
            with world.lock:
                world.active -= 1
            world.ended.wait(world.hang)
            with world.lock:
                world.active += 1
            self.close_connection = True
            return None
        content = completion(world, body, prompt)
        if fault == "schema":
            content = world.random.choice(
                [[], {}, {"choices": []}, {"choices": [{"message": "hi"}]}, {"error": "busy"}]
            )
        data = json.dumps(content).encode()
        if fault == "schema":
            return self.raw(200, data)
        if fault == "malformed":
            return self.raw(200, data[:-3] + b"!")
        if fault == "cut":
            return self.raw(200, data[: len(data) // 2], length=len(data))
        with world.lock:
            world.given[prompt, body.get("seed")] += 1
            if usage := content.get("usage"):
                world.tokens[0] += usage["prompt_tokens"]
                world.tokens[1] += usage["completion_tokens"]
        return self.raw(200, data)

    def send(self, status, content, headers=None):
        self.raw(status, json.dumps(content).encode(), headers=headers)

    def raw(self, status, data, *, length=None, headers=None):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length or len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        if length:
            self.close_connection = True

    def log_message(self, *args):
        pass


def completion(world, body, prompt):
    said = world.answer(prompt, body)
    message = {"role": "assistant", "content": said.text, "refusal": said.refusal}
    if said.thoughts:
        message["reasoning_content"] = said.thoughts
    choice = {"index": 0, "message": message, "finish_reason": said.finish, "logprobs": None}
    if world.logprobs and body.get("logprobs"):
        choice["logprobs"] = {"content": [entry(*one, body["top_logprobs"]) for one in said.tokens]}
    out = {"id": "c", "object": "chat.completion", "created": 1, "model": world.model}
    if world.usage:
        words = [len(turn["content"].split()) for turn in body["messages"]]
        out["usage"] = {
            "prompt_tokens": sum(words),
            "completion_tokens": len(said.text.split()),
            "total_tokens": sum(words) + len(said.text.split()),
        }
        if said.thought_tokens:
            details = {"reasoning_tokens": said.thought_tokens}
            out["usage"]["completion_tokens_details"] = details
    return {**out, "choices": [choice]}


def entry(token, top, most):
    best = sorted(top, key=lambda pair: -pair[1])[:most]
    listed = [{"token": t, "logprob": math.log(p), "bytes": None} for t, p in best]
    return {"token": token, "logprob": math.log(dict(top)[token]), "top_logprobs": listed}


class Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """Say nothing of clients that went away."""


@pytest.fixture
def loopback():
    """Return a function that starts a server and returns its world."""
    servers = []

    def start(**settings) -> World:
        world = World(**settings)
        server = Quiet(("127.0.0.1", 0), Handler)
        server.world = world
        world.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        servers.append((server, thread))
        return world

    yield start
    for server, thread in servers:
        server.world.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
