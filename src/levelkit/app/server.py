"""The road between a browser on this machine and the rooms of the page. It listens on the loopback address only.

Settings travel in the address of each request and nothing is remembered between requests but files that were sent, each
under a secret name of its own: two pages never see one another's. Requests that another site made a browser send are
refused, and so is every host name but this machine's own (DNS rebinding).
"""

from __future__ import annotations

import json
import math
import queue
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from levelkit import models
from levelkit.app import explore, fitting, watching
from levelkit.app.uploads import GAMES, LOGS, TABLES, TooLargeError, Uploads
from levelkit.errors import LevelkitError, UsageError
from levelkit.observer.engine import ENGINES
from levelkit.observer.scoring import CONVENTIONS
from levelkit.report import words

HOST = "127.0.0.1"
HOSTS = ["127.0.0.1", "localhost"]
MEGABYTE = 1_000_000
_PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/app.css": ("app.css", "text/css; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/charts.js": ("charts.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "tex": "text/plain; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "html": "text/html; charset=utf-8",
}
Query = dict[str, str]


def create(most_mb: float = 20.0) -> Starlette:
    """The web application. most_mb: the largest file it takes, in megabytes."""
    folder = tempfile.TemporaryDirectory(prefix="levelkit-app-")
    uploads = Uploads(Path(folder.name), int(most_mb * MEGABYTE))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> Any:
        yield
        folder.cleanup()

    routes = [Route(path, partial(_page, name, kind)) for path, (name, kind) in _PAGES.items()]
    routes += [
        Route("/api/games", _answering(lambda query: explore.games())),
        Route("/api/play", _answering(explore.play)),
        Route("/api/facts", _answering(explore.facts)),
        Route("/api/branch", _answering(explore.branch)),
        Route("/api/strategies", _answering(watching.strategies)),
        Route("/api/match", _answering(watching.match)),
        Route("/api/about", _answering(lambda query: _about(uploads))),
        Route("/api/tables", _receiving(uploads, TABLES), methods=["POST"]),
        Route("/api/gamefiles", _receiving(uploads, GAMES), methods=["POST"]),
        Route("/api/logs", _receiving(uploads, LOGS), methods=["POST"]),
        Route("/api/table", _answering(lambda query: fitting.describe(uploads.get(query.get("table", ""))))),
        Route("/api/fit", partial(_fit, uploads)),
        Route("/api/download/{name}", partial(_download, uploads)),
        Route("/api/log", _answering(lambda query: watching.log_matches(uploads.get(query.get("log", "")), query))),
        Route("/api/logmatch", _answering(lambda query: watching.log_match(uploads.get(query.get("log", "")), query))),
    ]
    middleware = [
        Middleware(_Headers),
        Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False),
        Middleware(_SameSite),
    ]
    return Starlette(
        routes=routes,
        middleware=middleware,
        lifespan=lifespan,
        exception_handlers={LevelkitError: _refused, 404: _unknown, Exception: _failed},
    )


def _about(uploads: Uploads) -> dict[str, Any]:
    return {
        "version": words.version(),
        "most_bytes": uploads.most_bytes,
        "models": [{"name": name, "label": kind.label} for name, kind in models.REGISTRY.items()],
        "explore_models": [{"name": name, "label": models.REGISTRY[name].label} for name in explore.MODELS],
        "engines": list(ENGINES),
        "conventions": list(CONVENTIONS),
        "catalogues": list(watching.CATALOGUES),
    }


def serve(port: int, most_mb: float, started: Callable[[str], None]) -> None:
    """Run until interrupted. port 0: any that is free. `started` is told the address once the page can be opened.

    Raises UsageError where the port is taken.
    """
    import socket

    import uvicorn

    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise UsageError(f"port {port} cannot be used ({error.strerror}); try --port 0") from None

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started(f"http://{HOST}:{listening.getsockname()[1]}/")

    config = uvicorn.Config(create(most_mb), log_level="warning", timeout_graceful_shutdown=2, server_header=False)
    Server(config).run([listening])


