"""A search so small that it takes seconds."""

from __future__ import annotations

import pytest

from sekgnn.datasets.graph_task import GraphTask
from sekgnn.paper import CountingDataset
from sekgnn.paper.counting import counting_data
from sekgnn.search.worker import Outcome, Report, Validation
from sekgnn.training.config import RunConfig

BASE = RunConfig(
    data="counting",
    target=("triangle",),
    model="gin",
    hidden_channels=8,
    num_layers=1,
    epochs=2,
    batch_size=16,
)


@pytest.fixture(scope="session")
def data() -> GraphTask:
    """Return 40 small graphs with their triangles."""
    return counting_data(CountingDataset.generated(num_graphs=40), ["triangle"])


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> list[RunConfig]:
    """Let a trial's value be a formula of its config; return the configs it saw."""
    seen: list[RunConfig] = []

    def value(
        self: Validation, config: RunConfig, report: Report | None = None
    ) -> Outcome:
        seen.append(config)
        objective = abs(config.lr - 0.03) + config.batch_size / 1000
        for epoch in range(1, config.epochs + 1):
            if report is not None:
                report(epoch, objective + 1 / epoch)
        return Outcome(objective, (1,), 10, 0.0)

    monkeypatch.setattr(Validation, "value", value)
    return seen
