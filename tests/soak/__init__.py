"""A soak: everything at once, at full speed, and level at the end.

`load` is what clients do, right and wrong; `process` is a real server to do it to, and
`inside` one in this process, whose tasks and objects can be counted.
"""
