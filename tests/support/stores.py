"""A store on this machine: an S3-compatible server in a process of its own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator

__all__ = ["s3_server"]


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """Start a server and give its address; it ends with the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tests.support.stores", str(port)]
    pipe = subprocess.PIPE  # whose end is the server's end, however this process ends
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "serving\n"
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()


def serve(port: int) -> None:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    server.start()
    sys.stdout.write("serving\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
