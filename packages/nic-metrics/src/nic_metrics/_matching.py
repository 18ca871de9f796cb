"""The cheapest assignment of rows to columns, each column taken at most once: the Hungarian method, in whole numbers."""

from collections.abc import Sequence


def cheapest(costs: Sequence[Sequence[int]]) -> list[int]:
    """Give each row a column of its own so that the sum of costs is the least.

    Takes rows² times columns steps.

    Args:
        costs: The cost of each column, for each row; at least as many columns as rows.

    Returns:
        The column of each row.
    """
    matching = _Matching(costs)
    for row in range(len(costs)):
        matching.place(row)
    columns = {row: column for column, row in matching.row_of.items()}
    return [columns[row] for row in range(len(costs))]


class _Matching:
    """The cheapest assignment of the rows placed so far, and the prices that prove it.

    A column costs a row no less than the row's and the column's price together, and exactly that where they are matched.
    """

    def __init__(self, costs: Sequence[Sequence[int]]) -> None:
        self._costs = costs
        self._row_price = [0] * len(costs)
        self._column_price = [0] * (len(costs[0]) if costs else 0)
        self.row_of: dict[int, int] = {}

    def place(self, row: int) -> None:
        """Match one more row: along the cheapest path over matched columns to a free one, whose rows then move on."""
        distance, came_from = self._over(row), dict.fromkeys(range(len(self._column_price)), -1)
        reached: dict[int, int] = {}
        while True:
            column = min((it for it in distance if it not in reached), key=distance.__getitem__)
            reached[column] = distance[column]
            if column not in self.row_of:
                break
            for other, over in self._over(self.row_of[column]).items():
                if other not in reached and reached[column] + over < distance[other]:
                    distance[other], came_from[other] = reached[column] + over, column
        self._raise_prices(row, reached, distance[column])
        while came_from[column] != -1:
            self.row_of[column] = self.row_of[came_from[column]]
            column = came_from[column]
        self.row_of[column] = row

    def _over(self, row: int) -> dict[int, int]:
        """Tell by how much each column costs the row more than both prices."""
        price = self._row_price[row]
        return {column: cost - price - self._column_price[column] for column, cost in enumerate(self._costs[row])}

    def _raise_prices(self, row: int, reached: dict[int, int], length: int) -> None:
        self._row_price[row] += length
        for column, distance in reached.items():
            self._column_price[column] -= length - distance
            if column in self.row_of:
                self._row_price[self.row_of[column]] += length - distance
