"""A wrong command ends with exit code 2, one line that helps, and nothing written.

Below every command stands what is wrong with it, and words of its message.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from tests.training.helpers import records, write_lines

from .conftest import Run, assert_refused

WRONG = r"""
encode -o out.npz
  empty.g6                           -> holds no
  words.edges                        -> line 1
  one_way.edges                      -> undirected
  damaged.npz                        -> npz
  invalid.csv                        -> 1 SMILES | row 2 (line 3): 'C1C' | --skip-inv
  graphs.what                        -> '.what' | .g6 | --format
  missing.g6                         -> does not exist
  folder.npz                         -> not a TU folder
  folder.npz --format graph6         -> is a folder
encode in.g6 -o out.npz
  --num-shells 0                     -> num_shells must be
  --radius 1                         -> radius has no meaning
  --scope intern                     -> --scope must be | mean 'internal'
  --preset papers                    -> mean 'paper'
  --backend gpu                      -> --backend must be
  --backend spectral --aggregate moments  -> no moments
  --dtype float16                    -> --dtype must be
  --format graph                     -> --format must be | mean 'graph6'
  --threads 0                        -> --threads must be
  --encoding walk                    -> encoding must be | mean 'walks'
  --encoding-options merge           -> name=value
  --encoding-options merg=mean       -> no parameter 'merg' | mean 'merge'
encode damaged.npz
  -o out.txt                         -> '.txt' | .npz or .parquet
  -o none/out.npz                    -> folder | does not exist
  -o damaged.npz                     -> is the input
  -o folder.npz                      -> is a folder
graph pack words.edges
  graph.txt                          -> ends in .csr
wl rook:4 shrikhande
  --plot a.jpg                       -> --plot must end in
  --threads 0                        -> --threads must be
  --test 4fwl                        -> --test must be
  --test 2fwl --num-hops 2           -> --num-hops means nothing
  --undirected no                    -> --undirected must be
  --all --plot a.png                 -> leave out --plot
  --all --certificate a.json         -> --certificate
  --all --no-multisets               -> single test
  --all --radius 1 2                 -> single test
wl
  words.edges path:3                 -> line 1
  path:3 shrikhand                   -> cannot find a graph
explore
  cycle:6 -o page.html               -> takes two graphs
  cycle:6 circulant:6:2 -o page.txt  -> such as page.html
  path:201 path:3 -o page.html       -> at most 200 nodes
  cycle:6 path:6 --gallery -o new    -> leave out graphs
  --gallery --test 1wl -o new        -> leave out graphs
  cycle:6 path:6 --test 2fwl --radius 2 -o page.html  -> means nothing
  cycle:6 path:6 -o missing/page.html  -> does not exist
brec -o new
  --test 2wl                         -> --test must be
  --test 2fwl --radius 1 2           -> --radius means nothing
  --copies -1                        -> --copies must be
  --seed -1                          -> --seed must be
  --threads 0                        -> --threads must be
  --all --num-hops 3                 -> leave out
  --all --no-context                 -> leave out
  --no-run                           -> give --all too
  --all --no-run                     -> no exact.json
  --numbers 5                        -> --numbers
  --hidden-channels 8                -> --hidden-channels
  --jobs 2                           -> --jobs
brec --model gin -o new/t.json
  --model gn                         -> model must be
  --test 1wl                         -> --test and --all
  --all                              -> --test and --all
  --marked                           -> --marked means nothing
  --num-hops 2                       -> has no num_hops
  --numbers same                     -> written like 0-59,110
  --subset x                         -> written like 0-59,110
  --pairs same                       -> --pairs means nothing
  --dtype half                       -> --dtype must be
  --jobs 0                           -> --jobs must be
  --copies 1                         -> copies must be
  --batch-size 3                     -> batch_size must be even
  --encoding walks patterns          -> one --encoding
