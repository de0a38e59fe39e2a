"""A chat server on 127.0.0.1 that counts tokens by words, keeps what it was asked, and fails as told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MODEL = "counted-1b"


@dataclass(frozen=True)
class Fault:
    """What is answered instead of a completion. `cut_after` breaks the stream after so many events."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    hold: threading.Event | None = None
    """Waited for before the answer is a normal one."""


def refusal(status: int, message: str, **headers: str) -> Fault:
    body = json.dumps({"error": {"message": message, "type": "error", "code": status}}).encode()
    return Fault(status, body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def too_many(retry_after: str | None = None) -> Fault:
    headers = {} if retry_after is None else {"Retry_After": retry_after}
    return refusal(429, "Rate limit reached for requests", **headers)


HTML = Fault(200, b"<!doctype html><html><title>Sign in</title></html>", "text/html")
NO_CHOICES = Fault(200, b'{"object": "list", "data": []}')
CUT = Fault(cut_after=2)
UNAUTHORIZED = refusal(401, "Incorrect API key provided")


@dataclass(frozen=True)
class Chat:
    """One chat request as it arrived."""

    prompt: str
    max_tokens: int
    authorization: str | None

    @property
    def words(self) -> int:
        return len(self.prompt.split())


class ChatServer:
    """Answers `/v1/models` and `/v1/chat/completions`, streamed, in threads of its own."""

    def __init__(
        self,
        *,
        tokens_per_word: float = 1.0,
        template_tokens: int = 12,
        context_tokens: int | None = None,
        lists_context: bool = True,
        reports_usage: bool = True,
        counts_tokens: bool = False,
        echoes_key: bool = False,
    ) -> None:
        self.tokens_per_word = tokens_per_word
        self.template_tokens = template_tokens
        self.context_tokens = context_tokens
        self.lists_context = lists_context
        self.reports_usage = reports_usage
        self.counts_tokens = counts_tokens
        self.echoes_key = echoes_key
        self.chats: list[Chat] = []
        self.faults: dict[int, Fault] = {}
        """By the number of the chat request, from 1."""
        self.fault: Fault | None = None
        """For all chat requests that have none of their own."""
        self.models_fault: Fault | None = None
        self.on_chat: Callable[[int], None] | None = None
        """Called in the server's thread with the number of each chat, before it is answered."""
        self.tokens_spent = 0
        self.arrived = threading.Condition()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._http.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def tokens_of(self, prompt: str) -> int:
        return self.template_tokens + round(self.tokens_per_word * len(prompt.split()))

    def cached_of(self, prompt: str) -> int:
        """Return the leading words that an earlier prompt had, as tokens."""
        words = prompt.split()
        return max((_common(words, chat.prompt.split()) for chat in self.chats), default=0)

    def wait_for(self, chats: int, timeout_s: float = 30.0) -> None:
        """Return once so many chat requests have arrived."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.chats) >= chats, timeout_s)

    def take(self, chat: Chat) -> tuple[int, int, Fault | None]:
        """Note a chat; return its number, its cached tokens and the fault to answer with."""
        cached = self.cached_of(chat.prompt)
        with self.arrived:
            self.chats.append(chat)
            number = len(self.chats)
            self.arrived.notify_all()
        if self.on_chat is not None:
            self.on_chat(number)
        return number, cached, self.faults.get(number, self.fault)


def _common(left: list[str], right: list[str]) -> int:
    shared = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        shared += 1
    return shared


def _handler_of(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            if server.models_fault is not None:
                self._send(server.models_fault)
                return
            card: dict[str, Any] = {"id": MODEL, "object": "model"}
            if server.context_tokens and server.lists_context:
                card["max_model_len"] = server.context_tokens
            self._send(Fault(200, json.dumps({"object": "list", "data": [card]}).encode()))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v1/chat/completions":
                self._count(body)
                return
            prompt = "".join(message["content"] for message in body["messages"])
            chat = Chat(prompt, body["max_tokens"], self.headers.get("Authorization"))
            _, cached, fault = server.take(chat)
            if fault is not None and fault.hold is not None:
                fault.hold.wait(30)
                fault = None
            try:
                self._answer(chat, cached, fault)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _count(self, body: dict[str, Any]) -> None:
            if self.path != "/tokenize" or not server.counts_tokens:
                self._send(refusal(404, "Not Found"))
                return
            prompt = "".join(message["content"] for message in body["messages"])
            self._send(Fault(200, json.dumps({"count": server.tokens_of(prompt)}).encode()))

        def _answer(self, chat: Chat, cached: int, fault: Fault | None) -> None:
            tokens = server.tokens_of(chat.prompt)
            if fault is not None and fault.cut_after is None:
                self._send(fault)
            elif server.context_tokens and tokens + chat.max_tokens > server.context_tokens:
                self._send(_too_long(server.context_tokens, tokens))
            else:
                server.tokens_spent += tokens + chat.max_tokens
                self._stream(chat, tokens, cached, fault.cut_after if fault else None)

        def _send(self, fault: Fault) -> None:
            body = fault.body
            if server.echoes_key:
                body = body.replace(b"%KEY%", (self.headers.get("Authorization") or "").encode())
            self.send_response(fault.status)
            self.send_header("Content-Type", fault.content_type)
            self.send_header("Content-Length", str(len(body)))
            for name, value in fault.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def _stream(self, chat: Chat, tokens: int, cached: int, cut_after: int | None) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            if server.echoes_key:
                self.send_header("x-request-id", self.headers.get("Authorization") or "")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for number, event in enumerate(self._events(chat, tokens, cached)):
                if number == cut_after:
                    self.close_connection = True
                    return
                data = b"data: " + event + b"\n\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")

        def _events(self, chat: Chat, tokens: int, cached: int) -> Iterator[bytes]:
            text = (self.headers.get("Authorization") or "word") if server.echoes_key else "word"
            for _ in range(chat.max_tokens):
                yield json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode()
            yield b'{"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}'
            if server.reports_usage:
                usage = {
                    "prompt_tokens": tokens,
                    "completion_tokens": chat.max_tokens,
                    "prompt_tokens_details": {"cached_tokens": cached},
                }
                yield json.dumps({"choices": [], "usage": usage}).encode()
            yield b"[DONE]"

    return Handler


def _too_long(context: int, tokens: int) -> Fault:
    message = (
        f"This model's maximum context length is {context} tokens. However, your prompt contains at least "
        f"{tokens} input tokens."
    )
    return refusal(400, message)


@contextmanager
def serving(**behaviour: Any) -> Iterator[ChatServer]:
    with ChatServer(**behaviour) as server:
        yield server
