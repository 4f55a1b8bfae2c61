"""Do the numbers of an inspection tell what was planted, and does every model and every poor corpus get an answer?"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from domaingate import figures
from domaingate.artifact import Artifact
from domaingate.corpora.document import Corpus, Document
from domaingate.diagnostics import diagnose, even_sample, gate_spread, purity
from domaingate.errors import DomainGateError
from domaingate.figures import Groups
from domaingate.inspection import inspect_model
from domaingate.metrics import UNKNOWN_DOMAIN

PNG = b"\x89PNG\r\n\x1a\n"
MODELS = [
    {"model": "s-cnn"},
    {"model": "m-cnn"},
    {"model": "gen"},
    {"model": "dsda", "channels": None},
    {"model": "csda", "gate": "dirichlet"},
    {"model": "csda", "gate": "beta"},
    {"model": "csda", "gate": "gamma"},
]


@pytest.fixture(scope="module")
def untrained(tiny: Callable, prepared_of: Callable) -> Callable[..., Artifact]:
    """`untrained(**options)`: a model as it is before its first step, which is all that most questions need."""

    def make(**options: Any) -> Artifact:
        ready = prepared_of(tiny(**options))
        seen = {"trained_on": ready.parts.source_domains}
        return Artifact(ready.config, ready.encoder, ready.labels, ready.domains, ready.model, frozenset(), seen)

    return make


@pytest.fixture(scope="module")
def csda(untrained: Callable) -> Artifact:
    return untrained(model="csda", gate="dirichlet")


@pytest.fixture(scope="module")
def texts(corpus: Corpus) -> Sequence[Document]:
    return corpus.documents[:48]


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)


# The numbers


def test_gates_that_follow_the_domain_vary_between_domains_only(random):
    domains = random.integers(3, size=300)
    planted = np.eye(3)[domains] + random.normal(scale=0.01, size=(300, 3))
    found = gate_spread(planted, domains)
    assert min(found["share"]) > 0.99
    assert found["overall"] > 0.99


def test_gates_that_ignore_the_domain_vary_between_domains_as_chance_has_it(random):
    domains = np.repeat([0, 1, 2], [20, 50, 400])
    shares = [gate_spread(random.normal(size=(470, 20)), domains)["overall"] for _ in range(20)]
    assert np.mean(shares) == pytest.approx(gate_spread(np.eye(470), domains)["chance"], rel=0.1)


def test_a_closed_channel_has_no_share_and_constant_gates_are_named_so(random):
    domains = np.array([0, 0, 1, 1])
    half = gate_spread(np.column_stack([np.zeros(4), [0.0, 0.1, 0.9, 1.0]]), domains)
    assert half["share"][0] is None
    assert half["share"][1] > 0.9
    constant = gate_spread(np.full((4, 2), 1 / 13, dtype=np.float32), domains)
    assert constant["overall"] is None
    assert "same for every text" in constant["reason"]


def test_texts_of_unknown_domain_do_not_touch_the_spread(random):
    gates, domains = random.random((100, 4)), random.integers(2, size=100)
    with_unknown = gate_spread(np.vstack([gates, 99 * np.ones((5, 4))]), np.append(domains, [-1] * 5))
    assert with_unknown == gate_spread(gates, domains)


def test_neighbours_are_pure_where_classes_are_apart_and_at_chance_where_not(random):
    classes = np.arange(300) % 3
    apart = purity(random.normal(size=(300, 5)) + 100 * classes[:, None], classes)
    assert apart["purity"] == 1
    mixed = purity(random.normal(size=(300, 5)), classes)
    assert mixed["purity"] == pytest.approx(mixed["chance"], abs=0.05)
    assert mixed["chance"] == pytest.approx(99 / 299, abs=1e-6)


def test_a_z_that_tells_the_class_is_found_however_small_it_is(random):
    classes = random.integers(2, size=400)
    z = random.normal(size=(3, 400, 4))
    z[:, :, 0] = 0.5 + 1e-4 * classes
    found = diagnose(z, classes)
    assert found["accuracy"] > 0.98
    assert len(found["runs"]) == 3
    assert found["converged"]


def test_a_z_that_is_noise_is_at_chance(random):
    found = diagnose(random.normal(size=(3, 3000, 4)), np.arange(3000) % 2)
    assert found["accuracy"] == pytest.approx(0.5, abs=0.05)
    assert found["chance"] == 0.5


def test_classes_of_one_text_or_of_no_name_take_no_part(random):
    classes = np.array([0] * 10 + [1] * 10 + [2] + [-1] * 5)
    found = diagnose(random.normal(size=(1, 26, 2)), classes)
    assert (found["texts"], found["classes"]) == (20, 2)


def test_more_classes_than_texts_to_score_are_diagnosed_all_the_same(random):
    found = diagnose(random.normal(size=(1, 80, 2)), np.arange(80) % 40)
    assert found["classes"] == 40
    assert 0 <= found["accuracy"] <= 1


@pytest.mark.parametrize("classes", [np.full(50, -1), np.zeros(50, dtype=int), np.arange(4) % 2, np.arange(30)])
def test_classes_that_cannot_be_told_apart_have_a_reason(random, classes):
    found = diagnose(random.normal(size=(1, len(classes), 2)), classes)
    assert found["accuracy"] is None
    assert found["reason"]


def test_a_sample_is_even_over_the_classes_and_no_row_comes_twice():
    classes = np.repeat([-1, 0, 1], [5, 100, 1000])
    chosen = even_sample(classes, 85, seed=1)
    assert np.unique(classes[chosen], return_counts=True)[1].tolist() == [5, 40, 40]
    assert len(set(chosen.tolist())) == 85
    assert sorted(even_sample(classes, 5000, seed=1)) == list(range(1105))
    assert chosen.tolist() == even_sample(classes, 85, seed=1).tolist()


# Whole inspections


@pytest.mark.parametrize("options", MODELS, ids=lambda options: "-".join(map(str, options.values())))
def test_every_model_can_be_inspected(untrained, texts, tmp_path, options):
    numbers = inspect_model(untrained(**options), texts, tmp_path / "new" / "folder")
    written = {path.name: path.read_bytes() for path in (tmp_path / "new" / "folder").iterdir()}
    assert written.keys() == {"gates.png", "tsne.png", "numbers.json"}
    assert json.loads(written["numbers.json"]) == numbers
    for name in ("gates.png", "tsne.png"):
        assert written[name].startswith(PNG)
        assert len(written[name]) > 5000
    rows = numbers["gates"]["by_domain"]
    assert sum(row["texts"] for row in rows) == len(texts)
    assert [row["domain"] for row in rows if row["unseen"]] == ["mixture"]
    has_posterior = options["model"] == "csda"
    for target in ("label", "domain"):
        assert numbers["diagnostics"][target]["prior_mean"]["accuracy"] is not None
        assert (numbers["diagnostics"][target]["posterior_samples"]["accuracy"] is not None) == has_posterior


def test_mean_gates_of_a_domain_are_those_of_its_texts(csda, texts, tmp_path):
    some = texts[:9]
    whole = inspect_model(csda, some, tmp_path)["gates"]["by_domain"]
    chosen = [document for document in some if document.domain == whole[0]["domain"]]
    (alone,) = inspect_model(csda, chosen, tmp_path)["gates"]["by_domain"]
    assert alone["mean"] == pytest.approx(whole[0]["mean"], abs=2e-6)
    assert alone["texts"] == len(chosen)


def test_the_posterior_is_told_label_and_domain_and_the_prior_is_not(untrained, corpus, tmp_path):
    model = untrained(model="csda", gate="beta")
    size, q = model.model.reader.size, model.model.posterior
    with torch.no_grad():
        q.gate.alpha.weight.zero_()
        q.gate.beta.weight.zero_()
        for gate, embedding, place in ((0, q.label, size), (1, q.domain, size + q.label.embedding_dim)):
            q.gate.alpha.weight[gate, place] = 300.0  # opens where the embedding's first number is 1
            embedding.weight[:, 0] = torch.arange(len(embedding.weight)) % 2
    two_domains = [one for one in corpus.documents if one.domain in model.domains[:2]]
    numbers = inspect_model(model, two_domains, tmp_path)["diagnostics"]
    for target in ("label", "domain"):
        assert numbers[target]["posterior_samples"]["accuracy"] > 0.8
        assert numbers[target]["posterior_mean"]["accuracy"] == 1
    assert numbers["label"]["prior_mean"]["accuracy"] < 0.75


def test_one_seed_gives_one_result_and_leaves_the_generators_alone(csda, texts, tmp_path):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first = inspect_model(csda, texts, tmp_path / "a", seed=2**62)
    assert torch.equal(torch.get_rng_state(), before)
    assert inspect_model(csda, texts, tmp_path / "b", seed=2**62) == first
    for name in ("gates.png", "tsne.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("count", [1, 2, 9])
def test_few_texts_have_gates_but_no_map(csda, texts, tmp_path, count):
    (tmp_path / "tsne.png").write_bytes(b"of an earlier inspection")
    numbers = inspect_model(csda, texts[:count], tmp_path)
    assert numbers["representation"]["file"] is None
    assert str(count) in numbers["representation"]["reason"]
    assert numbers["diagnostics"]["label"]["prior_mean"]["reason"]
    assert {path.name for path in tmp_path.iterdir()} == {"gates.png", "numbers.json"}


def test_ten_texts_are_enough_for_a_map(csda, texts, tmp_path):
    assert inspect_model(csda, texts[:10], tmp_path)["representation"]["file"] == "tsne.png"


def test_one_domain_has_no_spread_between_domains(csda, corpus, tmp_path):
    numbers = inspect_model(csda, [one for one in corpus.documents if one.domain == csda.domains[0]], tmp_path)
    assert numbers["gates"]["spread"]["overall"] is None
    assert numbers["representation"]["neighbours"]["domain"]["reason"]
    assert numbers["diagnostics"]["domain"]["posterior_samples"]["reason"]
    assert numbers["diagnostics"]["label"]["posterior_samples"]["accuracy"] is not None


def test_texts_of_which_nothing_is_known_are_one_row_of_gates_and_a_map(csda, texts, tmp_path):
    numbers = inspect_model(csda, [Document(one.text) for one in texts], tmp_path)
    assert [row["domain"] for row in numbers["gates"]["by_domain"]] == [UNKNOWN_DOMAIN]
    assert numbers["texts"] == {"all": 48, "with_label": 0, "with_domain": 0}
    assert numbers["representation"]["file"] == "tsne.png"
    assert all(one["reason"] for target in numbers["diagnostics"].values() for one in target.values())


def test_labels_and_domains_that_the_model_never_met_are_shown_last(csda, texts, tmp_path):
    strange = [replace(one, label="mixed", domain="aaa") for one in texts[:20]]
    numbers = inspect_model(csda, [*texts, *strange], tmp_path)
    assert [(row["domain"], row["unseen"]) for row in numbers["gates"]["by_domain"][-2:]] == [
        ("aaa", True),
        ("mixture", True),
    ]
    assert numbers["diagnostics"]["label"]["posterior_samples"]["classes"] == 3


def test_texts_that_all_look_alike_have_no_map(csda, tmp_path):
    numbers = inspect_model(csda, [Document("", "positive", "alpha")] * 30, tmp_path)
    assert "same representation" in numbers["representation"]["reason"]
    assert (
        "same for every text"
        in inspect_model(csda, [Document("", "positive", name) for name in ("alpha", "beta")], tmp_path)["gates"][
            "spread"
        ]["reason"]
    )


def test_a_corpus_without_texts_and_a_broken_model_are_refused(untrained, texts, tmp_path):
    model = untrained(model="csda")
    with pytest.raises(DomainGateError, match="no text"):
        inspect_model(model, [], tmp_path)
    with torch.no_grad():
        model.model.prior.affinity.weight.fill_(float("nan"))
    with pytest.raises(DomainGateError, match="no numbers"):
        inspect_model(model, texts, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_folder_s_place_is_a_sentence(csda, texts, tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(DomainGateError, match="taken"):
        inspect_model(csda, texts[:2], tmp_path / "taken")


# The pictures


def test_names_of_any_kind_can_be_drawn(random):
    names = [
        "a $very$ long and $winding name of a domain, longer than a line",
        "語",
        "two\nlines\0",
        "_under",
        "\ud800",
    ]
    groups = Groups("domain", names, random.integers(-1, 5, size=40), frozenset(names[:2]))
    assert figures.heat_map(random.random((5, 3)), groups.shown, ["1", "2", "3"], ("a", "b", "c"), 3).startswith(PNG)
    assert figures.scatter(random.random((40, 2)), groups, groups, "$").startswith(PNG)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (210, 2), (2, 90)])
def test_gates_of_any_shape_can_be_drawn(rows, columns):
    names = [[str(number) for number in range(count)] for count in (rows, columns)]
    assert figures.heat_map(np.zeros((rows, columns)), *names, ("a", "b", "c")).startswith(PNG)


def test_more_groups_than_colours_and_markers_can_be_drawn(random):
    many = Groups("label", [str(number) for number in range(96)], random.integers(96, size=200))
    assert figures.scatter(random.random((200, 2)), many, many, "many").startswith(PNG)


def test_the_palette_serves_the_paper_s_thirteen_domains():
    assert len(set(figures.PALETTE)) == 13
