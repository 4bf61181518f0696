"""A stand-in of the Hugging Face hub: what huggingface_hub asks of it to download a dataset.

It answers on the loopback interface:

- `/api/datasets/REPO/revision/REVISION`: the commit at which a revision is;
- `/api/datasets/REPO/tree/COMMIT?recursive=true`: the files of a commit;
- `/datasets/REPO/resolve/COMMIT/FILE`: a file's bytes, its ETag and commit in the header.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

__all__ = ["Hub", "Repository", "serving"]

Files = dict[str, bytes]


class Repository:
    """The commits of a dataset.

    Attributes:
        name: org/repo.
        commits: the files of each commit, by hash.
        revisions: the commit of each branch and tag.
        downloads: the files that were sent, in order.
        after_lookup: called after each time that a revision was looked up.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.commits: dict[str, Files] = {}
        self.revisions: dict[str, str] = {}
        self.downloads: list[str] = []
        self.after_lookup: Callable[[], None] = lambda: None

    def commit(self, branch: str, files: Files) -> str:
        """Add a commit at the head of a branch."""
        content = repr((self.name, len(self.commits), files))
        name = hashlib.sha1(content.encode()).hexdigest()  # noqa: S324
        self.commits[name] = files
        self.revisions[branch] = name
        return name

    def find(self, revision: str) -> str | None:
        """Return the commit that a revision names."""
        return revision if revision in self.commits else self.revisions.get(revision)


class Hub:
    """Datasets, and where they are served.

    Attributes:
        repositories: by name.
        endpoint: the URL.
    """

    def __init__(self, endpoint: str = "") -> None:
        self.repositories: dict[str, Repository] = {}
        self.endpoint = endpoint

    def create(self, name: str) -> Repository:
        """Add an empty dataset."""
        return self.repositories.setdefault(name, Repository(name))


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve a hub at its endpoint."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.hub = hub
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    hub: Hub


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        path = unquote(urlsplit(self.path).path).removeprefix("/api")
        _, _, organisation, name, verb, revision, *rest = path.split("/")
        repository = self.server.hub.repositories.get(f"{organisation}/{name}")
        if repository is None:
            return self.send(404, b"", {"X-Error-Code": "RepoNotFound"})
        commit = repository.find(revision)
        if commit is None:
            return self.send(404, b"", {"X-Error-Code": "RevisionNotFound"})
        if verb == "resolve":
            return self.file(repository, commit, "/".join(rest))
        respond = self.lookup if verb == "revision" else self.tree
        return respond(repository, commit)

    def lookup(self, repository: Repository, commit: str) -> None:
        siblings = [{"rfilename": name} for name in repository.commits[commit]]
        self.json({"id": repository.name, "sha": commit, "siblings": siblings})
        repository.after_lookup()

    def tree(self, repository: Repository, commit: str) -> None:
        files = repository.commits[commit].items()
        kind = {"type": "file"}
        self.json(
            [kind | {"path": name, "size": len(data), "oid": _etag(data)} for name, data in files]
        )

    def file(self, repository: Repository, commit: str, name: str) -> None:
        data = repository.commits[commit].get(name)
        if data is None:
            return self.send(404, b"", {"X-Error-Code": "EntryNotFound"})
        if self.command == "GET":
            repository.downloads.append(name)
        return self.send(200, data, {"ETag": f'"{_etag(data)}"', "X-Repo-Commit": commit})

    def json(self, content: object) -> None:
        self.send(200, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(data))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


def _etag(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()  # noqa: S324 - as git names blobs