async def _page(name: str, kind: str, request: Request) -> Response:
    return Response(files("levelkit.app").joinpath("pages", name).read_bytes(), media_type=kind)


def _answering(made: Callable[[Query], Any]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that answers settings with plain data, worked out beside the event loop."""

    async def answer(request: Request) -> Response:
        found = await run_in_threadpool(made, dict(request.query_params))
        return JSONResponse(finite(found))

    return answer


def _receiving(uploads: Uploads, endings: tuple[str, ...]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that takes a file as the request's body, its name in the address, and answers with its token."""

    async def receive(request: Request) -> Response:
        stated = request.headers.get("content-length", "")
        name = uploads.check(request.query_params.get("name", ""), int(stated) if stated.isdecimal() else None, endings)
        data = bytearray()
        async for chunk in request.stream():
            data += chunk
            if len(data) > uploads.most_bytes:
                raise uploads.too_large(name)
        return JSONResponse({"token": await run_in_threadpool(uploads.keep, name, bytes(data)), "name": name})

    return receive


async def _fit(uploads: Uploads, request: Request) -> Response:
    """Lines of JSON: how far the fit is, then the result or what went wrong."""
    query = dict(request.query_params)
    table, games = _files(uploads, query)
    return StreamingResponse(
        _telling(lambda told: fitting.run(table, games, query, told)), media_type="application/x-ndjson"
    )


def _telling(work: Callable[[Callable[[int, int], None]], Any]) -> Iterator[str]:
    """Run work in a thread of its own and yield its progress, then its end, as lines."""
    lines: queue.Queue[dict[str, Any] | None] = queue.Queue()

    def run() -> None:
        try:
            lines.put({"result": work(lambda done, total: lines.put({"done": done, "total": total}))})
        except LevelkitError as error:
            lines.put({"error": str(error)})
        except Exception as error:  # told in words: the page has no other way to learn of it
            lines.put({"error": _own_fault(error)})
        lines.put(None)

    threading.Thread(target=run, daemon=True).start()
    while (line := lines.get()) is not None:
        yield json.dumps(finite(line), allow_nan=False) + "\n"


async def _download(uploads: Uploads, request: Request) -> Response:
    query, name = dict(request.query_params), request.path_params["name"]
    table, games = _files(uploads, query)
    text = await run_in_threadpool(fitting.download, table, games, query, name)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=_TYPES[name.rpartition(".")[2]], headers=headers)


def _files(uploads: Uploads, query: Query) -> tuple[Any, Any]:
    games = query.get("games", "")
    return uploads.get(query.get("table", "")), uploads.get(games) if games else None


async def _refused(request: Request, error: Exception) -> Response:
    status = 413 if isinstance(error, TooLargeError) else 422
    return JSONResponse({"error": str(error)}, status_code=status)


async def _unknown(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"there is nothing at {request.url.path}"}, status_code=404)


async def _failed(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": _own_fault(error)}, status_code=500)


def _own_fault(error: Exception) -> str:
    return f"levelkit failed on its own account ({type(error).__name__}: {error}). Please report it"


def finite(value: Any) -> Any:
    """Plain data without numbers that JSON does not have: they become null."""
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class _Headers:
    """Adds the headers that keep a page to itself."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", []),
                    *((k.lower().encode(), v.encode()) for k, v in _HEADERS.items()),
                ]
            await send(message)

        await self.app(scope, receive, sending if scope["type"] == "http" else send)


class _SameSite:
    """Refuses what another site made the browser send."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
            origin, host = headers.get("origin"), headers.get("host", "")
            foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
            navigates = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
            if (origin is not None and origin != f"http://{host}") or (foreign and not navigates):
                refusal = JSONResponse({"error": "this page answers itself only, not other sites"}, status_code=403)
                await refusal(scope, receive, send)
                return
        await self.app(scope, receive, send)
