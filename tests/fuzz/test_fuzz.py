"""A short campaign, always the same; `make fuzz` runs longer ones."""

from __future__ import annotations

import pytest

from tests.fuzz.campaign import run_campaign
from tests.fuzz.judge import WrongAnswerError, judge
from tests.fuzz.target import Front

SEED = 20260728
ATTACKS = 100
JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
GOOD = b'{"jsonrpc":"2.0","id":1,"result":{}}'


@pytest.mark.parametrize("front", ["native", "hypercorn"])
async def test_an_attacked_server_serves_on_and_keeps_nothing(front: Front) -> None:
    findings = await run_campaign(front, SEED, attacks=range(ATTACKS))
    assert findings.wrong == []
    assert findings.attacks == ATTACKS
    assert findings.calls > 0
    # The attacks get somewhere: some are answered, some refused for different reasons.
    assert {200, 400, 405} <= findings.statuses.keys()


def test_the_judge_takes_what_is_right() -> None:
    told = JSON % (len(GOOD), GOOD)
    assert [one.status for one in judge(told * 2, may_be_head=False, cut=False)] == [200, 200]


def test_the_judge_takes_an_answer_to_head_and_a_stream_that_was_cut() -> None:
    head = (JSON % (len(GOOD), GOOD)).removesuffix(GOOD)
    assert judge(b"HTTP/1.1 100 Continue\r\n\r\n", may_be_head=False, cut=False) == []
    cut = STREAM + b"9\r\ndata: {"
    assert [one.status for one in judge(head + cut, may_be_head=True, cut=True)] == [200, 200]


@pytest.mark.parametrize(
    "told",
    [
        b"HTTP/1.1 200 OK\r\ncontent-le",
        b"HTTP/1.1 200 OK\ncontent length: 3\r\n\r\nabc",
        JSON % (len(GOOD) + 1, GOOD),
        JSON % (len(GOOD) - 1, GOOD),
        JSON % (2, b"{}"),
        JSON % (4, b"none"),
        (JSON % (len(GOOD), GOOD)).replace(b"200", b"500"),
        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        STREAM + b"9\r\ndata: {}\n\r\n1\r\n\n\r\n0\r\n\r\n",
        STREAM + b"none\r\n",
    ],
    ids=range(10),
)
def test_the_judge_finds_what_is_wrong(told: bytes) -> None:
    with pytest.raises(WrongAnswerError):
        judge(told, may_be_head=False, cut=False)
