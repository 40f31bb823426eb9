"""The official conformance suite, and the server that it tests.

`make conformance` runs it. The server is `python -m tests.conformance.server`: what the
suite expects of one, by the names it looks for. `results` says what counts as passed.
"""
