"""A model made of its config, and in one file: config as JSON, safetensors.

The file is a safetensors file whose header carries the config and a SHA-256 of config
and weights, so that config and weights cannot be mixed up and no change of either goes
unnoticed. It is written all or nothing; reading it runs no code from it.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from sekgnn import fields
from sekgnn.checks import check_positive
from sekgnn.encoding.substructure import encoding_from_dict
from sekgnn.errors import ModelFileError
from sekgnn.files import write_atomically
from sekgnn.models.graph_inputs import hops_of
from sekgnn.models.graph_model import MODELS, GraphModel
from sekgnn.parameters import build
from sekgnn.parsing import parse_json

FORMAT = "sekgnn model"
FORMAT_VERSION = 1
"""Raise it when the layout of the file changes."""

_SPARE = 1 << 20  # values that a network may have beside those of its file


def build_model(config: Mapping[str, Any]) -> GraphModel:
    """Return a new model from ``model.to_config()`` or values like it.

    Raises:
        ConfigError: If the model or a key is unknown, or a value cannot work.

    Example:
        >>> build_model({"model": "gin", "in_channels": 3, "out_channels": 2}).level
        'graph'
    """
    cls = MODELS.known(config.get("model"))
    values = {key: value for key, value in config.items() if key != "model"}
    if isinstance(values.get("encoding"), Mapping):
        values["encoding"] = encoding_from_dict(values["encoding"])
    model = build(cls, f"model {cls.name!r}", values)  # type: ignore[attr-defined]
    return model if isinstance(model, GraphModel) else ModuleModel(model, values)


class ModuleModel(GraphModel):
    """A registered module of your own behind the interface of the other models.

    Args:
        module: The module.
        arguments: With which it was made.
    """

    def __init__(self, module: nn.Module, arguments: Mapping[str, Any]) -> None:
        nn.Module.__init__(self)
        self.module = module
        cls: Any = type(module)
        self.__dict__["name"] = cls.name
        bound = inspect.signature(cls).bind(**arguments)
        bound.apply_defaults()
        given = bound.arguments
        self.__dict__["arguments"] = given
        self.in_channels = given.get("in_channels", 0)
        self.out_channels = given.get("out_channels", 1)
        self.edge_channels = given.get("edge_channels", 0)
        self.graph_channels = given.get("graph_channels", 0)
        self.graph_scale = None
        self.hidden_channels = given.get("hidden_channels", 1)
        self.num_hops = check_positive("num_hops", given.get("num_hops", 1))
        self.encoding = given.get("encoding")
        self.level = given.get("level", "graph")
        self.skip = None

    def fit_inputs(self, batches: Callable[[], Iterable[Any]]) -> None:
        """Let the module fit itself, if it has a method of this name."""
        fit = getattr(self.module, "fit_inputs", None)
        if fit is not None:
            fit(batches)

    def forward(self, data: Any) -> Tensor:
        """Return the module's output for a batch whose hops are pairs."""
        if fields.HOPS in data and fields.HOP_EDGE_INDEX not in data:
            hops = hops_of(data, data.num_nodes, self.num_hops)
            pairs = [hops.pairs(k) for k in range(1, self.num_hops + 1)]
            data[fields.HOP_EDGE_INDEX] = torch.cat(
                [torch.stack([sender, receiver]) for receiver, sender in pairs], dim=1
            )
            data[fields.HOP_ORDER] = torch.cat(
                [torch.full_like(row, k + 1) for k, (row, _) in enumerate(pairs)]
            )
        out: Tensor = self.module(data)
        return out

    def __repr__(self) -> str:
        """The module's name and arguments, and the number of parameters."""
        return super().__repr__().replace("ModuleModel", type(self.module).__name__, 1)


