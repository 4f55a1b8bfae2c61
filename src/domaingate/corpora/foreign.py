"""Texts of another kind: numbers, code, gibberish, marks, nothing. Whoever tells their language should not be sure."""

import random
import string
from collections.abc import Callable, Mapping, Sequence

_EACH = 50


def foreign_texts(seed: int = 0) -> Mapping[str, Sequence[str]]:
    """Fifty texts of each kind, the same for the same seed."""
    draw = random.Random(seed)
    return {kind: [make(draw) for _ in range(_EACH)] for kind, make in _KINDS.items()}


def _several(draw: random.Random, piece: Callable[[random.Random], str], least: int, most: int, join: str) -> str:
    return join.join(piece(draw) for _ in range(draw.randint(least, most)))


def _number(draw: random.Random) -> str:
    forms: Sequence[Callable[[], str]] = (
        lambda: str(draw.randint(0, 10**9)),
        lambda: f"{draw.uniform(-1e4, 1e4):.{draw.randint(1, 4)}f}",
        lambda: f"{draw.randint(1, 28):02}.{draw.randint(1, 12):02}.{draw.randint(1950, 2030)}",
        lambda: f"{draw.randint(0, 23):02}:{draw.randint(0, 59):02}",
        lambda: f"+{draw.randint(1, 99)} {draw.randint(10**6, 10**9)}",
        lambda: f"{draw.randint(1, 100)}%",
    )
    return draw.choice(forms)()


def _name(draw: random.Random) -> str:
    return "".join(draw.choices(string.ascii_lowercase, k=draw.randint(1, 3)))


def _statement(draw: random.Random) -> str:
    a, b, c = _name(draw), _name(draw), draw.randint(0, 99)
    forms = (
        f"{a} = {b}[{c}]",
        f"for(int {a}=0;{a}<{c};++{a}){{{b}[{a}]*={c};}}",
        f"def {a}({b}): return {b} ** {c}",
        f"#{draw.randrange(1 << 24):06x};",
        f"if ({a} >= 0x{c:x} && !{b}) {{ {a}--; }}",
        f"<{a} {b}='{c}'/>",
        f"$({a}).{b}(() => {{{c}}});",
        f"r{c % 16}: mov {a}, [{b}+{c}]",
    )
    return draw.choice(forms)


def _letters(draw: random.Random) -> str:
    return "".join(draw.choices(string.ascii_lowercase, k=draw.randint(2, 11)))


def _mark(draw: random.Random) -> str:
    return draw.choice("!?.,;:-_*+=/\\|()[]{}<>@#&^~'\"…—§°€$£😀👍🎉❤🚀") * draw.randint(1, 3)


_KINDS: dict[str, Callable[[random.Random], str]] = {
    "numbers": lambda draw: _several(draw, _number, 1, 12, " "),
    "code": lambda draw: _several(draw, _statement, 1, 8, "\n"),
    "gibberish": lambda draw: _several(draw, _letters, 1, 20, " "),
    "marks": lambda draw: _several(draw, _mark, 1, 20, " "),
    "digests": lambda draw: f"{draw.getrandbits(256):064x}",
    "nothing": lambda draw: " " * draw.randint(0, 3),
}
