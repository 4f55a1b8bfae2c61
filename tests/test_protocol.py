"""Who may see what: halves, shares, held-out domains, and that nothing leaks from one part into another."""

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from domaingate.config import FitConfig
from domaingate.corpora.document import Corpus, Document
from domaingate.corpora.synthetic import MIXTURE
from domaingate.errors import DomainGateError
from domaingate.protocol import Parts, digest, divide, hide

SETS = ("train", "source_dev", "source_test", "target_dev", "target_test")


def divided(corpus, dev_share=0.1, seed=0, **options) -> Parts:
    return divide(corpus, FitConfig(**options, dev_share=dev_share, split_seed=seed))


def pile(counts, name="pile"):
    """A corpus of so many different texts of each (domain, label)."""
    documents = [
        Document(f"{domain} {label} {row}", label, domain)
        for (domain, label), count in counts.items()
        for row in range(count)
    ]
    return Corpus(name, documents)


def texts(documents):
    return {document.text for document in documents}


def contents(parts):
    return {name: Counter((d.text, d.label, d.domain) for d in getattr(parts, name)) for name in SETS}


UNEVEN = {
    ("tea", "good"): 21, ("tea", "bad"): 20, ("jam", "good"): 7, ("jam", "bad"): 8, ("oil", "good"): 100,
    ("oil", "bad"): 1, ("rye", "good"): 30, ("rye", "bad"): 33,
}  # fmt: skip


def test_one_half_alone_is_that_half_of_both():
    """Are the texts of F those whose domain --hide-domains 0.5 leaves, those of Y the others, dev parts the same?"""
    nothing_aside = {"dev_share": 0.2, "test_share": 0.0, "held_out": ("rye",)}
    both = divided(pile(UNEVEN), hide_domains=0.5, **nothing_aside)
    f, y = (divided(pile(UNEVEN), half=half, **nothing_aside) for half in ("F", "Y"))
    assert contents(f)["train"] == Counter((d.text, d.label, d.domain) for d in both.train if d.domain is not None)
    assert texts(y.train) == texts(d for d in both.train if d.domain is None)
    assert all(document.domain is not None for document in y.train)  # hiding them is another option's affair
    assert contents(f)["target_test"] == contents(both)["target_test"]
    assert texts(f.source_dev) == texts(y.source_dev) == texts(both.source_dev)


@pytest.mark.parametrize("share", [0.5, 0.0, 1.0, 0.1, 0.7, 1 / 3])
def test_halves_are_exact(share):
    """With half of the domains hidden and nothing set aside, are F and Y the paper's n - n//2 and n//2 a domain?"""
    parts = divided(pile(UNEVEN), dev_share=0.0, test_share=0.0, hide_domains=share)
    assert not parts.source_dev
    assert not parts.source_test
    known = Counter(document.domain for document in parts.train)
    for domain in ("tea", "jam", "oil", "rye"):
        n = sum(count for (name, _), count in UNEVEN.items() if name == domain)
        hidden = n // 2 if share == 0.5 else int(n * share + 1e-9)
        assert known[domain] == n - hidden
        of_the_domain = [document for document in parts.train if document.text.startswith(domain)]
        assert sum(document.domain is None for document in of_the_domain) == hidden
    assert all(document.label is not None for document in parts.train)
    assert parts.source_domains == ("jam", "oil", "rye", "tea")


def test_a_share_is_meant_as_the_decimal():
    """Is 0.7 of ten texts seven, whatever 0.7 is in binary?"""
    for tenths in range(11):
        documents = [Document(str(row), "a", "b") for row in range(10)]
        assert sum(document.domain is None for document in hide(documents, tenths / 10, 0, 0)) == tenths


def test_parts_have_their_shares():
    """Are a tenth of each domain and label test, a tenth dev, and the rest for training?"""
    parts = divided(pile({(d, y): 100 for d in "ab" for y in "xy"}), test_share=0.3, dev_share=0.1)
    for part, size in ((parts.source_test, 30), (parts.source_dev, 10), (parts.train, 60)):
        assert Counter((document.domain, document.label) for document in part) == {
            (d, y): size for d in "ab" for y in "xy"
        }


