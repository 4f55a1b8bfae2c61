"""The map of the house: each file is a room, and a room imports from earlier rooms only."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import domaingate

SOURCE = Path(domaingate.__file__).parent
PROJECT = SOURCE.parent.parent

ROOMS = [
    "errors", "config",
    "corpora.document", "corpora.files", "corpora.formats", "corpora.tables", "corpora.langid",
    "corpora.sentiment", "corpora.vader", "corpora.synthetic", "corpora.foreign",
    "corpora.download", "corpora.fetch", "corpora.catalogue", "corpora",
    "metrics", "calibration", "storage",
    "protocol", "cleaning", "ngrams", "encoding",
    "batches",
    "model", "model.distributions", "model.objective", "model.reader", "model.channels", "model.bags", "model.readers",
    "model.gates", "model.base", "model.recipes",
    "inference",
    "optimizer", "training",
    "artifact",
    "predictor",
    "evaluation", "baselines",
    "experiment",
    "figures", "diagnostics", "inspection", "card", "streaming",
    "estimator", "pace", "bench",
    "ledger", "study", "looks", "trial", "reproduction",
    "comparison", "layout", "story", "scoreboard", "plots", "report",
    "terminal", "cli", "__main__",
]  # fmt: skip
EXTRAS = ("pyarrow", "fastapi", "uvicorn", "ray", "py3langid", "langid")
FILES = {"pathlib", "os", "io", "shutil", "tempfile", "json", "glob", "gzip", "safetensors"}


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
FRONT_DOOR = ""  # domaingate/__init__.py: the version, and the estimator when it is asked for
INSIDE = {name: tree for name, tree in MODULES.items() if name != FRONT_DOOR}


def imported(tree):
    """All that a module imports, at its top or inside of a function, as dotted names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner.removeprefix("domaingate.") in MODULES else node.module


def rooms_of(tree):
    return {name.removeprefix("domaingate.") for name in imported(tree) if name.startswith("domaingate.")}


def packages_of(tree):
    return {name.split(".")[0] for name in imported(tree)} - {"domaingate"}


def test_every_room_has_its_place():
    """Is there a module that the list above does not place, or a place without a module?"""
    assert len(ROOMS) == len(set(ROOMS))
    assert set(INSIDE) == set(ROOMS)


@pytest.mark.parametrize("room", INSIDE)
def test_a_room_imports_from_earlier_rooms_only(room):
    """Does data flow one way?"""
    later = [other for other in rooms_of(INSIDE[room]) if ROOMS.index(other) >= ROOMS.index(room)]
    assert not later, f"{room} stands before {', '.join(later)}"


def test_the_front_door_is_light():
    """Does `import domaingate` load neither torch nor scikit-learn?"""
    assert loaded_by("domaingate").isdisjoint({"torch", "sklearn", "numpy", "tokenizers"})


def loaded_by(module):
    """The packages in memory after importing a module in a new process."""
    code = f"import sys, {module}; print(' '.join({{name.split('.')[0] for name in sys.modules}}))"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("room", [room for room in ROOMS if room.startswith("corpora") or room == "protocol"])
def test_text_as_found_knows_no_tensors(room):
    """Do corpora and protocol do without torch?"""
    assert packages_of(INSIDE[room]).isdisjoint({"torch", "safetensors", "sklearn", "tokenizers"})


def test_reading_and_dividing_load_no_torch():
    """Not even through somebody else?"""
    assert "torch" not in loaded_by("domaingate.corpora, domaingate.protocol")


@pytest.mark.parametrize("room", [room for room in ROOMS if room.startswith("model")])
def test_the_mathematics_knows_no_files(room):
    """Does the model open nothing and know no text?"""
    assert packages_of(INSIDE[room]).isdisjoint(FILES | {"tokenizers"})
    assert rooms_of(INSIDE[room]).isdisjoint({"storage", "encoding", "protocol", "corpora", "corpora.document"})
    assert not any(isinstance(node, ast.Name) and node.id == "open" for node in ast.walk(INSIDE[room]))


@pytest.mark.parametrize("room", INSIDE)
def test_nothing_is_pickled(room):
    """Is a model folder data, never code?"""
    tree = INSIDE[room]
    assert packages_of(tree).isdisjoint({"pickle", "joblib", "cloudpickle", "dill", "marshal", "shelve"})
    on_torch = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "torch"
    }
    assert on_torch.isdisjoint({"save", "load"})


def test_only_the_reader_knows_of_convolution():
    """Is a reader a seam: does nobody but its own module, the base class and the bench name what it is made of?"""
    for room, tree in INSIDE.items():
        if rooms_of(tree) & {"model.channels", "model.bags"}:
            assert room in ("model.readers", "bench")  # bench measures that very reader
    names = {node.id for node in ast.walk(INSIDE["model.recipes"]) if isinstance(node, ast.Name)}
    assert "ConvolutionalReader" not in names


def test_every_package_that_is_imported_is_declared():
    """Does `pip install` bring all that is imported?"""
    if not (PROJECT / "pyproject.toml").is_file():
        pytest.skip("the package is installed without its project file")
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    declared = {re.match(r"[\w-]+", one)[0].replace("scikit-learn", "sklearn") for one in required}
    used = set().union(*(packages_of(tree) for tree in MODULES.values())) - sys.stdlib_module_names
    assert used <= declared


def test_all_rooms_open_without_the_extras():
    """Does every module import where nothing optional is installed?"""
    modules = ", ".join(f"domaingate.{name}" for name in INSIDE if name != "__main__")
    blocked = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS!r}))"
    subprocess.run([sys.executable, "-c", f"{blocked}; import domaingate, {modules}"], check=True)
