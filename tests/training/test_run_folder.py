"""One process at a time, one config for ever, and nothing of others is touched."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.training.helpers import (
    config,
    fork,
    run,
)

from sekgnn.errors import ConfigError, OutputError
from sekgnn.files import make_folder
from sekgnn.training.config import RunConfig
from sekgnn.training.run_folder import (
    check_same_config,
    locked,
    read_config,
    write_config,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def test_a_folder_is_in_use_by_one_process(lines: Path, tmp_path: Path) -> None:
    def second() -> None:
        try:
            run(config(lines), tmp_path)
        except ConfigError as error:
            os._exit(7 if "in use by another process" in str(error) else 8)

    lines = lines.rename(tmp_path.parent / "elsewhere.jsonl")
    with locked(tmp_path):
        assert fork(second) == 7
        with pytest.raises(ConfigError, match="in use"), locked(tmp_path):
            pass
    with locked(tmp_path):  # free again
        pass


def test_the_lock_of_a_killed_process_is_gone(tmp_path: Path) -> None:
    def killed() -> None:
        with locked(tmp_path):
            os.kill(os.getpid(), signal.SIGKILL)

    assert fork(killed) == -signal.SIGKILL
    assert (tmp_path / ".lock").exists()
    with locked(tmp_path):
        pass


def test_configs_come_back_from_their_file(tmp_path: Path) -> None:
    settings = RunConfig(data="ä", target=("a", "b, c"), lr=1e-5, clip=None)
    write_config(settings, tmp_path)
    assert RunConfig.from_dict(read_config(tmp_path / "config.yaml")) == settings
    check_same_config(settings, tmp_path)


def test_another_config_names_the_keys_that_differ(tmp_path: Path) -> None:
    write_config(RunConfig(data="a", lr=0.1), tmp_path)
    check_same_config(RunConfig(data="a", lr=0.1, num_workers=2), tmp_path)
    message = r"lr \(0\.1 there, 0\.2 here\).*Choose another output"
    with pytest.raises(ConfigError, match=message):
        check_same_config(RunConfig(data="a", lr=0.2), tmp_path)


def test_a_folder_of_something_else_is_refused_and_untouched(
    lines: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter.tex").write_text("precious")
    with pytest.raises(ConfigError, match=r"neither a run folder.*chapter\.tex"):
        run(config(lines), folder)
    assert [p.name for p in folder.iterdir()] == ["chapter.tex"]
    with pytest.raises(ConfigError, match="is a file, not a folder"):
        run(config(lines), folder / "chapter.tex")
    assert (folder / "chapter.tex").read_text() == "precious"


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs /proc")
def test_folders_that_cannot_be_written_are_output_errors(lines: Path) -> None:
    """Not even root may make folders below /proc."""
    with pytest.raises(OutputError, match="cannot make the folder"):
        make_folder(Path("/proc/no/run"))
    with pytest.raises(OutputError, match="cannot make the folder"):
        run(config(lines), "/proc/no/run")
    with pytest.raises(OutputError, match="cannot write to"), locked(Path("/proc/sys")):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_an_output_error(lines: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o555)
    with pytest.raises(OutputError, match="cannot write to"):
        run(config(lines), folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"- a\n- b\n", "must hold lines such as"),
        (b"epochs: [1\n", "is not valid YAML"),
        (b"\xff\xfe\x00", "is not valid YAML"),
        (b"epochs: !!python/object/apply:os.getcwd []\n", "is not valid YAML"),
    ],
)
def test_wrong_config_files_are_named(
    tmp_path: Path, content: bytes, message: str
) -> None:
    file = tmp_path / "c.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_config(file)


def test_empty_and_marked_config_files_are_read(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    values: list[Any] = []
    for content in (b"", b"\xef\xbb\xbfepochs: 3\r\n"):
        file.write_bytes(content)
        values.append(read_config(file))
    assert values == [{}, {"epochs": 3}]
    with pytest.raises(ConfigError, match="cannot read the config"):
        read_config(tmp_path / "none.yaml")


def test_drafts_of_a_killed_process_are_removed(lines: Path, tmp_path: Path) -> None:
    """Whatever kill -9 left half written goes when the run goes on."""
    folder = tmp_path / "run"
    folder.mkdir()
    token = "0123456789abcdef"
    drafts = [folder / f".{name}.{token}.tmp.{kind}" for name, kind in
              (("last", "ckpt"), ("model", "safetensors"))]  # fmt: skip
    foreign = [folder / ".last.0123.tmp.ckpt", folder / ".mine.tmp"]
    for file in (*drafts, *foreign):
        file.write_text("half")
    write_config(config(lines, epochs=1), folder)
    run(config(lines, epochs=1), folder)
    assert not any(draft.exists() for draft in drafts)
    assert all(file.read_text() == "half" for file in foreign)