def save_model(
    model: GraphModel,
    path: str | os.PathLike[str],
    about: Mapping[str, Any] | None = None,
    *,
    others: Sequence[GraphModel] = (),
) -> None:
    """Write a model's config and weights to ``path``, all or nothing.

    Args:
        model: Any registered model.
        path: The file; ``.safetensors`` is the usual suffix. Its folder must exist.
        about: Plain JSON values to keep beside the config, such as what the outputs
            mean; :func:`read_about` returns them.
        others: Further members of an ensemble; :func:`load_models` returns all.

    Raises:
        OutputError: If it cannot be written; an older file is then unchanged.
    """
    weights = {
        f"{_prefix(number)}{name}": tensor.detach().cpu().contiguous()
        for number, member in enumerate((model, *others))
        for name, tensor in member.state_dict().items()
    }
    header = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "config": json.dumps(model.to_config(), sort_keys=True),
    }
    if others:
        configs = [member.to_config() for member in others]
        header["others"] = json.dumps(configs, sort_keys=True)
    if about is not None:
        header["about"] = json.dumps(about, sort_keys=True)
    header["sha256"] = _digest(header, weights)
    content = _sorted_header(save(weights), header)
    write_atomically(path, lambda file: file.write(content))


def load_model(path: str | os.PathLike[str]) -> GraphModel:
    """Return the model in ``path``, in evaluation mode, on the CPU.

    Nothing is imported: a model, message or encoding of your own must have been
    registered before.

    Args:
        path: Written by :func:`save_model`.

    Raises:
        ModelFileError: If the file is missing, damaged, or of an unknown model.
    """
    models = load_models(path)
    if len(models) > 1:
        raise ModelFileError(
            f"{path} holds the {len(models)} networks of an ensemble; use load_models."
        )
    return models[0]


def load_models(path: str | os.PathLike[str]) -> list[GraphModel]:
    """Return all models in ``path``: one, or the members of an ensemble.

    Raises what :func:`load_model` does.
    """
    header, weights = _read(Path(path))
    _check(header, weights, path)
    configs = [_parsed(header, "config", dict, path)]
    if "others" in header:
        configs += _parsed(header, "others", list, path)
    models = []
    for number, config in reversed([*enumerate(configs)]):
        prefix = _prefix(number)  # of all weights that are left, for the first
        names = [name for name in weights if name.startswith(prefix)]
        member = {name.removeprefix(prefix): weights.pop(name) for name in names}
        models.append(_build(config, member, path))
    return models[::-1]


def read_about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what :func:`save_model` was told about the model.

    Raises:
        ModelFileError: If the file is missing, damaged, not a model file, or says
            nothing.
    """
    header, weights = _read(Path(path))
    _check(header, weights, path)
    if "about" not in header:
        raise ModelFileError(
            f"{path} holds a model without a task; it was not written by a run."
        )
    about: dict[str, Any] = _parsed(header, "about", dict, path)
    return about


def _sorted_header(content: bytes, metadata: dict[str, str]) -> bytes:
    """Return a safetensors file with metadata whose bytes are always the same.

    The library writes metadata in whatever order its hash table has.
    """
    end = 8 + int.from_bytes(content[:8], "little")
    tensors = json.loads(content[8:end])
    tensors.pop("__metadata__", None)
    values = {"__metadata__": dict(sorted(metadata.items())), **tensors}
    header = json.dumps(values, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # tensors begin at a multiple of 8
    return len(header).to_bytes(8, "little") + header + content[end:]


def _prefix(number: int) -> str:
    """Return how the names of the weights of a member begin."""
    return f"{number}/" if number else ""


def _build(
    config: dict[str, Any], weights: dict[str, Tensor], path: str | os.PathLike[str]
) -> GraphModel:
    """Return the model of a config with its weights."""
    try:
        model = _built(config, weights)
    except ModelFileError as error:
        raise ModelFileError(f"{path} is damaged: {error}.") from None
    except (ValueError, TypeError, AttributeError, RuntimeError, MemoryError) as error:
        lines = str(error).splitlines()  # torch adds its frames to the first
        cause = lines[0] if lines else type(error).__name__
        raise ModelFileError(
            f"{path} holds a config that cannot be built here: {cause}"
        ) from error
    _fill(model, weights, path)
    return model.eval()


def _built(config: dict[str, Any], weights: dict[str, Tensor]) -> GraphModel:
    """Return the model of a config, whose tensors first take no memory.

    A layer is counted when it is there, which is too late for one of a few GB.
    """
    try:
        with torch.device("meta"), _no_larger_than(weights):
            build_model(config)
    except ModelFileError:
        raise
    except Exception:  # told below, unless code of your own reads what has no values
        pass
    with _no_larger_than(weights):
        return build_model(config)


def _read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Return header and weights of a safetensors file."""
    try:
        with safe_open(str(path), framework="pt") as file:
            header = dict(file.metadata() or {})
            weights = {name: file.get_tensor(name) for name in file.keys()}
    except FileNotFoundError as error:
        raise ModelFileError(f"there is no file {path}.") from error
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(
            f"{path} is damaged, or not a safetensors file: {error}"
        ) from error
    return header, weights


