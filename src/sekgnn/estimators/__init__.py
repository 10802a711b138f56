"""Networks in scikit-learn's conventions, over lists of graphs."""

from sekgnn.graphs.extras import require

require("sklearn", "sklearn")

from sekgnn.estimators.classifier import SEKClassifier  # noqa: E402
from sekgnn.estimators.regressor import SEKRegressor  # noqa: E402

__all__ = ["SEKClassifier", "SEKRegressor"]
