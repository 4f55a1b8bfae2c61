"""Keep the README true: write the commands' help and check the file map. `--check` changes nothing and exits 1."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PACKAGE = ROOT / "src" / "domaingate"
COMMANDS = (
    (),
    ("corpus",),
    ("fit",),
    ("evaluate",),
    ("predict",),
    ("inspect",),
    ("reproduce",),
    ("report",),
    ("bench",),
)


def main() -> int:
    """Write or check."""
    text = README.read_text(encoding="utf-8")
    wanted = with_help(text)
    faults = [*map_faults(text), *path_faults(text)]
    if "--check" in sys.argv:
        if wanted != text:
            faults.append("the help text is not what the commands print; run `make format`")
    elif wanted != text:
        README.write_text(wanted, encoding="utf-8")
    for fault in faults:
        sys.stderr.write(f"README.md: {fault}\n")
    return bool(faults)


def with_help(text: str) -> str:
    """The README with the help of today between the markers."""
    blocks = "\n".join(f"```\n$ domaingate {' '.join([*words, '--help'])}\n{help_of(words)}```\n" for words in COMMANDS)
    return re.sub(
        r"(<!-- help -->\n).*(<!-- end of help -->)", lambda found: found[1] + blocks + found[2], text, flags=re.S
    )


def help_of(words: tuple[str, ...]) -> str:
    """What a command prints on a terminal of eighty columns."""
    command = [sys.executable, "-m", "domaingate", *words, "--help"]
    environment = {"COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1", "PATH": "", "PYTHONIOENCODING": "utf-8"}
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    return "\n".join(line.rstrip() for line in shown.replace("python -m domaingate", "domaingate").splitlines()) + "\n"


def map_faults(text: str) -> list[str]:
    """Modules that the file map leaves out, and lines of it without a file."""
    map_of_files = re.search(r"```\nsrc/domaingate/\n(.*?)```", text, re.S)
    if not map_of_files:
        return ["there is no file map"]
    named, folder = set(), ""
    for line in map_of_files[1].splitlines():
        indent, name = len(line) - len(line.lstrip()), line.split()[0]
        folder = name if name.endswith("/") else folder if indent > 2 else ""
        if not name.endswith("/"):
            named.add(folder + name)
    there = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
    return [f"the file map leaves out {name}" for name in sorted(there - named)] + [
        f"the file map names {name}, which is not there" for name in sorted(named - there)
    ]


def path_faults(text: str) -> list[str]:
    """Links to files that are not there."""
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    return [f"the link {link} leads nowhere" for link in links if not (ROOT / link).exists()]


if __name__ == "__main__":
    sys.exit(main())
