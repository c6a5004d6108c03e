"""How well languages are heard and foretold.

    python bench/languages.py [--webs FOLDER] [--manual FOLDER] [--write]

Short texts are the translations inside Django's package, which pip downloads. The manual is that of
the Apache web server in eleven languages, much of it left in English: ``apt-get install apache2-doc``,
then /usr/share/doc/apache2-doc/manual. The recorded webs are files of JSON lines
(libreoffice-help-tr.jsonl.gz and others). What is not given is left out. ``--write`` writes
docs/reference/languages.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import foretell

from honeyguide.languages.detection import COMMON_LANGUAGES, LanguageDetector, primary_code
from honeyguide.parse.read import parse_page
from honeyguide.types import Link, Page, Response, Url

DJANGO = "django==5.2.*"
PAGE = Path("docs/reference/languages.md")
ASCII = str.maketrans("çğıöşüÇĞİÖŞÜâîû", "cgiosuCGIOSUaiu")
SHOWN = ("tr", "tr in ASCII", "az", "en", "de", "uz", "tk")
SIZES = {"2 or 3 words": (2, 3), "4 to 8 words": (4, 8), "more words": (9, 99)}
_ENTRY = re.compile(r'^msgid ((?:"[^\n]*"\n)+)msgstr ((?:"[^\n]*"\n)+)', re.MULTILINE)
_HOLES = re.compile(r"%\(\w+\)[sd]|%[sd]|\{[^}]*\}|<[^>]*>|&\w+;|\\.")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--webs", type=Path, help="folder of recorded webs")
    parser.add_argument("--manual", type=Path, help="folder of the Apache manual")
    parser.add_argument("--wheel", type=Path, help="Django's package, if it is here already")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    parts = [cost(), short_texts(texts_of(chosen.wheel))]
    webs: dict[str, dict[Url, foretell.Known]] = {}
    if chosen.manual:
        webs["Apache manual"] = {
            page.url: foretell.Known(page, primary_code(page.language))
            for page in manual(chosen.manual)
        }
    for name in ("libreoffice-help-tr", "artroplasti-org-tr", "uci-ics-2019-small"):
        if chosen.webs and (file := chosen.webs / f"{name}.jsonl.gz").exists():
            webs[name] = dict(recorded(file, 3_000))
    if webs:
        parts += [pages(webs), foretell.report(webs)]
    text = "\n".join(parts)
    if chosen.write:
        mark = "<!-- measured -->"
        PAGE.write_text(PAGE.read_text().partition(mark)[0] + f"{mark}\n\n{text}")
    else:
        sys.stdout.write(text)


def cost() -> str:
    def resident() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

    ear, before, began = LanguageDetector(("tr",)), resident(), time.process_time()
    ear.detect_text("Bir iki söz, dinlemeye başlamak için.")
    took, room = time.process_time() - began, resident() - before
    text = "\n".join(
        f"Bu, {n}. satır; sayfanın uzunca bir metni olsun diye yazıldı." for n in range(99)
    )
    page = Page(Url("https://example.org/"), text=text)
    best = min(_timed(ear, page) for _ in range(20))
    return (
        f"## Cost\n\nThe model is read at the first page: {took:.1f} s of CPU, {room:.0f} MB of memory."
        f" A page of {len(text):,} characters takes {best * 1e3:.2f} ms of CPU.\n"
    )


def _timed(ear: LanguageDetector, page: Page) -> float:
    began = time.process_time()
    for _ in range(50):
        ear.detect_page(page)
    return (time.process_time() - began) / 50


def texts_of(wheel: Path | None) -> dict[str, list[str]]:
    """Texts by language, of Django's translations."""
    with tempfile.TemporaryDirectory() as folder:
        if wheel is None:
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                DJANGO,
                "-d",
                folder,
            ]
            subprocess.run(command, check=True)
            wheel = next(Path(folder).glob("*.whl"))
        texts: dict[str, dict[str, None]] = defaultdict(dict)
        with zipfile.ZipFile(wheel) as package:
            for name in package.namelist():
                if not name.endswith(".po"):
                    continue
                code = primary_code(name.split("/locale/")[1].split("/")[0])
                for told, said in _ENTRY.findall(package.read(name).decode()):
                    told, said = _joined(told), _joined(said)
                    if told and said and said != told and len(said.split()) > 1:
                        texts[code][said] = None
                        if code == "tr":
                            texts["en"][told] = None
    found = {code: list(some) for code, some in texts.items()}
    found["tr in ASCII"] = [text.translate(ASCII) for text in found["tr"]]
    return found


