"""JSON of the right form with values of other types: read, or refused in one line."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from tests.brec.cases import PAIRS, SmallGIN
from tests.fuzz.test_hostile_folders import opener
from tests.fuzz.test_hostile_input import COUNT, EXPECTED
from tests.reports.run_records import holdout
from tests.training.helpers import config, records, write_lines

from sekgnn.array_file import line_of, read_arrays, write_arrays
from sekgnn.brec import RPCProtocol, score
from sekgnn.brec.exact import run_board
from sekgnn.brec.record import AnyScore, read_scores, to_json
from sekgnn.cli.train import print_results, results_json
from sekgnn.datasets import BREC, read_task
from sekgnn.encoding.node_ranges import EncodedNodes
from sekgnn.errors import OutputError
from sekgnn.estimators import SEKClassifier
from sekgnn.graphs import cycle_graph, path_graph
from sekgnn.models import model_file as model_files
from sekgnn.reports.brec_page import brec_page, trained_page
from sekgnn.reports.run_report import write_report
from sekgnn.training.predict_file import evaluate_file
from sekgnn.training.run import train
from sekgnn.training.run_record import RunRecord
from sekgnn.wl import OneWL
from sekgnn.wl.ladder import Rung

OTHERS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 10**9, 10**30, 0.5, float("nan"), 1e300),
    *("", "x", "\x1b[2J", "../x", [], [[]], ["x"], [1, "x"], [None], {}, {"x": 1}),
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of plain values: what holds it, and its key."""
    keys: Any = value if isinstance(value, dict) else ()
    if isinstance(value, list):
        keys = range(min(len(value), 5))
    for key in keys:
        yield value, key
        yield from places(value[key])


def retyped(value: Any, rng: random.Random) -> Any:
    """Return plain values of which one to three are missing, others or unknown."""
    value = copy.deepcopy(value)
    for _ in range(rng.randint(1, 3)):
        holder, key = rng.choice([*places(value)] or [(None, None)])
        if holder is None:
            return rng.choice(OTHERS)
        kind = rng.randrange(6)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder["unknown"] = holder[key]
        elif kind == 2 and isinstance(holder, list):
            holder.append(rng.choice(OTHERS))
        else:
            holder[key] = copy.deepcopy(rng.choice(OTHERS))
    return rng.choice(OTHERS) if rng.random() < 0.02 else value


def attack(
    name: str, good: Any, put: Callable[[Any], object], read: Callable[[], object]
) -> None:
    """Put changed values where they belong and read them."""
    rng = random.Random(f"{name} 12")
    put(good)
    read()
    refused = 0
    for _ in range(COUNT):
        bad = retyped(good, rng)
        put(bad)
        try:
            read()
        except (*EXPECTED, OutputError) as error:
            refused += 1
            if "was written with another" in str(error):  # and shows both
                continue
            assert len(str(error).splitlines()) == 1, (str(error), bad)
        except Exception as error:
            raise AssertionError((name, json.dumps(bad)[:3000])) from error
    print(f"{name}: {COUNT} tried, {refused} refused")
    assert refused


def to_file(path: Path) -> Callable[[Any], object]:
    return lambda value: path.write_text(json.dumps(value))


