"""The program `heldout`, also as `python -m heldout`: it minds Ctrl-C before it imports anything that takes time."""

import os
import sys


def main() -> int:
    """Run the command line; returns the exit code."""
    try:
        import signal

        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as in the background of a shell
            signal.signal(signal.SIGINT, _stop)
        from heldout.cli import main as run
    except KeyboardInterrupt:  # in the import of `signal` itself
        _stop(2, None)

    return run()


def _stop(number: int, frame: object) -> None:
    try:
        os.write(2, b"heldout: stopped.\n")
    finally:
        os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
