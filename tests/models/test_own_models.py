"""Models and messages of one's own: registered, trained, saved, loaded, refused."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.nn.helpers import SPEC, dressed
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.nn import global_add_pool

from sekgnn.errors import ConfigError, ModelFileError
from sekgnn.graphs import cycle_graph, path_graph, petersen_graph
from sekgnn.models import (
    GIN,
    MODELS,
    SEKGIN,
    GraphModel,
    HopEncoder,
    build_model,
    load_model,
    register_model,
    save_model,
)
from sekgnn.models.networks import gin_encoder
from sekgnn.models.options import (
    ModelKind,
    ModelOptions,
    describe_models,
    shown_default,
)
from sekgnn.nn import MESSAGES, Csr, HopLoader, SEKConv, csr_sum, register_message
from sekgnn.parameters import parameter
from sekgnn.training.config import RunConfig


class Net(nn.Module):
    """A module for a plain PyG loop."""

    def __init__(self, in_channels: int, out_channels: int, num_hops: int = 2) -> None:
        super().__init__()
        self.conv = SEKConv(in_channels, out_channels, num_hops)

    def forward(self, b: Any) -> Tensor:
        out: Tensor = self.conv(b.x.float(), b.hop_edge_index, b.hop_order)
        pooled: Tensor = global_add_pool(out, b.batch)
        return pooled


class Two(GraphModel):
    """Branches of one's own, and an option of one's own."""

    def __init__(self, in_channels: int, out_channels: int, *, width: int = 5,
                 **more: Any) -> None:  # fmt: skip
        super().__init__(in_channels, out_channels, hidden_channels=width, **more)

    def encoders(self, options: ModelOptions) -> list[nn.Module]:
        one = replace(options, num_hops=1)
        return [HopEncoder(self.in_channels, one), HopEncoder(self.in_channels, one)]


@pytest.fixture
def own() -> Iterator[None]:
    register_model("net")(Net)
    register_model("two")(Two)
    yield
    for name in ("net", "two"):
        MODELS.forget(name)


@pytest.mark.usefixtures("own")
def test_a_module_is_a_model_like_others(tmp_path: Path) -> None:
    """From PyG's batches and ours the same; its config and file come back."""
    items = dressed([petersen_graph(), path_graph(5), cycle_graph(6)])
    config = {"model": "net", "in_channels": 3, "out_channels": 2, "num_hops": 3}
    model = build_model(config).eval()
    assert model.to_config() == config
    assert repr(model).startswith("Net(in_channels=3, out_channels=2, num_hops=3)")
    (ours,) = HopLoader(items, 3, num_hops=3)
    expected = model(Batch.from_data_list(items))
    torch.testing.assert_close(model(ours), expected)
    save_model(model, tmp_path / "net")
    torch.testing.assert_close(load_model(tmp_path / "net")(ours), expected)
    with pytest.raises(ConfigError, match="'num_hops'"):
        build_model({**config, "hops": 3})


@pytest.mark.usefixtures("own")
def test_a_subclass_says_its_branches_and_has_all_options(tmp_path: Path) -> None:
    model = Two(3, 2, width=4, jump="sum", dropout=0.25)
    names = list(inspect.signature(Two).parameters)
    assert names[:3] == ["in_channels", "out_channels", "width"] and "fusion" in names
    again = build_model(model.to_config())
    assert again.options == model.options and again.to_config()["width"] == 4
    (data,) = dressed([petersen_graph()])
    data.x = data.x.float()
    save_model(model.eval(), tmp_path / "two")
    assert torch.equal(load_model(tmp_path / "two")(data), model(data))
    with pytest.raises(ConfigError, match="'dropout'"):
        Two(3, 2, drop_out=0.1)


@dataclass(frozen=True)
class Twice(ModelOptions):
    """An option that nobody else has."""

    times: int = parameter(2, "how many branches there are", low=1, high=9)


class Many(GraphModel):
    """As many GINs."""

    options: Twice

    def encoders(self, options: Twice) -> list[nn.Module]:
        return [gin_encoder(self.in_channels, options, 0) for _ in range(options.times)]


