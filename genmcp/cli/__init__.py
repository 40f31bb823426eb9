"""The `genmcp` command: `serve`, `tools`, `call`.

Layer: cli, the topmost. `command_line` reads the arguments, `target` finds the server
they mean, `serve_command` and `call_command` do the work, `workers` has several processes
do it, `watchdog` ends a process that does not end by itself, `remote` is a server that is
called over the network, and `asked` what a tool that asks is answered.
"""

from genmcp.cli.command_line import main

__all__ = ["main"]
