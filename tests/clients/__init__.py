"""Official clients against real sockets, step by step: `make clients`.

The tests run in `.venv`, where the Python client is of version 2. Two more cannot be there:
version 1 of it, and the TypeScript client. These are installed below build/clients at their
pins by `environments`. Each is driven by a program of its own (`drive_python_1`,
`drive_python_2`, `drive_typescript.mjs`), which takes the steps that `steps` expects and
says what came of each. `server` is what they talk to. The tests are in modules called
`check_` and not `test_`, since `make test` may have nothing to run them with, and must not
pass over them in silence.
"""