def test_a_described_model_brings_options_of_its_own() -> None:
    """In its signature, documentation, config and file, and in the keys of a run."""
    kind = ModelKind((), {}, {"num_hops": 1, "jump": "last"}, Twice, edges=False)
    describe_models(__name__, {"many": kind})
    try:
        cls = register_model("many")(Many)
        assert inspect.signature(cls).parameters["times"].default == 2
        assert "How many branches there are (default 2)" in str(cls.__doc__)
        model = cls(3, 2, times=4, hidden_channels=4)
        assert len(model.branches) == 4 and model.options.times == 4
        assert build_model(model.to_config()).options == model.options
        config = RunConfig.from_dict({"model": "many", "times": 3})
        assert dict(config.model_options) == {"times": 3}
        assert RunConfig.from_dict(config.to_dict()) == config
        for wrong in ({"times": 10}, {"times": 0.5}, {"time": 1}):
            with pytest.raises(ConfigError, match="time"):
                cls(3, 2, **wrong)
            with pytest.raises(ConfigError, match="time"):
                RunConfig.from_dict({"model": "many", **wrong})
        with pytest.raises(ConfigError, match="times"):
            GIN(3, 2, times=2)
    finally:
        MODELS.forget("many")


def test_loading_never_imports_code(tmp_path: Path) -> None:
    register_model("net")(Net)
    model = build_model({"model": "net", "in_channels": 3, "out_channels": 2})
    save_model(model, tmp_path / "net")
    MODELS.forget("net")
    with pytest.raises(ModelFileError, match="Import"):
        load_model(tmp_path / "net")


def test_names_are_taken_once_and_only_modules_are_models() -> None:
    with pytest.raises(ConfigError, match=r"'gin' of .*Net is taken"):
        register_model("gin")(Net)
    with pytest.raises(ConfigError, match="must extend"):
        register_model("function")(test_loading_never_imports_code)
    assert MODELS["gin"] is GIN


def test_signatures_and_help_come_from_the_options() -> None:
    known = inspect.signature(SEKGIN).parameters
    assert known["num_layers"].default == 3 and "message" not in known
    assert known["encoding"].default is inspect.Parameter.empty
    assert inspect.signature(GIN).parameters["jump"].default == "last"
    assert "how the outputs of layers are joined" in str(SEKGIN.__doc__).lower()
    assert shown_default("message") == "gin; gine_plus for k-gin"
    with pytest.raises(ConfigError, match="'fusion'"):
        GIN(3, 2, fusion="mean")


def test_models_can_be_copied_and_pickled() -> None:
    model = SEKGIN(3, 2, SPEC, hidden_channels=4)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.to_config() == model.to_config()
        assert repr(other) == repr(model)


@pytest.fixture
def messages() -> Iterator[None]:
    @register_message("plain")
    def plain(z: Tensor, hops: Csr, k: int) -> Tensor:
        return z + csr_sum(z, hops.hop(k))

    @register_message("scaled")
    class Scaled(nn.Module):
        def __init__(self, channels: int, num_hops: int) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(num_hops, channels))

        def forward(self, z: Tensor, hops: Csr, k: int) -> Tensor:
            return z + self.scale[k - 1] * hops.sum(z, k)

    yield
    for name in ("plain", "scaled"):
        MESSAGES.forget(name)


@pytest.mark.usefixtures("messages")
def test_own_messages_do_what_gin_does() -> None:
    """With epsilon 0 and scale 1 all three are the same layer."""
    (data,) = dressed([petersen_graph()])
    results = []
    for name in ("gin", "plain", "scaled"):
        torch.manual_seed(0)
        layer = SEKConv(3, 4, 2, message=name).double()
        results.append(layer(data.x, data.hop_edge_index, data.hop_order))
    torch.testing.assert_close(results[1], results[0])
    torch.testing.assert_close(results[2], results[0])
    assert [n for n, _ in layer.named_parameters() if "scale" in n]
    with pytest.raises(ConfigError, match="edge features"):
        SEKConv(3, 4, 2, message="plain", edge_channels=2)
    with pytest.raises(ConfigError, match="'plain'"):
        SEKConv(3, 4, 2, message="plan")