def _check(
    header: dict[str, str], weights: dict[str, Tensor], path: str | os.PathLike[str]
) -> None:
    """Raise ModelFileError unless a file is as it was written."""
    if header.get("format") != FORMAT or "config" not in header:
        raise ModelFileError(f"{path} was not written by sekgnn: its header says so.")
    if header.get("format_version") != str(FORMAT_VERSION):
        raise ModelFileError(
            f"{path} has format {header.get('format_version')}, this version reads "
            f"{FORMAT_VERSION}; load it with the version that wrote it."
        )
    if _digest(header, weights) != header.get("sha256"):
        raise ModelFileError(
            f"{path} is damaged: config and weights do not match their checksum; "
            "get the file again."
        )


def _parsed(
    header: dict[str, str], key: str, kind: type, path: str | os.PathLike[str]
) -> Any:
    """Return the JSON value of a part of the header."""
    try:
        found = parse_json(header[key])
    except ValueError as error:
        raise ModelFileError(
            f"{path} is damaged: its {key} is not valid JSON ({error})."
        ) from error
    if not isinstance(found, kind):
        word = "an object" if kind is dict else "a list"
        raise ModelFileError(f"{path} is damaged: its {key} is not {word}.")
    return found


@contextmanager
def _no_larger_than(weights: dict[str, Tensor]) -> Iterator[None]:
    """Stop the building of a network as soon as it outgrows its weights.

    A config may claim any number of layers; what it makes is counted while it is made.

    Raises:
        ModelFileError: If there is more to fill than there are weights.
    """
    values = _SPARE + sum(tensor.numel() for tensor in weights.values())
    tensors = modules = 0
    most_tensors, most_modules = 2 * len(weights) + 64, 64 * (len(weights) + 64)

    def grown(module: nn.Module, name: str, part: Any) -> None:
        nonlocal values, tensors, modules
        if isinstance(part, Tensor):
            tensors += 1
            values -= part.numel()
        else:
            modules += 1
        if values < 0 or tensors > most_tensors or modules > most_modules:
            raise ModelFileError(
                f"its config describes a network that is larger than its {len(weights)}"
                " tensors of weights"
            )

    hooks = [
        register_module_parameter_registration_hook(grown),
        register_module_buffer_registration_hook(grown),
        register_module_module_registration_hook(grown),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _fill(
    model: GraphModel, weights: dict[str, Tensor], path: str | os.PathLike[str]
) -> None:
    """Put the weights into the model, all of them and nothing else."""
    wanted = model.state_dict()
    missing = sorted(wanted.keys() - weights.keys())
    unknown = sorted(weights.keys() - wanted.keys())
    shapes = [
        f"{name} {list(weights[name].shape)} for {list(wanted[name].shape)}"
        for name in sorted(wanted.keys() & weights.keys())
        if weights[name].shape != wanted[name].shape and name not in model.data_sized
    ]
    for what, names in (
        ("lacks", missing),
        ("also has", unknown),
        ("has another shape of", shapes),
    ):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            raise ModelFileError(
                f"{path} does not fit its config: it {what} "
                f"{', '.join(names[:3])}{more}."
            )
    kinds = {t.dtype for t in weights.values() if t.is_floating_point()}
    if len(kinds) == 1:
        model.to(kinds.pop())
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:  # sizes that the data decides may contradict
        reason = str(error).strip().split("\n")[-1].strip()
        raise ModelFileError(f"{path} does not fit its config: {reason}.") from error


def _digest(header: dict[str, str], weights: dict[str, Tensor]) -> str:
    """Return the SHA-256 of config, names, types, shapes and values."""
    digest = hashlib.sha256(header["config"].encode())
    if "about" in header:
        digest.update(f"\0{header['about']}".encode())
    if "others" in header:
        digest.update(f"\0\0{header['others']}".encode())
    for name in sorted(weights):
        tensor = weights[name]
        digest.update(f"\n{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        flat = tensor.contiguous().reshape(-1).view(torch.uint8)
        digest.update(flat.numpy().data)
    return digest.hexdigest()
