"""Whole-number weights at whole-number places, and their sums up to any place, in O(log m) steps.

A B+-tree: exact at any size, since Python's whole numbers are, and so the same in whatever order it was
filled. A sorted list would have to move O(m) entries, a list of running sums to rewrite them.

Pure: standard library only.
"""

from bisect import bisect_right

# The width trades the cost of a question (a sum over half of it) against the number of levels: a million
# different places need at most 4.
WIDTH = 64

# Both sums go in one number, so that each level costs one addition: the product above, the weight below.
_SHIFT = 64
_WEIGHT = (1 << _SHIFT) - 1

# Further than any place.
_BEYOND = 1 << 256


class _Leaf:
    """Places in ascending order, none of them twice, and the sums at each."""

    __slots__ = ("places", "sums")

    def __init__(self, places: list[int], sums: list[int]) -> None:
        self.places = places
        self.sums = sums

    def split(self) -> "tuple[int, _Leaf]":
        """Move the upper half into a new leaf; give the least place of that one too."""
        middle = len(self.places) // 2
        right = _Leaf(self.places[middle:], self.sums[middle:])
        del self.places[middle:], self.sums[middle:]
        return right.places[0], right


class _Branch:
    """Children in ascending order, the least place of each but the first, and the sums of each."""

    __slots__ = ("children", "lows", "sums")

    def __init__(self, lows: list[int], children: "list[_Node]", sums: list[int]) -> None:
        self.lows = lows
        self.children = children
        self.sums = sums

    def split(self) -> "tuple[int, _Branch]":
        """Move the upper half into a new branch; give the least place of that one too."""
        middle = len(self.children) // 2
        low = self.lows[middle - 1]
        right = _Branch(self.lows[middle:], self.children[middle:], self.sums[middle:])
        del self.lows[middle - 1 :], self.children[middle:], self.sums[middle:]
        return low, right

    def adopt(self, own: int, low: int, right: "_Node") -> None:
        """Take in the upper half of the child at `own`, which was split."""
        moved = sum(right.sums)
        self.sums[own] -= moved
        self.sums.insert(own + 1, moved)
        self.lows.insert(own, low)
        self.children.insert(own + 1, right)


_Node = _Leaf | _Branch


class PrefixSums:
    """Weights at places: `add` one, or sum all those `up_to` a place, in O(log m) for m different places.

    Every node but the root is at least half full, so that `depth` is at most 2 + log(m / 32, 32), and a step
    down handles at most WIDTH numbers. The last answer is kept, with the places between which it holds: a
    question that moves little from time to time is mostly answered at once.
    """

    __slots__ = ("_from", "_product", "_root", "_to", "_weight", "count")

    def __init__(self) -> None:
        self._root: _Node = _Leaf([], [])
        # The answer for every place in [_from, _to).
        self._weight = 0
        self._product = 0
        self._from = 0
        self._to = _BEYOND
        self.count = 0

    def add(self, place: int, weight: int) -> None:
        """Add a weight at a place, both 0 or more: all weights together below 2^64, places below 2^256."""
        product = place * weight
        sums = (product << _SHIFT) + weight
        self.count += 1
        if place <= self._from:
            self._weight += weight
            self._product += product
        elif place < self._to:
            self._to = place
        node = self._root
        while isinstance(node, _Branch):
            own = bisect_right(node.lows, place)
            node.sums[own] += sums
            node = node.children[own]
        places = node.places
        own = bisect_right(places, place)
        if own and places[own - 1] == place:
            node.sums[own - 1] += sums
            return
        places.insert(own, place)
        node.sums.insert(own, sums)
        if len(places) > WIDTH:
            self._split(place)

    def up_to(self, place: int) -> tuple[int, int]:
        """Give the sums of the weights, and of the weights times their places, up to and with a place."""
        if not self._from <= place < self._to:
            self._answer_for(place)
        return self._weight, self._product

    @property
    def depth(self) -> int:
        """How many nodes `add` and `up_to` pass."""
        return 1 + len(self._path(0)[0])

    def _answer_for(self, place: int) -> None:
        path, leaf = self._path(place)
        before, following = 0, _BEYOND
        for branch, own in path:
            before += sum(branch.sums[:own])
            if own < len(branch.lows):
                following = branch.lows[own]
        own = bisect_right(leaf.places, place)
        answer = before + sum(leaf.sums[:own])
        self._weight, self._product = answer & _WEIGHT, answer >> _SHIFT
        self._from = leaf.places[own - 1] if own else place
        self._to = leaf.places[own] if own < len(leaf.places) else following

    def _path(self, place: int) -> tuple[list[tuple[_Branch, int]], _Leaf]:
        path = []
        node = self._root
        while isinstance(node, _Branch):
            own = bisect_right(node.lows, place)
            path.append((node, own))
            node = node.children[own]
        return path, node

    def _split(self, place: int) -> None:
        """Split the leaf of a place, and every branch above that is too wide then."""
        path, leaf = self._path(place)
        node: _Node = leaf
        while path:
            low, right = node.split()
            parent, own = path.pop()
            parent.adopt(own, low, right)
            if len(parent.children) <= WIDTH:
                return
            node = parent
        low, right = node.split()
        self._root = _Branch([low], [node, right], [sum(node.sums), sum(right.sums)])
