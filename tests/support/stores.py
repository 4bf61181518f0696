"""A store on this machine: an S3-compatible server in a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

__all__ = ["s3_server"]


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """Start a server and give its address; it ends with the block."""
    command = [sys.executable, "-m", "tests.support.stores"]
    pipe = subprocess.PIPE  # whose end is the server's end, however this process ends
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def serve() -> None:
    from moto.server import ThreadedMotoServer

    # At whatever port is free when it is taken.
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    sys.stdout.write(f"http://127.0.0.1:{port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve()
