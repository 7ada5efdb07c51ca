"""Read a file of JSON lines and parse each: the bound of `ladderlog rate`.

python bench/lines.py FILE
"""

import sys
from pathlib import Path

import orjson


def main() -> None:
    with Path(sys.argv[1]).open("rb") as lines:
        for line in lines:
            orjson.loads(line)


if __name__ == "__main__":
    main()
