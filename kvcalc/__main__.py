"""The program: arguments in, exit code out."""

import gc
import sys


def run() -> None:
    """The `kvcalc` command."""
    gc.disable()  # importing makes no garbage, and looking for it takes a tenth of the start
    from kvcalc.cli.main import main

    gc.freeze()  # what was imported stays
    gc.enable()
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
