"""An interrupted run goes on, ends with the same result, and mixes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.brec.cases import PAIRS, SmallGIN, TriangleCount

from sekgnn.brec import RPCProtocol, networks, score
from sekgnn.errors import ConfigError, OutputError

SHORT = RPCProtocol(epochs=2)


def names(record: Path) -> list[str]:
    return sorted(path.name for path in record.glob("[!.]*"))


def test_an_interrupted_run_ends_with_the_same_result(tmp_path: Path) -> None:
    record = tmp_path / "some" / "gin"
    made = 0

    def make_model() -> SmallGIN:
        nonlocal made
        made += 1
        return SmallGIN(random_width=4)

    uninterrupted = score(make_model, pairs=PAIRS, protocol=SHORT)

    def interrupt(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score(
            make_model, pairs=PAIRS, protocol=SHORT, record=record, progress=interrupt
        )
    assert names(record) == ["pair-000.json", "pair-001.json"]

    made = 0
    calls: list[tuple[int, int]] = []
    resumed = score(
        make_model,
        pairs=PAIRS,
        protocol=SHORT,
        record=record,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert resumed == uninterrupted
    assert made == 2  # one to print, one for the pair that was left
    assert calls == [(2, 3), (3, 3)]


def test_a_record_may_grow_and_serve_a_part(tmp_path: Path) -> None:
    last = score(SmallGIN, pairs=PAIRS[2:], protocol=SHORT, record=tmp_path)
    uninterrupted = score(SmallGIN, pairs=PAIRS, protocol=SHORT, record=tmp_path)
    assert uninterrupted.pairs[2:] == last.pairs
    second = score(SmallGIN, pairs=PAIRS[1:2], protocol=SHORT, record=tmp_path)
    assert second.pairs == uninterrupted.pairs[1:2]


@pytest.mark.usefixtures("one_thread")
def test_processes_give_the_same_numbers(tmp_path: Path) -> None:
    """Two share three pairs, one of them finished."""
    alone = score(SmallGIN, pairs=PAIRS, protocol=SHORT)
    score(SmallGIN, pairs=PAIRS[1:2], protocol=SHORT, record=tmp_path)
    before = (tmp_path / "pair-001.json").read_bytes()
    shared = score(SmallGIN, pairs=PAIRS, protocol=SHORT, record=tmp_path, jobs=2)
    assert shared == alone
    assert (tmp_path / "pair-001.json").read_bytes() == before
    with pytest.raises(ConfigError, match="jobs"):
        score(lambda: SmallGIN(), pairs=PAIRS, jobs=2)


def test_other_commits_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for commit in ("a", "b", "b"):
        monkeypatch.setattr(networks, "source_commit", lambda commit=commit: commit)
        result = score(TriangleCount, pairs=PAIRS, record=tmp_path)
    assert result.commits == ("a", "b")


def test_the_record_of_another_run_is_refused(tmp_path: Path) -> None:
    score(SmallGIN, pairs=PAIRS[:1], protocol=SHORT, record=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ConfigError, match="another model"):
        score(TriangleCount, pairs=PAIRS, protocol=SHORT, record=tmp_path)
    with pytest.raises(ConfigError, match="another protocol"):
        score(SmallGIN, pairs=PAIRS, protocol=replace(SHORT, seed=1), record=tmp_path)
    with pytest.raises(ConfigError, match="another transform"):
        score(
            SmallGIN,
            pairs=PAIRS,
            protocol=SHORT,
            record=tmp_path,
            transform=lambda data: data,
        )
    swapped = replace(PAIRS[0], first=PAIRS[0].second)
    with pytest.raises(ConfigError, match="other graphs"):
        score(SmallGIN, pairs=[swapped], protocol=SHORT, record=tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_functions_without_a_name_do_not_look_different(tmp_path: Path) -> None:
    """A lambda prints with its address, which no later run can have."""
    for _ in range(2):
        result = score(
            TriangleCount,
            pairs=PAIRS[:1],
            record=tmp_path,
            transform=lambda data: data.clone(),
        )
    printed = result.settings["transform"]
    assert "function" in printed and "0x" not in printed


def test_other_folders_and_files_are_left_alone(tmp_path: Path) -> None:
    for text in ("mine", "{", '{"scores": [1]}'):
        (tmp_path / "notes.txt").write_text(text)
        with pytest.raises(OutputError, match=r"notes\.txt"):
            score(TriangleCount, pairs=PAIRS, record=tmp_path)
        assert (tmp_path / "notes.txt").read_text() == text
    with pytest.raises(OutputError, match="folder"):
        score(TriangleCount, pairs=PAIRS, record=tmp_path / "notes.txt")
    assert names(tmp_path) == ["notes.txt"]
