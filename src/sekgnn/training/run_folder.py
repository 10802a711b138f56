"""A run's config, from presets, files and flags, and the folder that keeps to it."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError, OutputError, ResumeWarning
from sekgnn.files import visible_names, write_files
from sekgnn.parsing import parse_yaml
from sekgnn.training.config import RunConfig, config_fields

CONFIG_FILE = "config.yaml"
DATA_FILE = "data.sha256"
FOLD_FILE = "fold.json"
MODEL_FILE = "model.safetensors"
CHECKPOINT_FILE = "last.ckpt"
CURVES_FILE = "metrics.csv"
_LOCK_FILE = ".lock"
_THREADS_FILE = ".threads"
_OWN_KEYS = ("model", "message", "encoding")
_PRESETS = Path(__file__).with_name("presets")
PLAIN = "plain"
PRESET_NAMES = (*sorted(file.stem for file in _PRESETS.glob("*.yaml")), PLAIN)
"""Of the presets of training, which lie beside this file; plain is none of them."""

# What is chosen for a table of molecules where nothing is said, by the trials of
# ``python -m studies.peers`` and ``results/defaults``. A sum over atoms grows with the
# molecule and fails on larger ones than those of training; the mean does not. Trees on
# descriptors are the strongest simple models of small tables, and err otherwise than
# networks do.
NETWORK: dict[str, Any] = {
    "readout": "mean", "dropout": 0.1, "optimizer": "adamw", "lr": 0.002,
    "weight_decay": 0.01, "schedule": "cosine", "epochs": 60,
}  # fmt: skip
"""Of one network, for any number of molecules."""
BLEND: dict[str, Any] = {"ensemble": 3, "blend": ["forest", "boosting"]}
MOST_BLENDED = 10_000
"""Molecules up to which several networks and trees are affordable."""
# Chosen for links of one graph, by the trials of ``docs/huge_graph.md``. Three layers,
# hops of ten nodes and batches of 64 pairs reach the whole of a graph of 50,000 nodes,
# batch after batch, and never come to learn.
LINKS: dict[str, Any] = {
    "num_layers": 2, "max_neighbors": 5, "batch_size": 512, "lr": 0.005,
    "schedule": "cosine",
}  # fmt: skip
LINK_MODEL = "gin"
"""Where nothing is said of model or encoding: walks between the two nodes of a pair,
which all models read, say most, and encodings of 50,000 nodes take minutes."""
_LINK_STEPS = 1000  # at least, where 100 epochs have as many
_INSTEAD = {
    "model", "optimizer", "grid", "encoding", "refit", "keep", "start_from", "devices",
    "num_machines", "closed_form", "protocol",
}  # fmt: skip
"""Keys of a user who knows what to train: nothing is chosen beside them."""
_SHARED = {"add_hydrogens", "stereo", "features", "descriptors", "ensemble", "blend"}
"""Keys that a run shares with the one it starts from, beside those of the model."""


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the keys in a YAML file.

    Raises:
        ConfigError: If it cannot be read or is not a mapping of keys to values.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        values = parse_yaml(text)
    except OSError as error:
        raise ConfigError(f"cannot read the config {path}: {error.strerror}.") from None
    except ValueError as error:
        raise ConfigError(f"the config {path} is not valid YAML: {error}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"the config {path} must hold lines such as 'epochs: 100'.")
    return values


def load_preset(name: str) -> dict[str, Any]:
    """Return the config keys of a preset.

    Raises:
        ConfigError: If there is none of this name; lists those there are.

    Example:
        >>> load_preset("small")["schedule"]
        'cosine'
    """
    check_choice("preset", name, PRESET_NAMES)
    return {} if name == PLAIN else read_config(_PRESETS / f"{name}.yaml")


def load_config(
    base: str | os.PathLike[str] | RunConfig | None,
    changes: Mapping[str, Any],
    preset: str | Mapping[str, Any] | None = None,
) -> RunConfig:
    """Return a config, or that of a YAML file or the default one, with other keys.

    A file imports nothing; of ``changes``, which a user typed, ``package.module:Class``
    is imported (:func:`import_typed`). Both change the keys of ``preset``, whose
    ``refit`` is left out where nothing can be refitted: with another protocol, or if
    the best epoch is kept.

    Raises:
        ConfigError: If the file, a key or the preset is wrong.
    """
    if isinstance(base, RunConfig):
        if preset is not None:
            raise ConfigError(
                "a RunConfig has a value for every key, so a preset would change "
                "nothing; give preset with a YAML file, or with keys alone."
            )
        values: Mapping[str, Any] = base.to_dict()
    else:
        values = {} if base is None else read_config(base)
    both = [*values.items(), *import_typed(changes).items()]
    own = {str(k).replace("-", "_"): v for k, v in both}
    if preset is None:
        return RunConfig.from_dict(own)
    begun = load_preset(preset) if isinstance(preset, str) else preset
    keys = {**begun, **own}
    validates = keys.get("protocol", "holdout") in ("holdout", "nested")
    if "refit" not in own and not (validates and keys.get("keep") == "last"):
        keys.pop("refit", None)
    return RunConfig.from_dict(keys)


def molecule_defaults(
    config: RunConfig, given: Collection[str]
) -> tuple[dict[str, Any], str]:
    """Return keys for the molecules that a config names, and what they make, in words.

    Nothing for other data, and where the given keys say how to train.
    """
    from sekgnn.graphs.records import graph_format
    from sekgnn.graphs.table import data_rows

    given = {name.replace("-", "_") for name in given}
    path = Path(config.data)
    if given & _INSTEAD or not path.is_file():
        return {}, ""
    if path.suffix == ".smi" or graph_format(path) != "smiles":
        return {}, ""
    hint = "Name the one with the SMILES with smiles (--smiles)."
    count = sum(1 for _ in data_rows(path, [config.smiles], hint))
    if count > MOST_BLENDED:
        return dict(NETWORK), f"{count:,} molecules: one network"
    trees = " and ".join(BLEND["blend"])
    return {**NETWORK, **BLEND}, (
        f"{count:,} molecules: {BLEND['ensemble']} networks blended with {trees}; "
        f"--preset {PLAIN} for one network"
    )


def link_defaults(
    config: RunConfig, given: Collection[str]
) -> tuple[dict[str, Any], str]:
    """Return keys for the links that a config names, and what they make, in words.

    Nothing for other data, and where the given keys say how to train.
    """
    from sekgnn.datasets.node_task import HELD_OUT
    from sekgnn.graphs.graph_file import read_graph_file

    given = {name.replace("-", "_") for name in given}
    stays = not config.has_epochs or given & (_INSTEAD - {"model", "encoding"})
    if stays or config.things != "pairs" or not Path(config.data).is_file():
        return {}, ""
    sections = {item.name: item.metadata["section"] for item in config_fields()}
    chosen = dict(LINKS)
    if not any(sections.get(name, "model") in ("model", "encoding") for name in given):
        chosen["model"] = LINK_MODEL
    edges = read_graph_file(config.data, check=False).graph.num_edges
    batches = max(int(2 * HELD_OUT * edges) // LINKS["batch_size"], 1)
    chosen["epochs"] = min(max(_LINK_STEPS // batches, 5), 100)
    chosen = {name: value for name, value in chosen.items() if name not in given}
    words = ", ".join(f"{name} {value}" for name, value in chosen.items())
    return chosen, (
        f"links among {edges:,} edges: {words}; --preset {PLAIN} for other data's"
    )


def chosen_config(
    base: str | os.PathLike[str] | RunConfig | None,
    keys: Mapping[str, Any],
    preset: str | None = None,
) -> tuple[RunConfig, str]:
    """Return the config of a run, and a sentence about what was chosen for it, if any.

    A run that starts from another (``start_from``) has its architecture, where nothing
    else is given.

    Takes and raises what :func:`load_config` does.
    """
    if isinstance(base, RunConfig):
        return load_config(base, keys, preset), ""
    given = {**({} if base is None else read_config(base)), **keys}
    start = given.get("start_from", given.get("start-from"))
    if start is not None:
        begun = {**_architecture(start), **load_preset(preset or PLAIN)}
        return load_config(base, keys, begun), ""
    config = load_config(base, keys, preset)
    if preset is not None:
        return config, ""
    chosen, words = molecule_defaults(config, given)
    if not chosen:
        chosen, words = link_defaults(config, given)
    return (load_config(base, keys, chosen), words) if chosen else (config, "")


def _architecture(run: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what the networks of a run are and read; nothing of a model file alone."""
    file = Path(run) / CONFIG_FILE
    if not file.is_file():
        return {}
    sections = {item.name: item.metadata["section"] for item in config_fields()}
    return {
        name: value
        for name, value in RunConfig.from_dict(read_config(file)).to_dict().items()
        if sections.get(name) in ("model", "encoding") or name in _SHARED
    }