demo -o new
  --graphs 0                         -> --graphs must be at least
  --seed -1                          -> --seed must be at least
  --epochs -1                        -> --epochs must be at least
  -o in.g6                           -> cannot make the folder
train -o new
  countng                            -> mean 'counting'
  d.jsonl                            -> say what to predict
  d.jsonl --target nothing           -> no key 'nothing'
  d.jsonl --target ring --loss mae   -> is for regression
  d.jsonl --target size -o d.jsonl   -> is a file, not a folder
  d.jsonl --target size -c none.yaml  -> cannot read the config
  d.jsonl --target size -c bad.yaml  -> 'epochs'
  d.jsonl --target size --epochs 0   -> epochs must be
  d.jsonl --target size --jobs 0     -> --jobs must be
  d.jsonl --target size --threads -1  -> --threads must be
  d.jsonl --target size --model gim  -> mean 'gin'
  d.jsonl --target size --preset smal  -> one of ['lbfgs', 'small', 'plain']
  --target size                      -> no data is named
search d.jsonl --target size --space lr.yaml -o new
  --space tuu                        -> 'tu'
  --sampler gird                     -> 'grid'
  --pruner no                        -> pruner
  --trials 0                         -> trials
  --jobs 0                           -> jobs
predict
  nowhere d.jsonl                    -> there is no file
  in.g6 d.jsonl                      -> not a safetensors file
  in.g6 d.jsonl --chunk-size 0       -> --chunk-size must be
  in.g6 d.jsonl --json               -> --output
report
  folder.npz -o new                  -> holds no record.json
advise
  d.jsonl --target z                 -> 'z'
  d.jsonl                            -> say what to predict
  missing.csv --target size          -> there is no file
  d.jsonl --target size -o a.png     -> .html
  d.jsonl --target size -o none/a.html  -> create it
  d.jsonl --target size --limit 0    -> above 0
reproduce -o new
  table9                             -> table9
  table1 --only nothing-like-it      -> --only takes
  table1 --budget 0                  -> above 0 hours
  table1 --show x                    -> --show
"""
FILES = {
    "in.g6": "Bw\n",
    "empty.g6": "",
    "words.edges": "0 one\n",
    "one_way.edges": "0 1\n1 2\n",
    "damaged.npz": "not a zip",
    "invalid.csv": "smiles\nCCO\nC1C\n",
    "graphs.what": "Bw\n",
    "bad.yaml": "epoch: 3\n",
    "lr.yaml": "lr: [0.01, 0.03]\n",
}


def commands() -> Iterator[tuple[str, str]]:
    command = ""
    for line in WRONG.strip().splitlines():
        more, _, words = line.partition("->")
        if words:
            yield f"{command} {more.strip()}", words
        else:
            command = line


def _never(*_: object, **__: object) -> NoReturn:
    raise AssertionError("work began")


@pytest.mark.parametrize(("line", "words"), [*commands()])
@pytest.mark.usefixtures("small_brec")
def test_a_wrong_command_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, words: str
) -> None:
    if ".csv" in line:
        pytest.importorskip("rdkit")
    if line.startswith("search"):
        pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    write_lines(tmp_path / "d.jsonl", records())
    (tmp_path / "folder.npz").mkdir()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    if line.startswith(("wl", "brec", "demo", "search", "advise")):  # refused at once
        for work in ("wl.compare", "brec.exact.score_exact", "training.run.train"):
            monkeypatch.setattr(f"sekgnn.{work}", _never)
    assert_refused(run(*shlex.split(line)), *map(str.strip, words.split("|")))
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert after == before


@pytest.mark.parametrize(
    "line",
    [
        "encode", "encode in.g6", "encod", "encode --hop x", "wl", "wl path:3",
        "wl path:3 path:4 path:5", "report -o new", "report run",
        "train d.jsonl --frob 1", "train d.jsonl --epochs many",
    ],
)  # fmt: skip
def test_usage_errors(run: Run, line: str) -> None:
    assert "Usage" in run(*line.split(), code=2).stderr
