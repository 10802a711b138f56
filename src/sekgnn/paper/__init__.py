"""The paper's tables again: the runs behind them, their queue, and what came out."""
