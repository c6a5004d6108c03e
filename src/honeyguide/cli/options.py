"""Arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Name = Annotated[
    Path, typer.Argument(metavar="NAME", help="The collection's folder.", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
