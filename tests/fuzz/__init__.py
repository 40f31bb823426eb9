"""Fuzzing of both front doors, on the level of bytes.

`corpus` has the well-formed beginnings, `mutation` spoils them, `attack` is one hostile
connection, `judge` reads what came back, `target` is the server with those who must not
notice anything, and `campaign` brings them together.
"""
