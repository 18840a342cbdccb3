"""Let ``python -m unconfused`` be the command line."""

from unconfused.cli import main

if __name__ == "__main__":
    main()
