"""What the tests here may ask for."""

from tests.commands import told

__all__ = ["told"]