def test_records_of_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And all that is printed and drawn of them."""
    baseline = {
        "metric": "test_mae", "each": {"ridge": 0.5, "forest": None}, "model": "ridge",
        "value": 0.5, "selected_on": "nothing", "left_out": {"morgan": "no molecules"},
    }  # fmt: skip
    holdout(baseline=baseline).save(tmp_path)
    good = json.loads((tmp_path / "record.json").read_text())
    drawn = 0

    def read() -> None:
        nonlocal drawn
        record = RunRecord.load(tmp_path)
        print_results(record)
        results_json(record), record.baseline_sentence(), record.target_table()
        drawn += 1
        if drawn < 5 + COUNT // 30:  # figures take their time
            write_report([tmp_path], tmp_path / "report")

    attack("record.json", good, to_file(tmp_path / "record.json"), read)


def test_folds_and_models_of_runs(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "data.jsonl", records(60))
    chosen = config(lines, "ring", epochs=1, confidence=0.5)
    train(output=tmp_path / "run", config=chosen)
    fold = tmp_path / "run" / "fold.json"
    good = json.loads(fold.read_text())

    def goes_on() -> None:
        (tmp_path / "run" / "record.json").unlink(missing_ok=True)
        train(output=tmp_path / "run", config=chosen)
        evaluate_file(tmp_path / "run", lines)

    attack("fold.json", good, to_file(fold), goes_on)
    to_file(fold)(good)
    file = tmp_path / "run" / "model.safetensors"
    attack_about(file, lambda: evaluate_file(file, lines))


def attack_about(file: Path, read: Callable[[], object]) -> None:
    """Change what a model file says of the model, and sign it again."""
    content = file.read_bytes()
    weights = load_tensors(content)
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])["__metadata__"]

    def put(about: Any) -> None:
        header["about"] = json.dumps(about)
        header["sha256"] = model_files._digest(header, weights)
        file.write_bytes(save_tensors(weights, header))

    attack("about", json.loads(header["about"]), put, read)


def test_estimators(tmp_path: Path) -> None:
    graphs = [path_graph(n) if n % 2 else cycle_graph(n) for n in range(3, 33)]
    small: dict[str, Any] = {"epochs": 1, "hidden_channels": 4, "num_layers": 1}
    classifier = SEKClassifier("gin", **small, class_weight={0: 1.0, 1: 2.0})
    classifier.fit(graphs, [n % 2 for n in range(30)])
    file = tmp_path / "estimator.safetensors"
    classifier.save(file)
    attack_about(file, lambda: SEKClassifier.load(file).predict(graphs[:3]))


def test_manifests_of_shards(tmp_path: Path) -> None:
    """Read to train on, and to go on with."""
    act = opener("shards", tmp_path)
    act(tmp_path / "good")
    good = json.loads((tmp_path / "good" / "manifest.json").read_text())
    folder = tmp_path / "bad"
    rng = random.Random(1)

    def put(value: Any) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "good", folder)
        to_file(folder / "manifest.json")(value)

    def read() -> None:
        read_task(folder)
        if rng.random() < 0.2:
            act(folder)

    attack("manifest.json", good, put, read)


def test_what_a_shard_says_of_itself(tmp_path: Path) -> None:
    act = opener("shards", tmp_path)
    act(tmp_path / "good")
    manifest = json.loads((tmp_path / "good" / "manifest.json").read_text())
    shard = tmp_path / "good" / manifest["files"][0]["file"]
    good, arrays = read_arrays(shard)

    def put(about: Any) -> None:
        header = about if isinstance(about, dict) else {"about": about}
        write_arrays(shard, header, {n: np.array(a) for n, a in arrays.items()})
        line = {"sha256": good["sha256"], **line_of(header)}
        lines = [line, *manifest["files"][1:]]
        to_file(tmp_path / "good" / "manifest.json")({**manifest, "files": lines})

    def read() -> None:
        task = read_task(tmp_path / "good")
        task.graphs[0], task.fingerprint()

    about = {name: value for name, value in good.items() if name != "arrays"}
    attack("header of a shard", about, put, read)


def test_manifests_of_encoded_nodes(tmp_path: Path) -> None:
    act = opener("ranges", tmp_path)
    act(tmp_path / "good")
    file = tmp_path / "good" / "manifest.json"
    good = json.loads(file.read_text())

    def read() -> None:
        encoded = EncodedNodes(tmp_path / "good")
        encoded[[0, len(encoded) - 1]]
        act(tmp_path / "good")

    attack("manifest.json", good, to_file(file), read)


def test_records_of_pairs(tmp_path: Path) -> None:
    folder = tmp_path / "pairs"
    short = RPCProtocol(epochs=1)

    def act() -> None:
        score(SmallGIN, pairs=PAIRS[:1], protocol=short, record=folder).table()

    act()
    for file in sorted(folder.glob("*.json")):
        good = json.loads(file.read_text())
        attack(file.name, good, to_file(file), act)
        to_file(file)(good)


def test_scoreboards(tmp_path: Path) -> None:
    rung = Rung("1wl", "1-WL", OneWL())
    exact = to_json(run_board([rung], pairs=BREC.of(PAIRS)))
    trained = Path(__file__).parents[2] / "results" / "brec" / "trained.json"
    whole = json.loads(trained.read_text())["scores"][0]
    networks = {"scores": [whole | {"pairs": whole["pairs"][:3]}]}

    def read(file: Path, page: Callable[[tuple[AnyScore, ...]], str]) -> None:
        scores = read_scores(file, "Choose another.", trained=page is trained_page)
        if scores:
            page(scores)
            scores[0].table()

    for good, page in ((json.loads(exact), brec_page), (networks, trained_page)):
        file = tmp_path / f"{page.__name__}.json"
        attack(file.name, good, to_file(file), partial(read, file, page))
