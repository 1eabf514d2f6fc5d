"""The stub by an asynchronous library."""

from __future__ import annotations

from tests.technologies.harness.stub import connect_async, live

if __name__ == "__main__":
    live(connect_async)
