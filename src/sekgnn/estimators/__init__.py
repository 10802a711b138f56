"""Networks in scikit-learn's conventions, over lists of graphs."""

from sekgnn.graphs.extras import require

require("sklearn", "sklearn")

from sekgnn.estimators.sek_estimators import SEKClassifier, SEKRegressor  # noqa: E402

__all__ = ["SEKClassifier", "SEKRegressor"]
