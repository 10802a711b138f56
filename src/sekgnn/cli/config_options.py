"""Every key of a run's config as a flag, made from the config itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sekgnn.cli.field_flags import name_and_value, with_flags
from sekgnn.training.config import PAIR_KEYS, RunConfig, config_fields

_TITLES = {
    "data": "Data",
    "protocol": "Protocol",
    "model": "Model",
    "encoding": "Encoding",
    "training": "Training",
    "machine": "Machine",
}

with_config_options = with_flags(
    [item for item in config_fields() if item.name != "data"],
    lambda item: _TITLES[item.metadata["section"]],
)
"""Give a command a flag per config key; ``data`` is the command's argument."""


def merged_config(
    data: str | None,
    file: Path | None,
    keys: dict[str, Any],
    preset: str | None = None,
) -> RunConfig:
    """Return a preset, changed by a file, changed by the argument and the flags given.

    Raises:
        ConfigError: If the file or a key is wrong.
    """
    from sekgnn.training.run_folder import load_config

    for name in PAIR_KEYS:
        if name in keys:
            flag = f"--{name.replace('_', '-')}"
            keys[name] = dict(name_and_value(flag, text) for text in keys[name])
    given = keys if data is None else {**keys, "data": data}
    return load_config(file, given, preset)