def test_held_out_domains_are_only_for_dev_and_test():
    """Is every held-out text in target-dev or target-test, 4 to 6, label by label, and nowhere else?"""
    parts = divided(pile(UNEVEN), held_out=("rye",))
    everything = {name: texts(getattr(parts, name)) for name in SETS}
    rye = {text for text in texts(pile(UNEVEN).documents) if text.startswith("rye")}
    assert everything["target_dev"] | everything["target_test"] == rye
    assert not rye & (everything["train"] | everything["source_dev"] | everything["source_test"])
    assert Counter(document.label for document in parts.target_dev) == {"good": 12, "bad": 13}
    assert parts.source_domains == ("jam", "oil", "tea")
    assert parts.test == parts.source_test + parts.target_test
    assert parts.set_aside == parts.train + parts.source_dev + parts.target_dev


def test_a_corpus_holds_out_by_its_own_convention(corpus):
    """Unless told otherwise, are a benchmark's held-out domains kept out, and with "" none?"""
    assert {document.domain for document in divided(corpus).target_test} == {MIXTURE}
    assert MIXTURE in divided(corpus, held_out=()).source_domains


@pytest.mark.parametrize("seed", range(5))
def test_no_text_is_in_two_parts(seed):
    """Is no text in two parts, also where texts stand in several domains, with several labels, and several times?"""
    draw = random.Random(seed)
    words = [f"text {row}" for row in range(60)]
    documents = [
        Document(draw.choice(words), draw.choice(["x", "y", None]), draw.choice(["a", "b", "c", "d", None]))
        for _ in range(600)
    ]
    parts = divided(Corpus("twins", documents), seed=seed, dev_share=0.2, test_share=0.3, held_out=("c", "d"))
    for place, name in enumerate(SETS):
        for other in SETS[:place]:
            assert not texts(getattr(parts, name)) & texts(getattr(parts, other)), (name, other)


def test_a_text_of_a_training_and_a_held_out_domain_is_tested_once():
    """Does a text that both test parts would hold stand in one of them only?"""
    documents = [Document(f"text {row}", "xy"[row % 2], domain) for row in range(40) for domain in ("here", "there")]
    parts = divided(
        Corpus("twins", documents), dev_share=0.0, test_share=0.5, target_dev_share=0.0, held_out=("there",)
    )
    assert parts.source_test
    assert not texts(parts.source_test) & texts(parts.target_test)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_lines_does_not_matter(seed):
    """Do the same documents in another order make the same parts?"""
    corpus = pile(UNEVEN)
    shuffled = random.Random(seed).sample(corpus.documents, len(corpus.documents))
    options = {"hide_domains": 0.5, "hide_labels": 0.3, "held_out": ("jam",), "seed": 4}
    assert contents(divided(corpus, **options)) == contents(divided(Corpus("pile", shuffled), **options))


def test_nor_does_it_among_twins():
    """Is the same true where one text stands in several domains and with several labels?"""
    documents = [
        Document(f"text {row}", label, domain) for row in range(31) for label in "xy" for domain in ("a", "b", "c")
    ]
    backwards = Corpus("twins", documents[::-1])
    options = {"hide_domains": 0.5, "hide_labels": 0.5, "dev_share": 0.0, "test_share": 0.0}
    for share in (0.5, 0.3):
        options["hide_labels"] = options["hide_domains"] = share
        assert contents(divided(Corpus("twins", documents), **options)) == contents(divided(backwards, **options))


