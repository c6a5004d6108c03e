"""``python -m honeyguide``"""

from honeyguide.cli.main import run

if __name__ == "__main__":
    run()
