"""A small endpoint that speaks the protocol of OpenAI: a real HTTP server, with latencies, refusals and moods.

In a test:

    with StandIn(items, memorised={"q7"}) as server:
        EndpointChooser(server.url, "stand-in", ...)

As a program, which prints its address and stays until it is ended; GET /counts tells what it was asked:

    python -m tests.scorers.standin --items items.jsonl --memorised 0.2 --latency 0.02
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import random
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import Any

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PHRASES = {200: "OK", 302: "Found", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


def unit(*parts: object) -> float:
    """A number in [0, 1) that depends on nothing but these."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:7]) / 2.0**56


class StandIn:
    """The server, in a thread of its own.

    Parameters
    ----------
    items : mappings with question, options and answer (its place), as printed
        What it knows: it is right in a share of the orders of an item that is the item's own. Of other questions it
        has a favourite option.
    memorised : float or collection of questions
        Those that are always right in the printed order; a share, or which.
    latency : float or pair
        Seconds before an answer.
    vary : float
        How often an answer is another one than the last time.
    logprobs : {"told", "refused", "ignored", "few"}
        Whether it tells log-probabilities; "few" refuses more than 5.
    newer : bool
        It has a temperature of its own, and calls max_tokens otherwise, as models do that reason.
    says : str
        How answers are written, with {letter} and {text}.
    every : mapping of int to status
        Each so-manieth request fails with that status.
    limit : (requests, seconds)
        More than that within so long are refused with 429 and Retry-After.
    mood : str
        What it does to every request: "" for answers, or a key of `MOODS`, or a status.
    after : int
        The mood begins after so many answers.
    key : str
        Wanted in the header.
    refuses : mapping of text to status
        Questions with such a text are refused with that status.
    """

    def __init__(
        self,
        items: Iterable[Mapping[str, Any]] = (),
        *,
        memorised: float | Iterable[str] = (),
        latency: float | tuple[float, float] = 0.0,
        vary: float = 0.0,
        logprobs: str = "told",
        newer: bool = False,
        says: str = "{letter}",
        every: Mapping[int, int] | None = None,
        limit: tuple[int, float] | None = None,
        mood: str = "",
        after: int = 0,
        key: str = "",
        refuses: Mapping[str, int] | None = None,
        seed: int = 0,
        port: int = 0,
    ) -> None:
        self.items = {item["question"]: (tuple(item["options"]), int(item["answer"])) for item in items}
        if isinstance(memorised, float):
            memorised = [question for question in self.items if unit("memorised", seed, question) < memorised]
        self.memorised = frozenset(memorised)
        self.latency = latency if isinstance(latency, tuple) else (latency, latency)
        self.vary, self.logprobs, self.newer, self.says, self.every = vary, logprobs, newer, says, dict(every or {})
        self.limit, self.mood, self.after, self.key, self.seed, self.port = limit, mood, after, key, seed, port
        self.refuses = dict(refuses or {})
        self.answered: Counter[str] = Counter()  # by the text that was asked
        self.statuses: Counter[int] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.authorized: set[str] = set()
        self.began: list[float] = []
        self.at_once = self.most_at_once = 0
        self._random = random.Random(seed)
        self._recent: deque[float] = deque()
        self._writers: set[asyncio.StreamWriter] = set()

    # As a server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> StandIn:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._end.wait()
        server.close()
        for writer in list(self._writers):
            writer.close()
        await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                begun = await reader.readexactly(1)
                if begun == b"\x16":  # TLS
                    writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
                    return
                head = (begun + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                content = await reader.readexactly(int(headers.get("content-length", 0)))
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
                try:
                    method, path, _ = first.split(" ")
                    path, _, query = path.partition("?")
                    status, body, more = await self._respond(method, path, query, headers, content)
                finally:
                    self.at_once -= 1
                self.statuses[status] += 1
                if status == 0:  # breaks off
                    return
                lines = [f"HTTP/1.1 {status} {PHRASES.get(status, 'Error')}", f"content-length: {len(body)}"]
                lines += [f"{name}: {value}" for name, value in more.items()]
                whole = "\r\n".join([*lines, "", ""]).encode() + body
                while self.mood == "drip" and whole:
                    writer.write(whole[:10])
                    whole = whole[10:]
                    await writer.drain()
                    await asyncio.sleep(0.02)
                writer.write(whole)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            self._writers.discard(writer)
            writer.close()

    # As an endpoint

    async def _respond(
        self, method: str, path: str, query: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[int, bytes, dict[str, str]]:
        json_type = {"content-type": "application/json"}
        if path == "/counts":
            told = {"answered": self.answered, "statuses": self.statuses, "most_at_once": self.most_at_once}
            return 200, json.dumps(told).encode(), json_type

        def refuse(status: int, message: str, code: str = "", **more: str) -> tuple[int, bytes, dict[str, str]]:
            error = {"error": {"message": message, "code": code}}
            return status, json.dumps(error).encode(), json_type | {k.replace("_", "-"): v for k, v in more.items()}

        self.authorized.add(headers.get("authorization", ""))
        self.began.append(time.monotonic())
        number = len(self.began)
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            return refuse(401, f"Incorrect API key provided: {headers.get('authorization', 'none')[7:]}.")
        if self.mood and self.answered.total() >= self.after:
            if self.mood == "hang":
                await asyncio.sleep(30)
            if self.mood == "drip":
                return 200, b" " * 1000, json_type
            if self.mood.isdigit():
                return refuse(int(self.mood), "stand-in is in a mood")
            if self.mood == "echo":  # whatever it was given, after some words
                said = f"{'x' * 150} {headers.get('authorization', '').partition(' ')[2]} {query} {content.decode()}"
                return refuse(400, said)
            if self.mood == "plain echo":
                return 200, f"You said {headers.get('authorization', '')[7:]}".encode(), {"content-type": "text/plain"}
            return MOODS[self.mood]
        if path not in ("/v1/chat/completions", "/v1/completions"):
            return 404, b'{"detail": "Not Found"}', json_type
        asked = json.loads(content)
        self.bodies.append(asked)
        if asked["model"] != "stand-in":
            return refuse(404, f"The model `{asked['model']}` does not exist.", "model_not_found")
        for every, status in self.every.items():
            if number % every == 0:
                return refuse(status, "try again", retry_after_ms="10") if status else (0, b"", {})
        if self.limit is not None:
            most, seconds = self.limit
            while self._recent and self._recent[0] < self.began[-1] - seconds:
                self._recent.popleft()
            if len(self._recent) >= most:
                wait = self._recent[0] + seconds - self.began[-1]
                return refuse(429, "Rate limit reached.", "rate_limit_exceeded", retry_after=f"{wait:.3f}")
            self._recent.append(self.began[-1])
        if self.newer and "max_tokens" in asked:
            return refuse(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if self.newer and asked.get("temperature", 1) != 1:
            return refuse(400, "Unsupported value: 'temperature' does not support 0 with this model.")
        chat = path == "/v1/chat/completions"
        top = asked.get("top_logprobs" if chat else "logprobs")
        if top is not None and (self.logprobs == "refused" or self.newer):
            return refuse(403, "You are not allowed to request logprobs from this model.")
        if top is not None and self.logprobs == "few" and top > 5:
            return refuse(400, "top_logprobs must be at most 5.")
        if max(self.latency) > 0:
            await asyncio.sleep(self._random.uniform(*self.latency))
        text = asked["messages"][0]["content"] if chat else asked["prompt"]
        for part, status in self.refuses.items():
            if part in text:
                return refuse(status, "Invalid prompt: your prompt was flagged.", "invalid_prompt")
        self.answered[text] += 1
        return (
            200,
            json.dumps(self._answer(text, chat, top if self.logprobs != "ignored" else None)).encode(),
            json_type,
        )

    def _answer(self, text: str, chat: bool, top: int | None) -> dict[str, Any]:
        """What it says; only what is asked, and chance where answers vary, make a difference."""
        options = [match[2] for match in re.finditer(r"^([A-Z])\. (.*)$", text, re.MULTILINE)]
        question = re.split(r"^A\. ", text, flags=re.MULTILINE)[0].strip()
        scores = self.scores(question, options)
        if self._random.random() < self.vary:
            self._random.shuffle(scores)
        best = max(range(len(options)), key=scores.__getitem__)
        total = math.log(math.fsum(map(math.exp, scores)))
        written = self.says.format(letter=LETTERS[best], text=options[best])
        told: dict[str, Any] | None = None
        if top is not None:
            space = "" if chat else " "
            found = {f"{space}{LETTERS[i]}": score - total - 0.01 for i, score in enumerate(scores)}
            found |= {" the": -9.5, "\n": -8.5, "I": -9.0}
            likeliest = dict(sorted(found.items(), key=lambda pair: -pair[1])[:top])
            own = f"{space}{LETTERS[best]}"
            if chat:
                listed = [{"token": token, "logprob": score} for token, score in likeliest.items()]
                told = {"content": [{"token": own, "logprob": found[own], "top_logprobs": listed}]}
            else:
                told = {"tokens": [own], "token_logprobs": [found[own]], "top_logprobs": [likeliest]}
        answer = {"message": {"role": "assistant", "content": written}} if chat else {"text": f" {written}"}
        return {
            "object": "chat.completion" if chat else "text_completion",
            "choices": [{"index": 0, **answer, "finish_reason": "stop", "logprobs": told}],
            "usage": {"prompt_tokens": len(text) // 4, "completion_tokens": 1},
        }

    def scores(self, question: str, options: list[str]) -> list[float]:
        """One per option, by place."""
        noise = [unit(self.seed, question, option, *options) for option in options]
        if question not in self.items:
            return [5 * unit(self.seed, question, option) + x for option, x in zip(options, noise, strict=True)]
        printed, answer = self.items[question]
        right = options.index(printed[answer])
        known = question in self.memorised and tuple(options) == printed
        if known or unit(self.seed, "luck", question, *options) < unit(self.seed, "ease", question):
            noise[right] += 5 if known else 2
        else:
            noise[right] -= 1
        return noise


MOODS: dict[str, tuple[int, bytes, dict[str, str]]] = {
    "html": (200, b"<!DOCTYPE html><title>Sign in</title>", {"content-type": "text/html"}),
    "stream": (200, b'data: {"choices": []}\n\ndata: [DONE]\n\n', {"content-type": "text/event-stream"}),
    "text": (200, b"It works!", {"content-type": "text/plain"}),
    "nothing": (200, b"", {"content-type": "application/json"}),
    "other": (200, b'{"answer": "B"}', {"content-type": "application/json"}),
    "empty": (200, b'{"choices": []}', {"content-type": "application/json"}),
    "torn": (200, b'{"choices": [{"mess', {"content-type": "application/json"}),
    "moved": (302, b"", {"location": "https://login.example/start?secret=1"}),
    "silent": (0, b"", {}),
    "quota": (429, b'{"error": {"message": "You exceeded it.", "code": "insufficient_quota"}}', {}),
    "patience": (429, b'{"error": {"message": "Tomorrow."}}', {"retry-after": "86400"}),
    "router": (200, b'{"error": {"message": "Provider gone", "code": 502}}', {"content-type": "application/json"}),
    "overloaded": (200, b'{"error": {"message": "Overloaded"}}', {"content-type": "application/json"}),
    "filter": (400, b'{"error": {"message": "Filtered.", "code": "content_filter"}}', {}),
    "thinking": (
        200,
        b'{"choices": [{"message": {"content": null}, "finish_reason": "length"}]}',
        {"content-type": "application/json"},
    ),
    "hang": (0, b"", {}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="A stand-in for an OpenAI-compatible endpoint; the model is stand-in.")
    parser.add_argument("--items", help="JSONL with question, options and answer (its place from 0)")
    parser.add_argument("--memorised", type=float, default=0.0, help="share of them")
    parser.add_argument("--latency", type=float, nargs="+", default=[0.0], help="seconds, or least and most")
    parser.add_argument("--vary", type=float, default=0.0)
    parser.add_argument("--logprobs", default="told", choices=("told", "refused", "ignored", "few"))
    parser.add_argument("--says", default="{letter}")
    parser.add_argument("--mood", default="")
    parser.add_argument("--after", type=int, default=0)
    parser.add_argument("--key", default="")
    parser.add_argument("--newer", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--port", type=int, default=0)
    args = vars(parser.parse_args())
    path, latency = args.pop("items"), args.pop("latency")
    items = []
    if path is not None:
        with open(path, encoding="utf-8") as f:
            items = [json.loads(line) for line in f if line.strip()]
    with StandIn(items, latency=(latency[0], latency[-1]), **args) as server:
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