def test_one_choice_does_not_move_another():
    """Does hiding leave the parts alone, hiding labels the hidden domains, and holding out the other domains?"""
    corpus = pile(UNEVEN)
    plain = divided(corpus)
    hidden = divided(corpus, hide_domains=0.5, hide_labels=0.4)
    assert {name: texts(getattr(plain, name)) for name in SETS} == {name: texts(getattr(hidden, name)) for name in SETS}
    only_domains = divided(corpus, hide_domains=0.5)
    assert [document.domain for document in hidden.train] == [document.domain for document in only_domains.train]
    only_labels = divided(corpus, hide_labels=0.4)
    assert [document.label for document in hidden.train] == [document.label for document in only_labels.train]
    without = divided(corpus, held_out=("rye",))
    for name in SETS[:3]:
        assert texts(getattr(without, name)) == {t for t in texts(getattr(plain, name)) if not t.startswith("rye")}
    fewer = divided(Corpus("pile", [document for document in corpus.documents if document.domain != "oil"]))
    for name in SETS[:3]:
        assert texts(getattr(fewer, name)) == {t for t in texts(getattr(plain, name)) if not t.startswith("oil")}


def test_other_seeds_choose_otherwise():
    """Do seeds differ in what they set aside and hide, and not in how much?"""
    options = {"hide_domains": 0.5, "hide_labels": 0.3, "held_out": ("rye",)}
    first, second = (divided(pile(UNEVEN), seed=seed, **options) for seed in (0, 1))
    for name in SETS:
        assert len(getattr(first, name)) == len(getattr(second, name))
        assert contents(first)[name] != contents(second)[name]
    documents = pile(UNEVEN).documents
    for domains, labels in ((0.5, 0.0), (0.0, 0.5)):
        assert hide(documents, domains, labels, 0) != hide(documents, domains, labels, 1)


def test_more_hidden_is_a_superset_of_less():
    """Is a text that is hidden, or set aside, at a small share also at a larger one?"""
    corpus = pile(UNEVEN)
    for option in ("hide_domains", "hide_labels"):
        hidden = []
        for share in (0.3, 0.6, 0.9):
            parts = divided(corpus, dev_share=0.0, test_share=0.0, **{option: share})
            missing = "domain" if option == "hide_domains" else "label"
            hidden.append({document.text for document in parts.train if getattr(document, missing) is None})
        assert hidden[0] < hidden[1] < hidden[2]
    for part, option in (("source_test", "test_share"), ("target_dev", "target_dev_share")):
        small, large = (
            texts(getattr(divided(corpus, dev_share=0.0, held_out=("rye",), **{option: share}), part))
            for share in (0.3, 0.6)
        )
        assert small < large


def test_hiding_labels_leaves_some_of_each():
    """Does every label keep a text, even at the highest share?"""
    parts = divided(pile(UNEVEN), hide_labels=0.999, dev_share=0.0, test_share=0.0)
    assert Counter(document.label for document in parts.train if document.label is not None) == {"good": 1, "bad": 1}
    assert divided(pile({("a", "rare"): 1, ("a", "common"): 9}), hide_labels=0.9, dev_share=0.0, test_share=0.0).train
    kept = divided(pile({("a", "rare"): 1, ("a", "common"): 9}), hide_labels=0.9, dev_share=0.0, test_share=0.0).train
    assert {document.label for document in kept} == {"rare", "common", None}