def import_typed(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys that a user typed, with what they import by its registered name.

    Raises:
        ConfigError: If it cannot be imported, or is something else.
    """
    return {
        key: own_names()[key].find(value).name if _is_path(key, value) else value
        for key, value in keys.items()
    }


def check_imported(keys: Mapping[str, Any]) -> None:
    """Raise ConfigError if keys of a file name what would have to be imported."""
    for key, value in keys.items():
        if _is_path(key, value):
            own_names()[key].known(value)


def own_names() -> dict[str, Any]:
    """Return what is known by name, for every key that a user's own may be named in."""
    from sekgnn.encoding.substructure import ENCODINGS
    from sekgnn.models.graph_model import MODELS
    from sekgnn.nn.messages import MESSAGES

    return {"model": MODELS, "message": MESSAGES, "encoding": ENCODINGS}


def _is_path(key: str, value: object) -> bool:
    """Return whether a key's value is an import path; quick, it loads no torch."""
    return key in _OWN_KEYS and isinstance(value, str) and ":" in value


def json_yaml(keys: Mapping[str, Any]) -> str:
    """Return keys as YAML, one per line; values are JSON, which is YAML, too."""
    lines = (f"{k}: {json.dumps(v, ensure_ascii=False)}" for k, v in keys.items())
    return "\n".join(lines)


def write_config(config: RunConfig, folder: Path) -> None:
    """Write ``config.yaml`` to a run's folder."""
    text = yaml.safe_dump(config.to_dict(), sort_keys=False, allow_unicode=True)
    write_files(folder, {CONFIG_FILE: text.encode()})


def fold_folders(folder: Path, count: int) -> list[Path]:
    """Return the folders of a run's folds; a single one needs none of its own."""
    return [folder] if count == 1 else _numbered(folder, "fold", count)


def member_folders(folder: Path, count: int) -> list[Path]:
    """Return the folders of the networks of a training; one needs none of its own."""
    return [folder] if count == 1 else _numbered(folder, "member", count)


def point_folders(folder: Path, count: int) -> list[Path]:
    """Return where a training tries the points of a grid; they go when it ends."""
    return _numbered(folder, "point", count)


def _numbered(folder: Path, word: str, count: int) -> list[Path]:
    width = max(2, len(str(count)))  # their order is that of their names
    return [folder / f"{word}-{i:0{width}d}" for i in range(1, count + 1)]


def check_same_config(config: RunConfig, folder: Path) -> None:
    """Raise ConfigError if the folder holds a run of another config, or no run."""
    names = visible_names(folder)
    if not names:
        return
    if CONFIG_FILE not in names:
        raise ConfigError(
            f"{folder} is neither a run folder nor empty (it holds {names[0]}); choose "
            "another output."
        )
    other = RunConfig.from_dict(read_config(folder / CONFIG_FILE))
    different = config.differences(other)
    if different:
        shown = ", ".join(
            f"{name} ({getattr(other, name)!r} there, {getattr(config, name)!r} here)"
            for name in different[:3]
        )
        raise ConfigError(
            f"{folder} holds a run of another config: {shown}. Choose another output, "
            "or continue that run with its own config.yaml."
        )


def check_same_data(fingerprint: str, folder: Path) -> None:
    """Raise ConfigError if the run was begun with other data; else note these."""
    file = folder / DATA_FILE
    if not file.is_file():
        write_files(folder, {DATA_FILE: fingerprint.encode()})
    elif file.read_bytes() != fingerprint.encode():
        raise ConfigError(
            f"the data has changed since the run in {folder} was begun; choose another "
            "output, or put the data back."
        )


class FolderInUseError(ConfigError):
    """Another process is at work in a run's folder."""


def is_in_use(folder: Path) -> bool:
    """Tell whether a process holds a run's folder at this moment."""
    if not (folder / _LOCK_FILE).is_file():
        return False
    try:
        with locked(folder):
            return False
    except FolderInUseError:
        return True


def note_threads(count: int, folder: Path) -> list[int]:
    """Add to the numbers of threads a run was trained with so far, and return them.

    The order of additions, and with it the last digits of all numbers, depends on it.

    Warns:
        ResumeWarning: If there were others before.

    Raises:
        OutputError: If the note cannot be written.
    """
    file = folder / _THREADS_FILE
    try:
        before = [int(word) for word in file.read_text("utf-8").split()]
    except (OSError, ValueError):  # none yet, or not ours to trust
        before = []
    if before and before[-1] != count:
        text = (
            f"the run in {folder} was begun with --threads {before[-1]} and goes on "
            f"with {count}: its numbers may differ in the last digits from those of a "
            "run that was not interrupted."
        )
        warnings.warn(text, ResumeWarning, stacklevel=3)
    if not before or before[-1] != count:
        before.append(count)
        write_files(folder, {_THREADS_FILE: " ".join(map(str, before)).encode()})
    return before


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a run's folder, which must exist, for this process alone.

    The lock belongs to the process: it is gone when the process is, however it ends.

    Raises:
        FolderInUseError: If another process holds it.
        ConfigError: If it holds links.
        OutputError: If the folder cannot be written to.
    """
    visible_names(folder)
    path = folder / _LOCK_FILE
    try:
        file = path.open("a+b")
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror}.") from error
    with file:
        try:
            _lock(file.fileno())
        except OSError:
            raise FolderInUseError(
                f"{folder} is in use by another process; wait for it, or choose "
                "another output."
            ) from None
        yield


def _lock(descriptor: int) -> None:
    """Take an exclusive lock at once, or raise ``OSError``."""
    if os.name == "nt":  # pragma: no cover
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
