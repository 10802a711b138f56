"""Descriptions of the models that SEK-GNN is compared with; loads no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sekgnn.checks import MOST_LEVELS
from sekgnn.models.options import About, ModelKind, ModelOptions, describe_models
from sekgnn.parameters import parameter

_VALIDATED = "chosen on validation graphs"


@dataclass(frozen=True)
class PNAOptions(ModelOptions):
    """Options of PNA."""

    towers: int = parameter(1, "towers of a PNA layer, which share its width", low=1)


@dataclass(frozen=True)
class DGCNNOptions(ModelOptions):
    """Options of DGCNN."""

    sort_nodes: int = parameter(
        30, "number of sorted nodes of a graph to read (DGCNN)", low=2
    )


@dataclass(frozen=True)
class KPGINOptions(ModelOptions):
    """Options of KP-GIN and KP-GIN+."""

    shortest_paths: bool = parameter(
        False, "give messages the number of shortest paths (KP-GIN)"
    )


@dataclass(frozen=True)
class GINAKOptions(ModelOptions):
    """Options of GIN-AK+."""

    inner_layers: int = parameter(
        2, "layers inside the ego-nets of one layer (GIN-AK+)", low=1
    )


@dataclass(frozen=True)
class NestedOptions(ModelOptions):
    """Options of the Nested GNN."""

    base: Literal["1", "1-2-3"] = parameter(
        "1", "sets of nodes that the network in an ego-net joins", Literal["1", "1-2-3"]
    )


@dataclass(frozen=True)
class LRPOptions(ModelOptions):
    """Options of Deep LRP."""

    order_size: int = parameter(
        3, "number of nodes of an ordering to read (Deep LRP)", low=1
    )


@dataclass(frozen=True)
class CapsOptions(ModelOptions):
    """Options of CapsGNN."""

    num_capsules: int = parameter(8, "capsules of a layer (CapsGNN)", low=1)


@dataclass(frozen=True)
class KernelOptions(ModelOptions):
    """Options of every kernel machine."""

    svm_c: float | None = parameter(
        None,
        "C of a support vector machine, over the mean of k(G, G)",
        shown=_VALIDATED,
        above=0,
    )


@dataclass(frozen=True)
class DistanceOptions(KernelOptions):
    """Options of kernels of distances."""

    gamma: float | None = parameter(
        None, "γ of a kernel exp(-γ d) of distances d", shown=_VALIDATED, above=0
    )


@dataclass(frozen=True)
class ColourOptions(KernelOptions):
    """Options of kernels of refined colours."""

    rounds: int | None = parameter(
        None,
        "rounds in which a kernel refines colours",
        shown=f"{_VALIDATED}; 2 for fgw",
        low=1,
        high=MOST_LEVELS,
    )


@dataclass(frozen=True)
class WWLOptions(ColourOptions, DistanceOptions):
    """Options of the Wasserstein kernel."""


@dataclass(frozen=True)
class FGWOptions(WWLOptions):
    """Options of the fused Gromov-Wasserstein kernel."""

    alpha: float = parameter(
        0.5, "weight of structure against colours in fgw, 0 to 1", above=0, high=1
    )


@dataclass(frozen=True)
class RetGKOptions(DistanceOptions):
    """Options of the kernel of return probabilities."""

    return_steps: int = parameter(
        50, "length of the walks of retgk", low=1, high=MOST_LEVELS
    )


@dataclass(frozen=True)
class GNTKOptions(KernelOptions):
    """Options of the tangent kernel."""

    blocks: int | None = parameter(
        None, "number of blocks of gntk", shown=_VALIDATED, low=1, high=MOST_LEVELS
    )
    mlp_layers: int = parameter(
        2, "layers of the perceptron of a gntk block", low=1, high=MOST_LEVELS
    )
    degree_scale: bool = parameter(
        True, "average over neighbours in gntk instead of summing them"
    )


def _kernel(
    options_type: type[KernelOptions],
    *parts: str,
    paper: str,
    equation: str,
    bound: str,
    defaults: Mapping[str, Any] | None = None,
) -> ModelKind:
    """Return the kind of a kernel machine."""
    return ModelKind(
        parts,
        defaults or {},
        {"num_hops": 1},
        options_type,
        network=False,
        edges=False,
        chooses="C and the kernel's parameters",
        about=About("kernel", paper, equation, bound, (2,)),
    )


describe_models(
    "sekgnn.paper.baselines",
    {
        "graphsage": ModelKind(
            ("jump",),
            {"jump": "last"},
            {"num_hops": 1},
            edges=False,
            about=About(
                "message passing",
                "Hamilton et al., NeurIPS 2017",
                "h'_v = W h_v + W' mean_u h_u",
                "1wl",
                (2,),
            ),
        ),
        "pna": ModelKind(
            ("jump",),
            {"jump": "last"},
            {"num_hops": 1},
            PNAOptions,
            about=About(
                "message passing",
                "Corso et al., NeurIPS 2020",
                "h'_v = U(h_v, [1, log(d+1)/δ, δ/log(d+1)] ⊗ [mean, min, max, std]_u "
                "M(h_v, h_u))",
                "1wl",
                (1,),
            ),
        ),
        "dgcnn": ModelKind(
            (),
            {"num_layers": 4, "hidden_channels": 32, "head": "mlp"},
            {"num_hops": 1},
            DGCNNOptions,
            lacks=("readout", "mlp"),
            edges=False,
            about=About(
                "message passing",
                "Zhang et al., AAAI 2018",
                "H' = tanh(D̃⁻¹ Ã H W); nodes sorted by the last channel; 1-D "
                "convolutions",
                "1wl",
                (2,),
            ),
        ),
        "graphsnn": ModelKind(
            ("jump",),
            {"jump": "concat"},
            {"num_hops": 1},
            edges=False,
            about=About(
                "message passing",
                "Wijesinghe and Wang, ICLR 2022",
                "h'_v = MLP(γ (1 + Σ_u ω_vu) h_v + Σ_u (1 + ω_vu) h_u), ω of "
                "overlapping ego-nets",
                "3fwl",
                (2,),
            ),
        ),
        "kp-gin": ModelKind(
            ("hops", "combine", "jump"),
            options_type=KPGINOptions,
            about=About(
                "K-hop",
                "Feng et al., NeurIPS 2022",
                "h'_v = COMBINE_k MLP_k((1+ε_k) h_v + Σ_{u in N_k(v)} h_u + p_v^k), "
                "p of peripheral edges",
                "sek",
                (2,),
            ),
        ),
        "kp-gin+": ModelKind(
            ("hops", "combine", "jump"),
            options_type=KPGINOptions,
            about=About(
                "K-hop",
                "Feng et al., NeurIPS 2022",
                "h'_v = MLP((1+ε) h_v + Σ_k θ_k (Σ_{u in N_k(v)} h_u^(L-k) + p_v^k))",
                "sek",
                (1, 3),
            ),
        ),
    },
)
describe_models(
    "sekgnn.paper.ego_models",
    {
        "gin-ak+": ModelKind(
            ("hops", "jump"),
            options_type=GINAKOptions,
            about=About(
                "ego-nets",
                "Zhao et al., ICLR 2022",
                "h'_v = h_v + MLP([z_v|v ‖ Σ_{u in S_v} σ(a_d) z_u|v ‖ Σ_{u: v in S_u} "
                "σ(b_d) z_v|u]), z = GIN(ego-net)",
                "2fwl",
                (1, 2),
            ),
        ),
        "nested-gnn": ModelKind(
            ("hops", "jump"),
            {"jump": "concat"},
            {"combine": "sum"},
            NestedOptions,
            about=About(
                "ego-nets",
                "Zhang and Li, NeurIPS 2021",
                "h_v = mean_{u in S_v} GNN(ego-net of v)_u",
                "subgraph",
                (3,),
            ),
        ),
        "deep-lrp": ModelKind(
            ("hops", "jump"),
            {"num_hops": 1, "jump": "sum"},
            options_type=LRPOptions,
            about=About(
                "ego-nets",
                "Chen et al., NeurIPS 2020",
                "h'_v = MLP(mean_π ReLU(Σ_a W_a h_π(a) + Σ_{a<b} W_ab A_π(a)π(b))), π "
                "an order of breadth-first search",
                "2fwl",
                (3,),
            ),
        ),
    },
)
describe_models(
    "sekgnn.paper.molecule_models",
    {
        "mpnn": ModelKind(
            (),
            {"readout": "set2set"},
            {"num_hops": 1},
            lacks=("mlp",),
            about=About(
                "molecules",
                "Gilmer et al., ICML 2017",
                "h'_v = GRU(ReLU(Σ_u A(e_uv) h_u), h_v), Set2Set",
                "1wl",
                (3,),
            ),
        ),
        "dtnn": ModelKind(
            (),
            {},
            {"num_hops": 1},
            lacks=("mlp",),
            edges=False,
            coordinates=True,
            about=About(
                "molecules",
                "Schütt et al., 2017",
                "c'_i = c_i + Σ_j tanh(W [(W_1 c_j + b_1) ∘ (W_2 d_ij + b_2)]), d of "
                "distances in space",
                None,
                (3,),
            ),
        ),
    },
)
describe_models(
    "sekgnn.paper.capsules",
    {
        "capsgnn": ModelKind(
            (),
            {"hidden_channels": 8, "num_layers": 2},
            {"num_hops": 1},
            CapsOptions,
            lacks=("readout", "head", "mlp"),
            edges=False,
            about=About(
                "message passing",
                "Xinyi and Chen, ICLR 2019",
                "s_j = Σ_i c_ij W_ij u_i of node capsules tanh(D̃^-½ Ã D̃^-½ H W), "
                "c by dynamic routing",
                "1wl",
                (2,),
            ),
        ),
    },
)
describe_models(
    "sekgnn.paper.kernel_machine",
    {
        "wl": _kernel(
            ColourOptions,
            paper="Shervashidze et al., JMLR 2011",
            equation="k(G, H) = Σ_r Σ_c n_rc(G) n_rc(H), n counts of colours of 1-WL",
            bound="1wl",
        ),
        "wwl": _kernel(
            WWLOptions,
            paper="Togninalli et al., NeurIPS 2019",
            equation="k = exp(-γ W), W = Σ_r Σ_c |p_rc(G) - p_rc(H)| / 2(R+1)",
            bound="1wl",
        ),
        "fgw": _kernel(
            FGWOptions,
            paper="Vayer et al., ICML 2019",
            equation="k = exp(-γ min_π Σ ((1-α) m_uw + α (d_uv - d_wz)²) π_uw π_vz); "
            "a local minimum, which depends on the order of nodes",
            bound="isomorphism",
        ),
        "retgk": _kernel(
            RetGKOptions,
            paper="Zhang et al., NeurIPS 2018",
            equation="k = exp(-γ ‖μ_G - μ_H‖), μ mean maps of return probabilities",
            bound="2fwl",
        ),
        "gntk": _kernel(
            GNTKOptions,
            "jump",
            defaults={"jump": "concat"},
            paper="Du et al., NeurIPS 2019",
            equation="k = Σ_uw Θ(u, w), the tangent kernel of a GIN of infinite width",
            bound="1wl",
        ),
    },
)
