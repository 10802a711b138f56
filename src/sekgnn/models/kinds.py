"""Descriptions of the models of this library; loads no torch."""

from __future__ import annotations

from dataclasses import dataclass

from sekgnn.models.options import About, ModelKind, ModelOptions, describe_models
from sekgnn.parameters import parameter


@dataclass(frozen=True)
class ForestOptions(ModelOptions):
    """Options of a random forest, and of boosting."""

    n_estimators: int = parameter(
        300, "number of trees in a forest, or of rounds of boosting", low=1
    )
    max_depth: int | None = parameter(
        None, "largest depth of a tree", shown="unlimited", low=1
    )
    max_features: float | None = parameter(
        None,
        "share of the columns that a node of a forest tries",
        shown="as many as their square root",
        above=0,
        high=1,
    )
    min_samples_leaf: int = parameter(
        1, "smallest number of training rows in a leaf of a tree", low=1
    )


describe_models(
    "sekgnn.models.networks",
    {
        "sek-gin": ModelKind(
            ("hops", "combine", "inject", "encoding", "fusion", "skip", "jump"),
            fixed={"message": "gine_plus"},
            about=About(
                "K-hop",
                "Yao et al., KDD 2023",
                "[SEK-GNN with GINE+ ‖ GIN], one linear head",
                "sek",
                (1, 2, 3, 4, 5),
            ),
        ),
        "sek-ppgn": ModelKind(
            ("hops", "combine", "encoding", "fusion", "skip"),
            {"combine": "sum"},
            about=About(
                "pairs of nodes",
                "Yao et al., KDD 2023",
                "[one SEK layer (GIN) ‖ PPGN], one linear head",
                "sek2fwl",
                (1,),
            ),
        ),
        "sek-gnn": ModelKind(
            about=About(
                "K-hop",
                "Yao et al., KDD 2023",
                "h'_v = COMBINE_k UPDATE_k(MESSAGE_k(h_v, f_v, {(h_u, f_u): u in "
                "N_k(v)}))",
                "sek",
            )
        ),
        "k-gin": ModelKind(
            ("hops", "combine", "message", "skip", "jump"),
            {"message": "gine_plus"},
            about=About(
                "K-hop",
                "Brossard et al., 2020; Feng et al., NeurIPS 2022",
                "h'_v = MLP((1+ε) h_v + Σ_k θ_k Σ_{u in N_k(v)} ReLU(h_u^(L-k)))",
                "khop",
                (1,),
            ),
        ),
        "gin": ModelKind(
            ("skip", "jump"),
            {"jump": "last"},
            {"num_hops": 1, "combine": "sum"},
            about=About(
                "message passing",
                "Xu et al., ICLR 2019",
                "h'_v = MLP((1+ε) h_v + Σ_u h_u)",
                "1wl",
                (1, 2),
            ),
        ),
        "ppgn": ModelKind(
            (),
            fixed={"num_hops": 1},
            about=About(
                "pairs of nodes",
                "Maron et al., NeurIPS 2019",
                "X'_vu = σ(W_3 [X_vu ‖ Σ_w σ(W_1 X)_vw ∘ σ(W_2 X)_wu])",
                "2fwl",
                (1, 3),
            ),
        ),
        "ridge": ModelKind(
            ("encoding", "readout"),
            fixed={"num_hops": 1, "skip": True},
            network=False,
            chooses="the penalty",
            about=About(
                "closed form",
                "this library",
                "y = W pool_v [1, d_v, d_v²] ⊗ [1, f_v, x_v, Σ_u e_uv]",
                "sek",
            ),
        ),
    },
)
describe_models(
    "sekgnn.models.forest",
    {
        "forest": ModelKind(
            ("encoding",),
            fixed={"num_hops": 1},
            options_type=ForestOptions,
            network=False,
            about=About(
                "trees",
                "this library",
                "extremely randomised trees of pool_v [1, f_v, x_v, Σ_u e_uv]",
                "sek",
            ),
        ),
        "boosting": ModelKind(
            ("encoding",),
            {"n_estimators": 100, "min_samples_leaf": 20},
            fixed={"num_hops": 1},
            options_type=ForestOptions,
            network=False,
            about=About(
                "trees",
                "this library",
                "gradient-boosted trees of pool_v [1, f_v, x_v, Σ_u e_uv]",
                "sek",
            ),
        ),
    },
)
