"""`genmcp serve --workers N`: several processes at one port.

Layer: cli. The process that was started is the supervisor: `supervise` puts it together,
`supervisor` keeps the workers running by the rules of `restarts`, `process` is one worker
as it sees it, and `holding` the port it keeps for them. A worker is the same command line
run once more, which finds its `seat`; `orders` is what the two tell each other.
"""
