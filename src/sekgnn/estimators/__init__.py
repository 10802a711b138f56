"""Networks in scikit-learn's conventions, over lists of graphs."""

from sekgnn.estimators.sek_estimators import SEKClassifier, SEKRegressor

__all__ = ["SEKClassifier", "SEKRegressor"]