def test_texts_without_a_label_are_only_for_training():
    """Is a text without a label trained on, never scored, and useless where its domain is held out?"""
    documents = [Document(f"text {row}", "xy"[row % 2] if row % 3 else None, "ab"[row // 100]) for row in range(200)]
    parts = divided(Corpus("some", documents), held_out=("b",))
    for name in SETS[1:]:
        assert all(document.label is not None for document in getattr(parts, name))
    assert sum(document.label is None for document in parts.train) == 34
    assert len(parts.target_dev + parts.target_test) == 67


def test_what_is_hidden_is_gone():
    """Do hidden documents differ from the found ones in nothing but a None?"""
    corpus = pile(UNEVEN)
    found = {document.text: document for document in corpus.documents}
    for document in divided(corpus, hide_domains=0.5, hide_labels=0.5).train:
        original = found[document.text]
        assert document.domain in (None, original.domain)
        assert document.label in (None, original.label)
        assert document.source == original.source


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"held_out": ("te",)}, r"--held-out names te, which is no domain of pile\. Did you mean tea\?"),
        ({"held_out": ("zzz",)}, r"--held-out names zzz, .*\. Its domains: jam, oil, rye, tea\."),
        ({"select": "target-dev"}, r"--select target-dev needs texts of held-out domains: .*--held-out"),
        ({"select": "target-dev", "held_out": ("tea",), "target_dev_share": 0.0}, "--select target-dev needs"),
        ({"test_share": 0.5, "dev_share": 0.5}, r"--dev-share 0\.5 and --test-share 0\.5 leave nothing to train on"),
        ({"test_share": 0.9, "dev_share": 0.2}, r"--dev-share 0\.2 and --test-share 0\.9 leave nothing to train on"),
    ],
)
def test_what_cannot_be_done_is_told(options, sentence):
    """Does every impossible protocol name the flag and the way out?"""
    with pytest.raises(DomainGateError, match=sentence):
        divided(pile(UNEVEN), **options)


def test_a_corpus_without_domains_says_so():
    """Is holding out a domain of a corpus without domains refused in words?"""
    with pytest.raises(DomainGateError, match=r"--held-out names tea, .* Its domains: none\."):
        divided(Corpus("flat", [Document("a", "x"), Document("b", "y")]), held_out=("tea",))


def test_a_digest_is_a_text_s_own():
    """Is a digest the same in every process, 63 bits, another for another purpose, and there for any text?"""
    assert digest("tea") == 2706768586392537476
    assert digest("tea") != digest("tea", "other")
    assert all(0 <= digest(text) < 2**63 for text in ("", "\0", "\ud800", "\N{GRINNING FACE}", "x" * 10**6))


LABELLED = {
    "apparel": (1000, 1000), "baby": (950, 950), "camera_photo": (999, 998), "health_personal_care": (1000, 1000),
    "magazines": (985, 985), "music": (1000, 1000), "sports_outdoors": (1000, 1000), "toys_games": (1000, 1000),
    "video": (1000, 1000),
}  # fmt: skip


@pytest.mark.data
def test_the_real_halves_are_the_paper_s_table():
    """On the reviews themselves, are F and Y those of Table 1 (camera: 1,997 texts here), and target parts 4 to 6?"""
    folder = Path(os.environ.get("DOMAINGATE_DATA", "absent"), "fdu-mtl")
    if not folder.is_dir():
        pytest.skip("fdu-mtl is not under $DOMAINGATE_DATA")
    from domaingate.corpora import load

    corpus = load("fdu-mtl")
    options = {"hide_domains": 0.5, "test_share": 0.0}
    known = Counter(document.domain for document in divided(corpus, dev_share=0.0, **options).train)
    assert known.pop(None) == sum(unknown for _, unknown in LABELLED.values())
    assert known == {domain: seen for domain, (seen, _) in LABELLED.items()}
    parts = divided(corpus, dev_share=0.0, **options)
    targets = Counter(document.domain for document in corpus.documents if document.domain not in LABELLED)
    assert targets == {"books": 1000, "dvd": 1000, "electronics": 999, "kitchen_housewares": 1000}
    dev, test = (Counter(document.domain for document in part) for part in (parts.target_dev, parts.target_test))
    trained_on = texts(parts.train)
    leaked = Counter(document.domain for document in corpus.documents if document.text in trained_on)
    for domain, count in targets.items():
        left = dev[domain] + test[domain]
        assert count - leaked[domain] - 2 <= left <= count - leaked[domain]  # 43 reviews of dvds stand under video too
        assert abs(dev[domain] - 0.4 * left) < 6
    for place, name in enumerate(SETS):
        for other in SETS[:place]:
            assert not texts(getattr(parts, name)) & texts(getattr(parts, other))
