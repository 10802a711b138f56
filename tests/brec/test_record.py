"""An interrupted run goes on, ends with the same result, and mixes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.brec.models import PAIRS, SmallGIN, TriangleCount

from sekgnn.brec import BRECScore, RPCProtocol, score
from sekgnn.errors import ConfigError, OutputError

SHORT = RPCProtocol(epochs=2)


def test_an_interrupted_run_ends_with_the_same_result(tmp_path: Path) -> None:
    record = tmp_path / "gin.json"
    made = 0

    def make_model() -> SmallGIN:
        nonlocal made
        made += 1
        return SmallGIN(random_width=4)

    whole = score(make_model, pairs=PAIRS, protocol=SHORT)

    def interrupt(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score(
            make_model, pairs=PAIRS, protocol=SHORT, record=record, progress=interrupt
        )
    assert len(BRECScore.from_json(record.read_text()).pairs) == 2

    made = 0
    calls: list[tuple[int, int]] = []
    resumed = score(
        make_model,
        pairs=PAIRS,
        protocol=SHORT,
        record=record,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert resumed == whole
    assert BRECScore.from_json(record.read_text()) == whole
    assert made == 2  # one to print, one for the pair that was left
    assert calls == [(2, 3), (3, 3)]


def test_a_record_may_grow_and_serve_a_part(tmp_path: Path) -> None:
    record = tmp_path / "gin.json"
    last = score(SmallGIN, pairs=PAIRS[2:], protocol=SHORT, record=record)
    whole = score(SmallGIN, pairs=PAIRS, protocol=SHORT, record=record)
    assert whole.pairs[2:] == last.pairs
    part = score(SmallGIN, pairs=PAIRS[1:2], protocol=SHORT, record=record)
    assert part.pairs == whole.pairs[1:2]
    assert BRECScore.from_json(record.read_text()) == whole


def test_progress_without_a_record() -> None:
    calls: list[tuple[int, int]] = []
    score(
        TriangleCount,
        pairs=PAIRS[:2],
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls == [(1, 2), (2, 2)]


def test_the_record_of_another_run_is_refused(tmp_path: Path) -> None:
    record = tmp_path / "gin.json"
    score(SmallGIN, pairs=PAIRS[:1], protocol=SHORT, record=record)
    before = record.read_bytes()
    with pytest.raises(ConfigError, match="another model"):
        score(TriangleCount, pairs=PAIRS, protocol=SHORT, record=record)
    with pytest.raises(ConfigError, match="another protocol"):
        score(SmallGIN, pairs=PAIRS, protocol=replace(SHORT, seed=1), record=record)
    with pytest.raises(ConfigError, match="another transform"):
        score(
            SmallGIN,
            pairs=PAIRS,
            protocol=SHORT,
            record=record,
            transform=lambda data: data,
        )
    swapped = replace(PAIRS[0], first=PAIRS[0].second)
    with pytest.raises(ConfigError, match="pair 0 with other graphs"):
        score(SmallGIN, pairs=[swapped], protocol=SHORT, record=record)
    assert record.read_bytes() == before


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"model": 1}', "\x00"])
def test_a_damaged_record_is_refused(text: str, tmp_path: Path) -> None:
    record = tmp_path / "gin.json"
    record.write_text(text)
    with pytest.raises(ConfigError, match="cannot be continued"):
        score(SmallGIN, pairs=PAIRS, protocol=SHORT, record=record)
    assert record.read_text() == text


def test_functions_without_a_name_do_not_look_different(tmp_path: Path) -> None:
    """A lambda prints with its address, which no later run can have."""
    record = tmp_path / "gin.json"
    for _ in range(2):
        result = score(
            TriangleCount,
            pairs=PAIRS[:1],
            record=record,
            transform=lambda data: data.clone(),
        )
    assert result.transform is not None and "0x" not in result.transform


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="does not exist; create it first"):
        score(TriangleCount, pairs=PAIRS, record=tmp_path / "none" / "a.json")
