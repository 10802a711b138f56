"""What is known of the models that SEK-GNN is compared with; loads no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sekgnn.models.options import About, ModelKind, describe_models


def _kernel(
    *parts: str,
    paper: str,
    equation: str,
    bound: str,
    defaults: Mapping[str, Any] | None = None,
) -> ModelKind:
    """Return the kind of a kernel machine."""
    return ModelKind(
        ("kernel", *parts),
        defaults or {},
        {"num_hops": 1},
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
            ("jump", "towers"),
            {"jump": "last"},
            {"num_hops": 1},
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
            ("sort",),
            {"num_layers": 4, "hidden_channels": 32, "head": "mlp"},
            {"num_hops": 1},
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
            ("hops", "combine", "jump", "paths"),
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
            ("hops", "combine", "jump", "paths"),
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
            ("hops", "inner", "jump"),
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
            ("hops", "jump", "base"),
            {"jump": "concat"},
            {"combine": "sum"},
            about=About(
                "ego-nets",
                "Zhang and Li, NeurIPS 2021",
                "h_v = mean_{u in S_v} GNN(ego-net of v)_u",
                "subgraph",
                (3,),
            ),
        ),
        "deep-lrp": ModelKind(
            ("hops", "jump", "orderings"),
            {"num_hops": 1, "jump": "sum"},
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
            ("capsules",),
            {"hidden_channels": 8, "num_layers": 2},
            {"num_hops": 1},
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
            "colours",
            paper="Shervashidze et al., JMLR 2011",
            equation="k(G, H) = Σ_r Σ_c n_rc(G) n_rc(H), n counts of colours of 1-WL",
            bound="1wl",
        ),
        "wwl": _kernel(
            "colours",
            "distance",
            paper="Togninalli et al., NeurIPS 2019",
            equation="k = exp(-γ W), W = Σ_r Σ_c |p_rc(G) - p_rc(H)| / 2(R+1)",
            bound="1wl",
        ),
        "fgw": _kernel(
            "colours",
            "distance",
            "transport",
            paper="Vayer et al., ICML 2019",
            equation="k = exp(-γ min_π Σ ((1-α) m_uw + α (d_uv - d_wz)²) π_uw π_vz); "
            "a local minimum, which depends on the order of nodes",
            bound="isomorphism",
        ),
        "retgk": _kernel(
            "returns",
            "distance",
            paper="Zhang et al., NeurIPS 2018",
            equation="k = exp(-γ ‖μ_G - μ_H‖), μ mean maps of return probabilities",
            bound="2fwl",
        ),
        "gntk": _kernel(
            "tangent",
            "jump",
            defaults={"jump": "concat"},
            paper="Du et al., NeurIPS 2019",
            equation="k = Σ_uw Θ(u, w), the tangent kernel of a GIN of infinite width",
            bound="1wl",
        ),
    },
)
