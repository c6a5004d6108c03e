"""Fuzz the studio's API with schemathesis; fails on any answer of 500 and above, and on any that
is not as the schema says.

    python -m venv /tmp/schema && /tmp/schema/bin/pip install schemathesis
    python tools/fuzz_studio.py FOLDER --with /tmp/schema/bin/schemathesis [--examples 50]

FOLDER holds collections that may be spoilt: work on a copy. The names of collections are put into
the schema, because a guessed one is never there. Seeds are not tested: that would fetch whatever
addresses the fuzzer comes up with.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance"
)
LEFT_OUT = ("/api/seeds", "/api/c/{name}/events")
"""The one would fetch from the web, the other never ends."""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--with", dest="program", default="schemathesis")
    parser.add_argument("--examples", default="50")
    options, more = parser.parse_known_args()
    command = [sys.executable, "-m", "honeyguide", "serve", str(options.folder), "--json"]
    with (
        tempfile.TemporaryFile("w+") as log,
        tempfile.NamedTemporaryFile("w", suffix=".json") as file,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as studio,
    ):
        assert studio.stdout is not None
        try:
            said = json.loads(studio.stdout.readline())
            address, token = f"http://127.0.0.1:{said['port']}", said["token"]
            json.dump(described(address, token), file)
            file.flush()
            done = subprocess.run([
                options.program, "run", file.name, "--url", address,
                "-H", f"Authorization: Bearer {token}", "-H", "X-Honeyguide: 1", "--checks", CHECKS,
                "--phases", "examples,coverage,fuzzing",
                "-n", options.examples, "--continue-on-failure", "--warnings", "off", *more,
            ])  # fmt: skip
        finally:
            studio.terminate()
            studio.wait(60)
        log.seek(0)
        said = log.read()
        if "Traceback" in said:
            print(said)
            return 1
        return done.returncode


def described(address: str, token: str) -> dict[str, Any]:
    """The schema, with the collections that there are."""

    def get(path: str) -> Any:
        request = urllib.request.Request(
            address + path, headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    schema: dict[str, Any] = get("/api/openapi.json")
    names = [row["name"] for row in get("/api/collections")]
    for path in LEFT_OUT:
        schema["paths"].pop(path, None)
    for each in schema["paths"].values():
        for operation in each.values():
            for parameter in operation["parameters"]:
                if parameter["in"] == "path" and parameter["name"] == "name":
                    parameter["schema"] = {"type": "string", "enum": names}
    return schema


if __name__ == "__main__":
    sys.exit(main())
