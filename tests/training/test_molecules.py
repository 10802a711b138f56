"""What is chosen for tables of molecules, and when nothing is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sekgnn.training.config import RunConfig
from sekgnn.training.settings import BLEND, MOST_BLENDED, NETWORK, chosen_config

pytest.importorskip("rdkit")


def table(path: Path, rows: int) -> Path:
    path.write_text(
        "smiles,y\n" + "".join(f"{'C' * (i % 9 + 1)},{i}\n" for i in range(rows))
    )
    return path


def test_the_number_of_molecules_decides(tmp_path: Path) -> None:
    few, many = table(tmp_path / "few.csv", 40), tmp_path / "many.csv"
    config, words = chosen_config(None, {"data": str(few), "target": "y"})
    assert config == RunConfig.from_dict(
        {"data": str(few), "target": "y", **NETWORK, **BLEND}
    )
    assert words.startswith("40 molecules: 3 networks blended with forest and boosting")
    config, words = chosen_config(None, {"data": str(table(many, MOST_BLENDED + 1))})
    assert (config.ensemble, config.blend) == (1, ())
    assert config.readout == NETWORK["readout"] and "one network" in words


@pytest.mark.parametrize(
    "keys", [{"preset": "plain"}, {"model": "gin"}, {"optimizer": "adam"}, {"grid": {}}]
)
def test_who_says_how_to_train_gets_nothing_else(
    tmp_path: Path, keys: dict[str, Any]
) -> None:
    data = {"data": str(table(tmp_path / "few.csv", 40))}
    preset = keys.pop("preset", None)
    config, words = chosen_config(None, {**data, **keys}, preset)
    assert (config, words) == (RunConfig.from_dict({**data, **keys}), "")


def test_given_keys_stay(tmp_path: Path) -> None:
    """From flags and from a file; other data is as it was."""
    file = tmp_path / "run.yaml"
    file.write_text("epochs: 3\n")
    data = {"data": str(table(tmp_path / "few.csv", 40)), "ensemble": 5}
    config, _ = chosen_config(file, data)
    assert (config.epochs, config.ensemble, config.lr) == (3, 5, NETWORK["lr"])
    assert chosen_config(None, {"data": "MUTAG"}) == (RunConfig(data="MUTAG"), "")
