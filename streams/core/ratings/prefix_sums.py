"""Whole-number weights at whole-number values, and their sums up to any value, in O(log m) steps.

A B+-tree: exact at any size, since Python's whole numbers are, and so the same in whatever order it was
filled. A sorted list would have to move O(m) entries, a list of running sums to rewrite them.

Pure: standard library only.
"""

from bisect import bisect_right

# The width trades the cost of a question (a sum over half of it) against the number of levels: a million
# different values need at most 4.
WIDTH = 64

# Both sums go in one number, so that each level costs one addition: the product above, the weight below.
_SHIFT = 64
_WEIGHT = (1 << _SHIFT) - 1

# Further than any value.
_BEYOND = 1 << 256


class _Leaf:
    """Places in ascending order, none of them twice, and the sums at each."""

    __slots__ = ("sums", "values")

    def __init__(self, values: list[int], sums: list[int]) -> None:
        self.values = values
        self.sums = sums

    def split(self) -> "tuple[int, _Leaf]":
        """Move the upper half into a new leaf; return the least value of that one too."""
        middle = len(self.values) // 2
        right = _Leaf(self.values[middle:], self.sums[middle:])
        del self.values[middle:], self.sums[middle:]
        return right.values[0], right


class _Branch:
    """Children in ascending order, the least value of each but the first, and the sums of each."""

    __slots__ = ("children", "lows", "sums")

    def __init__(self, lows: list[int], children: "list[_Node]", sums: list[int]) -> None:
        self.lows = lows
        self.children = children
        self.sums = sums

    def split(self) -> "tuple[int, _Branch]":
        """Move the upper half into a new branch; return the least value of that one too."""
        middle = len(self.children) // 2
        low = self.lows[middle - 1]
        right = _Branch(self.lows[middle:], self.children[middle:], self.sums[middle:])
        del self.lows[middle - 1 :], self.children[middle:], self.sums[middle:]
        return low, right

    def adopt(self, index: int, low: int, right: "_Node") -> None:
        """Take in the upper half of the child at `own`, which was split."""
        moved = sum(right.sums)
        self.sums[index] -= moved
        self.sums.insert(index + 1, moved)
        self.lows.insert(index, low)
        self.children.insert(index + 1, right)


_Node = _Leaf | _Branch


class PrefixSums:
    """Weights at values: `add` one, or sum all those `up_to` a value, in O(log m) for m different values.

    Every node but the root is at least half full, so that `depth` is at most 2 + log(m / 32, 32), and a step
    down handles at most WIDTH numbers. The last answer is kept, with the values between which it holds: a
    question that moves little from time to time is mostly answered at once.
    """

    __slots__ = ("_from", "_product", "_root", "_to", "_weight", "count")

    def __init__(self) -> None:
        self._root: _Node = _Leaf([], [])
        # The answer for every value in [_from, _to).
        self._weight = 0
        self._product = 0
        self._from = 0
        self._to = _BEYOND
        self.count = 0

    def add(self, value: int, weight: int) -> None:
        """Add a weight at a value, both 0 or more: all weights together below 2^64, values below 2^256."""
        product = value * weight
        sums = (product << _SHIFT) + weight
        self.count += 1
        if value <= self._from:
            self._weight += weight
            self._product += product
        elif value < self._to:
            self._to = value
        node = self._root
        while isinstance(node, _Branch):
            index = bisect_right(node.lows, value)
            node.sums[index] += sums
            node = node.children[index]
        values = node.values
        index = bisect_right(values, value)
        if index and values[index - 1] == value:
            node.sums[index - 1] += sums
            return
        values.insert(index, value)
        node.sums.insert(index, sums)
        if len(values) > WIDTH:
            self._split(value)

    def up_to(self, value: int) -> tuple[int, int]:
        """Return the sums of the weights, and of the weights times their values, up to and with a value."""
        if not self._from <= value < self._to:
            self._answer_for(value)
        return self._weight, self._product

    @property
    def depth(self) -> int:
        """How many nodes `add` and `up_to` pass."""
        return 1 + len(self._path(0)[0])

    def _answer_for(self, value: int) -> None:
        path, leaf = self._path(value)
        before, following = 0, _BEYOND
        for branch, index in path:
            before += sum(branch.sums[:index])
            if index < len(branch.lows):
                following = branch.lows[index]
        index = bisect_right(leaf.values, value)
        answer = before + sum(leaf.sums[:index])
        self._weight, self._product = answer & _WEIGHT, answer >> _SHIFT
        self._from = leaf.values[index - 1] if index else value
        self._to = leaf.values[index] if index < len(leaf.values) else following

    def _path(self, value: int) -> tuple[list[tuple[_Branch, int]], _Leaf]:
        path = []
        node = self._root
        while isinstance(node, _Branch):
            index = bisect_right(node.lows, value)
            path.append((node, index))
            node = node.children[index]
        return path, node

    def _split(self, value: int) -> None:
        """Split the leaf of a value, and every branch above that is too wide then."""
        path, leaf = self._path(value)
        node: _Node = leaf
        while path:
            low, right = node.split()
            parent, index = path.pop()
            parent.adopt(index, low, right)
            if len(parent.children) <= WIDTH:
                return
            node = parent
        low, right = node.split()
        self._root = _Branch([low], [node, right], [sum(node.sums), sum(right.sums)])