def _joined(quoted: str) -> str:
    text = "".join(line.strip()[1:-1] for line in quoted.splitlines())
    return " ".join(_HOLES.sub(" ", text).split())


def short_texts(texts: dict[str, list[str]]) -> str:
    ear = LanguageDetector(("tr",))
    lines = ["## Short texts", ""]
    bins: dict[int, list[bool]] = defaultdict(list)
    taken: Counter[str] = Counter()
    for size, (least, most) in SIZES.items():
        lines += [
            f"**{size}**",
            "",
            "| written in | texts | detected as | wanted |",
            "|---|---|---|---|",
        ]
        for name in SHOWN:
            some = [text for text in texts.get(name, []) if least <= len(text.split()) <= most]
            heard = [ear.detect_text(text) for text in some]
            counts = Counter(tongue.code or "no telling" for tongue in heard)
            told = " · ".join(f"{code} {n / len(some):.3f}" for code, n in counts.most_common(4))
            wanted = sum(t.code == "tr" and ear.is_wanted(t) for t in heard) / max(len(some), 1)
            lines.append(f"| {name} | {len(some)} | {told} | {wanted:.3f} |")
        lines.append("")
    for code, some in sorted(texts.items()):
        for text in some[:150] if code in COMMON_LANGUAGES else ():
            tongue = ear.detect_text(text)
            if tongue.code:
                bins[min(int(tongue.confidence * 10), 9)].append(tongue.code == code)
            if code != "tr":
                taken[code] += tongue.code == "tr" and ear.is_wanted(tongue)
    lines += [
        f"Of up to 150 such texts in each of {len(COMMON_LANGUAGES & texts.keys())} common languages, how many that"
        " were heard with some certainty were heard right:",
        "", "| sure | texts | right |", "|---|---|---|",
    ]  # fmt: skip
    for step, right in sorted(bins.items()):
        share = sum(right) / len(right)
        lines.append(f"| {step / 10:.1f} to {step / 10 + 0.1:.1f} | {len(right)} | {share:.3f} |")
    wrongly = ", ".join(f"{code} {n}" for code, n in taken.most_common(5) if n)
    return "\n".join(
        [*lines, "", f"Other languages' texts taken for wanted ones: {wrongly or 'none'}.", ""]
    )


def page_of(url: str, body: bytes, charset: str = "utf-8") -> Page:
    head = (("content-type", f"text/html; charset={charset}"),)
    answer = Response(Url(url), 200, head, body, body, b"", b"", "", 0.0, 0.0)
    return parse_page(answer, Link(Url(url)))


def manual(folder: Path) -> Iterator[Page]:
    for file in sorted(folder.rglob("*.html")):
        yield page_of(f"https://manual.example/docs/{file.relative_to(folder)}", file.read_bytes())


def recorded(file: Path, most: int) -> Iterator[tuple[Url, foretell.Known]]:
    with gzip.open(file, "rt") as lines:
        for _, line in zip(range(most), lines, strict=False):
            row = json.loads(line)
            body = row["html"].encode(row["charset"], "replace")
            page = page_of(row["url"], body, row["charset"])
            yield page.url, foretell.Known(page, row.get("lang", "").replace("unk", ""))


def pages(webs: dict[str, dict[Url, foretell.Known]]) -> str:
    ear = LanguageDetector(("tr",))
    lines = ["## Pages", "", "What pages declare is withheld here, except in the last column.", ""]
    lines += [
        "| web | stated | pages | detected as | wanted | with `html lang` |",
        "|---|---|---|---|---|---|",
    ]
    for web, known in webs.items():
        groups: dict[str, list[Page]] = defaultdict(list)
        for page, stated in known.values():
            groups[stated].append(page)
        for stated, some in sorted(groups.items(), key=lambda group: -len(group[1]))[:8]:
            heard = [ear.detect_page(replace(page, language="")) for page in some]
            declared = sum(ear.is_wanted(ear.detect_page(page)) for page in some) / len(some)
            counts = Counter(tongue.code or "no telling" for tongue in heard)
            told = " · ".join(f"{code} {n / len(some):.3f}" for code, n in counts.most_common(3))
            wanted = sum(map(ear.is_wanted, heard)) / len(some)
            lines.append(
                f"| {web} | {stated or 'nothing'} | {len(some)} | {told} | {wanted:.3f} | {declared:.3f} |"
            )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
