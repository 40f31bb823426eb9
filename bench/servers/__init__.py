"""The servers under test: the same tools, once per framework.

Each is a program: `--port` says where to listen on 127.0.0.1, at `/mcp`, and `--style`
which of three servers to be (see `bench.peers.Style`). Only `on_genmcp` and `bare` are
run in this package's environment; the others are run by path, in their own, and so
import nothing of `bench`.

The tools, whose names and answers `bench.requests` relies on:

    add(a, b)      their sum, as text: the trivial call
    report(count)  sends that many progress notifications, then answers `done`
    measure(text)  how many characters `text` has
    produce(size)  a text of that many characters
    wait()         sends one progress notification, then does not end by itself

`catalog` has 200 tools of three arguments each instead.
"""
