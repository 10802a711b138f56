"""Shards that Dask workers make are those of one process, whatever fails meanwhile."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.small_graphs import write_npz
from torch_geometric.data import Data
from typer.testing import CliRunner

import sekgnn
from sekgnn.cli.main import app
from sekgnn.encoding import dask_engine
from sekgnn.encoding.dask_engine import open_client
from sekgnn.encoding.node_ranges import RangePlan, encode_graph_file
from sekgnn.encoding.sharded import encode_shards
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.graphs import (
    pack_pairs,
    path_graph,
    random_regular_graph,
    read_graphs,
    to_graph6,
)
from sekgnn.transforms import encode_dataset

pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
psutil = pytest.importorskip("psutil")

WALKS = WalkEncoding(num_shells=1, walk_length=4)
SHARDS = 12
PARTS = ("cert", "key")

_SCHEDULER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as c:
        print(c.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Return a client of two worker processes."""
    with open_client(workers=2) as found:
        yield found


@pytest.fixture(scope="module")
def key(client: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the settings of Dask that let others in, as a user would give them."""
    folder = tmp_path_factory.mktemp("key")
    own = client.security
    (folder / "cert.pem").write_text(own.tls_ca_file)
    (folder / "key.pem").write_text(own.tls_client_key)
    found = {"ca-file": str(folder / "cert.pem")}
    for role in ("client", "worker"):
        found |= {f"{role}.{part}": str(folder / f"{part}.pem") for part in PARTS}
    return {f"distributed.comm.tls.{name}": path for name, path in found.items()}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of graphs for 12 shards."""
    path = tmp_path_factory.mktemp("source") / "graphs.g6"
    rng = np.random.default_rng(0)
    graphs = [random_regular_graph(12, 3, rng) for _ in range(5 * SHARDS - 1)]
    path.write_text("".join(f"{to_graph6(g)}\n" for g in [path_graph(1), *graphs]))
    return path


@pytest.fixture(scope="module")
def serial(source: Path) -> dict[str, bytes]:
    """Return the files that one process writes."""
    encode(source, source.parent / "serial")
    return content(source.parent / "serial")


def encode(source: Path, output: Path, **more: Any) -> Any:
    return encode_shards(source, output, WALKS, shard_size=5, **more)


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_ranges_of_one_graph_are_those_of_one_process(
    client: Any, tmp_path: Path
) -> None:
    graph = random_regular_graph(300, 4, np.random.default_rng(1))
    file = pack_pairs([graph.edge_index().T], 300, tmp_path / "graph.csr")
    plan = RangePlan(WALKS, range_numbers=64 * WALKS.num_features)
    encode_graph_file(file, plan, tmp_path / "here", threads=1)
    encode_graph_file(file, plan, tmp_path / "there", client=client)
    assert len(content(tmp_path / "here")) == 6  # five ranges and the manifest
    assert content(tmp_path / "there") == content(tmp_path / "here")


def test_what_cannot_be_cut_is_sent(client: Any, source: Path, tmp_path: Path) -> None:
    """Workers never look at the file, which is gone when the second one begins."""
    write_npz(tmp_path / "graphs.npz", read_graphs(source))
    encode(tmp_path / "graphs.npz", tmp_path / "here")
    gone = once((tmp_path / "graphs.npz").unlink)
    total = (tmp_path / "graphs.npz").stat().st_size
    seen: list[tuple[int, int]] = []
    encode(tmp_path / "graphs.npz", tmp_path / "there", client=client, on_shard=gone,
           progress=lambda *done: seen.append(done))  # fmt: skip
    assert len(content(tmp_path / "here")) == SHARDS + 1
    assert content(tmp_path / "there") == content(tmp_path / "here")
    assert seen[-1] == (total, total)


def once(act: Callable[[], object]) -> Callable[..., None]:
    """Return a callback that acts when it is called for the first time."""
    calls: list[object] = []

    def callback(*_: object) -> None:
        if not calls:
            calls.append(act())

    return callback


def test_a_killed_worker_costs_nothing(
    client: Any, source: Path, serial: dict[str, bytes], tmp_path: Path
) -> None:
    """The other worker, and the one that takes its place, write the same bytes."""
    victim = next(iter(client.run(os.getpid).values()))
    kill = once(lambda: os.kill(victim, signal.SIGKILL))
    seen: list[tuple[int, int]] = []
    encode(source, tmp_path / "out", client=client, on_shard=kill,
           progress=lambda *done: seen.append(done))  # fmt: skip
    assert content(tmp_path / "out") == serial
    assert len(seen) == SHARDS and seen[-1] == (source.stat().st_size,) * 2
    client.wait_for_workers(2, timeout=60)


def test_a_killed_scheduler_is_told_and_work_goes_on_with_another(
    client: Any, source: Path, serial: dict[str, bytes], tmp_path: Path
) -> None:
    script = tmp_path / "scheduler.py"
    script.write_text(_SCHEDULER)
    with subprocess.Popen(
        [sys.executable, script], stdin=-1, stdout=-1, stderr=-3, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with (
            open_client(address) as other,
            pytest.raises(ConnectionError, match="repeat the command"),
        ):
            encode(source, tmp_path / "out", client=other, on_shard=once(process.kill))
    begun = {f.name: f.stat().st_mtime_ns for f in (tmp_path / "out").glob("shard*")}
    assert 0 < len(begun) < SHARDS
    encode(source, tmp_path / "out", client=client)
    assert content(tmp_path / "out") == serial
    for name, when in begun.items():  # what was finished is not made again
        assert (tmp_path / "out" / name).stat().st_mtime_ns == when


def test_damaged_shards_are_found_and_made_again(
    client: Any, source: Path, serial: dict[str, bytes], tmp_path: Path
) -> None:
    for name, whole in serial.items():
        (tmp_path / name).write_bytes(whole)
    names = sorted(name for name in serial if name.startswith("shard"))
    first, flipped, cut, lost, other, seventh = (names[i] for i in (0, 3, 4, 5, 6, 7))
    changed = bytearray(serial[flipped])
    changed[-2000] ^= 1
    (tmp_path / flipped).write_bytes(changed)
    (tmp_path / cut).write_bytes(serial[cut][:100])
    (tmp_path / lost).unlink()
    (tmp_path / other).write_bytes(serial[seventh])
    before = (tmp_path / first).stat().st_mtime_ns
    encode(source, tmp_path, client=client)
    assert content(tmp_path) == serial
    assert (tmp_path / first).stat().st_mtime_ns == before


def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(
    client: Any,
    key: dict[str, str],
    source: Path,
    serial: dict[str, bytes],
    tmp_path: Path,
) -> None:
    def fill() -> None:
        def full(file: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        os.kept, os.fsync = os.fsync, full  # type: ignore[attr-defined,assignment]

    def empty() -> None:
        os.fsync = os.kept  # type: ignore[attr-defined]

    client.run(fill)
    place = ["--scheduler", client.scheduler.address]
    with dask.config.set(key):
        said = CliRunner().invoke(
            app,
            ["encode", str(source), "--output", str(tmp_path / "out"),
             "--engine", "dask", "--num-shells", "1", "--walk-length", "4",
             "--shard-size", "5", *place],
        )  # fmt: skip
    try:
        assert said.exit_code == 2
        (error,) = said.stderr.splitlines()
        assert "No space left on device; free some space" in error
        while any((tmp_path / "out").glob("*.tmp.arrays")):  # of the other worker
            time.sleep(0.1)
        assert [file.name for file in (tmp_path / "out").iterdir()] == ["manifest.json"]
    finally:
        client.run(empty)
    encode(source, tmp_path / "out", client=client)
    assert content(tmp_path / "out") == serial


def test_datasets_are_encoded_alike(client: Any, tmp_path: Path) -> None:
    path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graphs = [Data(edge_index=path, num_nodes=3 + i % 4) for i in range(5000)]
    here = encode_dataset(graphs, WALKS)
    with pytest.raises(ConfigError, match="cache_dir"):
        encode_dataset(graphs, WALKS, client=client)
    there = encode_dataset(graphs, WALKS, client=client, cache_dir=tmp_path)
    assert torch.equal(there.encodings, here.encodings)
    assert [tmp_path / file for file in os.listdir(tmp_path)] == [there.cache_file]
    assert encode_dataset(graphs, WALKS, client=client, cache_dir=tmp_path).from_cache


def test_unusable_workers_are_refused(
    client: Any, key: dict[str, str], tmp_path: Path
) -> None:
    """Without the library, with another version of it, without an extra."""
    absent, older, lacking = (
        tmp_path / name for name in ("absent", "older", "lacking")
    )
    (absent / "sekgnn").mkdir(parents=True)
    (absent / "sekgnn" / "__init__.py").write_text("raise ImportError('not here')")
    (older / "sekgnn").mkdir(parents=True)
    for file in Path(sekgnn.__file__).parent.iterdir():
        (older / "sekgnn" / file.name).symlink_to(file)
    (older / "sekgnn" / "_version.py").unlink()
    (older / "sekgnn" / "_version.py").write_text('__version__ = "0.0.1"')
    (lacking / "rdkit").mkdir(parents=True)
    (lacking / "rdkit" / "__init__.py").write_text("raise ImportError('no rdkit')")
    (tmp_path / "data.csv").write_text("smiles\nCCO\nCC\n")
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard"]
    command += ["--no-nanny", "--nthreads", "1", client.scheduler.address]
    for flag, name in (("ca-file", "ca-file"), *((x, f"worker.{x}") for x in PARTS)):
        command += [f"--tls-{flag}", key[f"distributed.comm.tls.{name}"]]
    src = str(Path(sekgnn.__file__).parent.parent)
    odd = [
        subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": f"{place}{os.pathsep}{src}"},
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for place in (absent, older, lacking)
    ]
    try:
        client.wait_for_workers(5, timeout=60)
        with pytest.raises(ConfigError) as caught:
            encode_shards(tmp_path / "data.csv", tmp_path / "out", client=client)
    finally:
        for process in odd:
            process.kill()
            process.wait()
    said = str(caught.value)
    assert "has no sekgnn (not here)" in said and "has sekgnn 0.0.1" in said
    assert "lacks the extra 'mol' (no rdkit)" in said and "\n" not in said
    assert not list((tmp_path / "out").glob("shard*"))


def test_who_has_no_key_runs_nothing(client: Any) -> None:
    """Nor with a key of one's own; and no page of logs or calls is served."""
    distributed = pytest.importorskip("distributed")
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    doors = [
        (found.laddr.ip, found.laddr.port)
        for process in processes
        for found in process.net_connections("tcp")
        if found.status == psutil.CONN_LISTEN
    ]
    places = [client.scheduler.address, *client.scheduler_info()["workers"]]
    assert len(doors) > len(places) == 3
    assert {ip for ip, _ in doors} == {"127.0.0.1"}
    for strange in (None, distributed.Security(), distributed.Security.temporary()):
        for port in (address.rpartition(":")[2] for address in places):
            for form in ("tcp", "tls"):
                with pytest.raises((OSError, TypeError, RuntimeError)):
                    call(f"{form}://127.0.0.1:{port}", strange)
    for ip, port in doors:
        for page in ("info/main/workers.html", "info/main/logs.html", "health"):
            with pytest.raises(OSError):  # other protocol, or 404
                urllib.request.urlopen(f"http://{ip}:{port}/{page}", timeout=5)
    assert call(places[0], client.security) == "OK"
    for address in (places[0], places[0].replace("tls", "tcp")):
        with pytest.raises(ConfigError, match="certificates"), open_client(address):
            pass


def call(address: str, security: Any) -> Any:
    """Ask a scheduler or worker who it is, in a loop of its own."""
    core = pytest.importorskip("distributed.core")

    async def ask() -> Any:
        options = security.get_connection_args("client") if security else {}
        async with core.rpc(address, connection_args=options, timeout=2) as other:
            return (await other.identity())["id"] and "OK"

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("address", "opened"),
    [
        ("tcp://10.0.0.1:8786", True),
        ("tcp://[2001:db8::1]:8786", True),
        ("tcp://127.0.0.1:8786", False),
        ("tcp://[::1]:8786", False),
        ("tls://10.0.0.1:8786", False),
    ],
)
def test_an_open_scheduler_is_told(
    address: str, opened: bool, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def there(*_: object) -> Iterator[Any]:
        yield SimpleNamespace(scheduler=SimpleNamespace(address=address))

    monkeypatch.setattr(dask_engine, "open_client", there)
    said = CliRunner().invoke(
        app,
        ["encode", str(source), "--output", str(source.parent / "serial"),
         "--engine", "dask", "--scheduler", address],
    )  # fmt: skip
    assert ("asks for no key" in said.stderr) == opened


def test_the_documented_slurm_job_runs(own_cache: Path, tmp_path: Path) -> None:
    """As written, but for ``srun``, which here starts at most two processes."""
    guide = Path(__file__).parents[2] / "docs" / "scale.md"
    job = guide.read_text("utf-8").split("## On SLURM")[1].split("```")[1]
    (tmp_path / "srun").write_text(
        "trap 'kill $(jobs -p)' TERM\n"
        'for i in $(seq $(($3 > 2 ? 2 : $3))); do "${@:4}" & done; wait; wait'
    )
    (tmp_path / "srun").chmod(0o700)
    (tmp_path / ".cache").symlink_to(own_cache)
    (tmp_path / "molecules.csv").write_text("smiles,logp\nCCO,-0.1\nCC,1.0\n")
    places = [str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]]
    done = subprocess.run(
        ["bash", "-c", job.removeprefix("bash\n")],
        env={**os.environ, "PATH": os.pathsep.join(places), "SLURM_JOB_ID": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert "encoded 2 graphs" in done.stdout, done.stderr
    manifest = json.loads((tmp_path / "shards" / "manifest.json").read_text())
    assert [shard["graphs"] for shard in manifest["files"]] == [2]
