"""The program: arguments in, exit code out."""

import gc
import sys


def run() -> None:
    """The `kvcalc` command."""
    gc.disable()  # importing makes no garbage, and looking for it takes a tenth of the start
    try:
        from kvcalc.cli.main import main

        gc.freeze()  # what was imported stays
        gc.enable()
        gc.set_threshold(50_000)  # answers are trees without cycles: rarely looking for garbage finds it all the same
        code = main(sys.argv[1:])
    except KeyboardInterrupt:  # while importing
        sys.stderr.write("kvcalc: interrupted\n")
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    run()
