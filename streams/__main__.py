"""`python -m streams`: the command line."""

from streams.cli.main import main

if __name__ == "__main__":
    main()
