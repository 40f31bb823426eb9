"""The bench: the same work on genmcp and on its peers, in turn: `make bench`.

    python -m bench [--quick] [--peers genmcp,sdk] [--work add-32,progress] [--write]

THE MAP:

    servers/          the same tools, once per framework
    peers             who is measured, how each is installed and started
    environments      installs the peers below build/bench, at their pinned versions
    requests          what is asked, in bytes, and what has to be answered
    responses         reads answers
    load              the closed loop: so many connections, each asking again once answered
    server_process    a server in a process of its own, its processor time and memory
    work              one thing that is measured: the contract
    calls progress parked startup
                      the kinds of it
    plan              the list of all
    rounds            runs everything in turn, A B A B, and keeps the samples
    comparison        medians, ratios, spread
    targets           what is wanted of the ratios
    record            a run, kept as bench/results.json
    report            the table, and docs/performance.md
    machine           what it ran on

The load is this process, the server another. Nothing here is imported by genmcp, and
the peers are not needed to import any of it.
"""
