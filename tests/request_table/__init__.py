"""A table of raw HTTP requests, and exactly what each of them is answered.

The rows are data. `tests/transport/test_request_table.py` puts each to the application
in memory, `tests/e2e/test_request_table.py` to the real server over a socket; both hold
the answer against the same expectation.

    row         what a row is, and the answers it may expect
    sending     good requests, and how to spoil one
    served      the servers that are asked
    checking    whether an answer is the one expected
    all_rows    every row

The rows stand in a module for each area; a new area is a new module with a tuple `ROWS`,
named in `all_rows`.
"""
