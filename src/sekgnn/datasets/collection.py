"""What all datasets of this room have in common: a fixed list of items."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from torch_geometric.data import Data

T = TypeVar("T")


class Collection(Sequence[T]):
    """An immutable sequence of items that can become PyG data.

    Args:
        items: The items, in order.
    """

    def __init__(self, items: Iterable[T]) -> None:
        """Keep the items."""
        self._items = tuple(items)

    def __len__(self) -> int:
        """Number of items."""
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        """Return item ``index``, or a list for a slice."""
        if isinstance(index, slice):
            return list(self._items[index])
        return self._items[index]

    @abstractmethod
    def to_pyg(self) -> list[Data]:
        """Return one PyG ``Data`` per graph, with ``x``, ``y`` and ``num_nodes``."""

    def __repr__(self) -> str:
        """Name and size."""
        return f"{type(self).__name__}({len(self)})"
