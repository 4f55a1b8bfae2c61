"""What every recipe owes its users, whatever is inside."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from gradients import grad

from domaingate import inference
from domaingate.artifact import load, save
from domaingate.batches import Batch, dataset
from domaingate.config import FitConfig, from_mapping, to_json
from domaingate.corpora.document import Corpus, Document
from domaingate.corpora.synthetic import MIXTURE
from domaingate.encoding import train_encoder
from domaingate.experiment import fit, prepare
from domaingate.model.base import count_parameters, trainable
from domaingate.model.reader import Sizes
from domaingate.model.recipes import build
from domaingate.predictor import Predictor
from domaingate.protocol import divide

WAYS = ("mean", "sample", "monte-carlo", "importance")


def weights(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same_bits(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def training_batch(prepared, rows=48):
    names = [str(label) for label in prepared.labels]
    data = dataset(prepared.parts.train, prepared.encoder, names, prepared.domains)
    return data.batch(np.arange(rows))


def losses_and_gradients(model, batch, epoch=1.5, seed=0):
    """Every turn's terms and gradients, in turn, from the same state of the generator."""
    outcome = []
    for turn in model.turns():
        torch.manual_seed(seed)
        terms = turn.terms(batch, epoch)
        gradients = grad(torch.stack(list(terms.values())).sum(), turn.parameters)
        outcome.append(({name: term.detach() for name, term in terms.items()}, gradients))
    return outcome


def assert_same_outcome(first, second):
    for (terms, gradients), (other_terms, other_gradients) in zip(first, second, strict=True):
        assert same_bits(terms, other_terms)
        assert all(torch.equal(one, other) for one, other in zip(gradients, other_gradients, strict=True))


def test_a_config_and_its_json_build_the_same_model(case, config_of):
    """Does the saved config build the very model that the config built?"""
    config = config_of(case)
    again = from_mapping(FitConfig, json.loads(json.dumps(to_json(config))), "config.json")
    assert again == config
    models = []
    for one in (config, again):
        torch.manual_seed(3)
        models.append(weights(build(one, Sizes(vocabulary=20, labels=3, domains=4 if config.channels is None else 2))))
    assert same_bits(models[0], models[1])


def test_the_loss_falls(trained):
    """Does training make the sum of the named terms smaller, and that of the label alone?"""
    artifact, problem = trained
    history = artifact.metrics["history"]
    totals = [sum(record["terms"].values()) for record in history]
    assert problem is None
    assert len(totals) == artifact.config.epochs
    assert totals[-1] < totals[0] - 0.02
    assert history[-1]["terms"]["label"] < history[0]["terms"]["label"] - 0.005


def test_a_gradient_reaches_every_parameter(case, config_of, prepared_of):
    """Is there a parameter, or a row of an embedding that the batch uses, that nothing ever moves?"""
    prepared = prepared_of(config_of(case))
    model, batch = prepared.model, training_batch(prepared)
    gradients = {}
    for turn, (_, found) in zip(model.turns(), losses_and_gradients(model, batch), strict=True):
        for parameter, gradient in zip(turn.parameters, found, strict=True):
            gradients[parameter] = gradients.get(parameter, 0) + gradient
    names = {parameter: name for name, parameter in model.named_parameters()}
    assert set(gradients) == set(trainable(model)) == set(model.parameters())
    for parameter, gradient in gradients.items():
        assert gradient.abs().sum() > 0, names[parameter]
    moved = {name: gradients[parameter].abs().sum(dim=-1) > 0 for parameter, name in names.items()}
    absent = torch.ones(prepared.encoder.size, dtype=torch.bool)
    absent[batch.ids[batch.ids > 0].unique()] = False
    assert not moved["reader.embedding"][absent].any()  # padding is among the absent
    taught = batch.label_known | batch.domain_known | (prepared.config.model == "csda")
    assert moved["reader.embedding"][batch.ids[taught]].any(dim=1).all()  # some word of each text that teaches
    if config_of(case).model == "csda":
        assert moved["posterior.label.weight"].all()  # the last row is UNK: the batch has texts without label
        assert moved["posterior.domain.weight"].all()
        assert not batch.label_known.all()
        assert not batch.domain_known.all()


def test_a_batch_that_knows_all_leaves_the_rows_of_unk_alone(make_model, make_batch):
    """Does only an unknown label or domain move the posterior's rows of UNK?"""
    model = make_model(model="csda")
    batch = make_batch([[1, 2, 3], [4, 5], [6, 7, 8, 9]], [0, 1, 2], [0, 1, 0])
    terms = model.terms(batch, 0.0)
    sum(terms.values()).backward()
    for embedding in (model.posterior.label, model.posterior.domain):
        assert embedding.weight.grad[:-1].abs().sum(dim=-1).min() > 0
        assert embedding.weight.grad[-1].abs().max() == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_reloaded_model_predicts_the_same_to_the_bit(trained, corpus, tmp_path, way):
    """Is a model folder the whole model, for every way to predict?"""
    artifact, _ = trained
    save(artifact, tmp_path / "model", "# A card\n")
    again = load(tmp_path / "model")
    texts = [document.text for document in corpus.documents[:20]]
    before, after = (Predictor(one, inference=way, seed=7).outputs(texts) for one in (artifact, again))
    for name in ("probabilities", "gates", "hidden"):
        assert np.array_equal(getattr(before, name), getattr(after, name))
    assert again.config == artifact.config
    assert (list(again.labels), list(again.domains)) == (list(artifact.labels), list(artifact.domains))
    assert again.seen == artifact.seen


def test_a_text_scores_the_same_alone_and_among_others(trained, corpus):
    """Do padding and company change what a text scores?"""
    artifact, _ = trained
    texts = [document.text for document in corpus.documents[:12]]
    texts += ["", "a", texts[0].split()[0], " ".join(texts[:8]), texts[1] + " never seen words " * 30]
    data = dataset([Document(text) for text in texts], artifact.encoder, (), ())
    wide = copy.deepcopy(artifact.model).double().eval()
    with torch.no_grad():
        together = wide.predict(data.batch(np.arange(len(data))))
        for row in range(len(data)):
            for company in ([row], [row, len(data) - 2], [0, row, 12]):
                alone = wide.predict(data.batch(company))
                place = company.index(row)
                for one, all_of_them in zip(alone, together, strict=True):
                    torch.testing.assert_close(one[place], all_of_them[row], rtol=0, atol=1e-12)
    many = inference.run(artifact.model, data)
    for row in range(len(data)):
        one = inference.run(artifact.model, replace(data, texts=data.texts[row : row + 1]))
        assert one.probabilities.argmax() == many.probabilities[row].argmax()
        np.testing.assert_allclose(one.probabilities[0], many.probabilities[row], atol=1e-5)


def hidden_values_altered(batch, labels, domains):
    return replace(
        batch,
        label=batch.label.where(batch.label_known, labels),
        domain=batch.domain.where(batch.domain_known, domains),
    )


def test_what_stands_behind_an_unknown_label_or_domain_changes_nothing(case, config_of, prepared_of):
    """Does a hidden label or domain leak into a loss or a gradient, in a single bit?"""
    prepared = prepared_of(config_of(case, hide_labels=0.3))
    batch = training_batch(prepared)
    assert not batch.label_known.all()
    before = losses_and_gradients(prepared.model, batch)
    for label in range(len(prepared.labels)):
        for domain in range(max(1, len(prepared.domains))):
            altered = hidden_values_altered(batch, torch.tensor(label), torch.tensor(domain))
            assert_same_outcome(before, losses_and_gradients(prepared.model, altered))


def test_a_meaningless_number_need_not_even_be_in_range(case, config_of, prepared_of):
    """Is the number of an unknown label or domain looked at at all?"""
    prepared = prepared_of(config_of(case, hide_labels=0.3))
    batch = training_batch(prepared)
    before = losses_and_gradients(prepared.model, batch)
    for value in (-1, 10**6):
        altered = hidden_values_altered(batch, torch.tensor(value), torch.tensor(value))
        assert_same_outcome(before, losses_and_gradients(prepared.model, altered))


def test_hidden_is_as_if_it_had_never_been(case, config_of, trained, corpus):
    """Do documents whose label and domain are hidden train the same weights as documents that never had them?"""
    config = config_of(case)
    parts = divide(corpus, replace(config, dev_share=0.0))
    held_out = [document for document in corpus.documents if document.domain == MIXTURE]
    poorer = Corpus("poorer", parts.train + held_out, corpus.held_out)
    nothing_to_hide = replace(config, hide_domains=0.0, hide_labels=0.0)
    again, _ = fit(prepare(divide(poorer, replace(nothing_to_hide, dev_share=0.0)), nothing_to_hide))
    assert same_bits(weights(trained[0].model), weights(again.model))
    assert list(again.domains) == list(trained[0].domains)


def test_only_training_texts_and_labels_shape_a_model(tiny, prepared_of):
    """Do vocabulary, labels and domains come from what training may see, and from nothing that is set aside?"""
    prepared = prepared_of(tiny(dev_share=0.3, test_share=0.3, target_dev_share=0.4, min_count=1, hide_domains=0.5))
    train = prepared.parts.train
    alone = train_encoder([document.text for document in train], prepared.config)
    assert prepared.encoder.to_json() == alone.to_json()
    assert set(prepared.labels) == {document.label for document in train}
    assert set(prepared.domains) == {document.domain for document in train} - {None}
    everything = train_encoder(
        [document.text for part in (train, prepared.parts.test) for document in part], prepared.config
    )
    assert prepared.encoder.to_json() != everything.to_json()


def test_the_same_seed_gives_the_same_weights(case, config_of, prepared_of, trained):
    """Is a run repeatable to the bit, and does another seed give another model?"""
    torch.manual_seed(12345)  # whatever happened before must not matter
    again, _ = fit(prepared_of(config_of(case)))
    assert same_bits(weights(trained[0].model), weights(again.model))
    other = prepared_of(config_of(case, seed=1)).model
    assert not same_bits(weights(prepared_of(config_of(case)).model), weights(other))


@pytest.mark.parametrize("way", WAYS)
def test_predictions_are_probabilities_and_gates_have_their_shape(case, trained, corpus, way):
    """Do probabilities sum to one, and are there k gates of the right kind for each text?"""
    artifact, _ = trained
    texts = [document.text for document in corpus.documents[:20]] + [""]
    outputs = Predictor(artifact, inference=way, samples=7).outputs(texts)
    assert outputs.probabilities.shape == (21, 2)
    np.testing.assert_allclose(outputs.probabilities.sum(axis=1), 1, atol=1e-5)
    assert (outputs.probabilities >= 0).all()
    config = artifact.config
    channels = {"s-cnn": 1, "m-cnn": 3, "gen": 2, "dsda": config.channels or len(artifact.domains), "csda": 3}[
        config.model
    ]
    assert outputs.gates.shape == (21, channels)
    assert (outputs.gates >= 0).all()
    if config.model in ("s-cnn", "m-cnn", "dsda") or (config.gate == "dirichlet" and config.model == "csda"):
        np.testing.assert_allclose(outputs.gates.sum(axis=1), 1, atol=1e-5)
    elif case.name.startswith("csda-beta"):
        assert (outputs.gates <= 1).all()
    size = artifact.model.reader.size * (2 if config.model == "gen" else 1)
    assert outputs.hidden.shape == (21, size)


def test_the_mean_is_not_random_and_a_sample_follows_its_seed(trained, corpus):
    """Is the default prediction always the same, and is a random one the same for the same seed?"""
    artifact, _ = trained
    texts = [document.text for document in corpus.documents[:5]]
    for way in WAYS:
        predictor = Predictor(artifact, inference=way, seed=3)
        first, second = predictor.outputs(texts), predictor.outputs(texts)
        again = Predictor(artifact, inference=way, seed=3).outputs(texts)
        assert np.array_equal(first.probabilities, again.probabilities)
        if way == "mean":
            assert np.array_equal(first.probabilities, second.probabilities)


def test_no_texts_give_no_answers(tiny, prepared_of):
    """Is nothing a fine thing to predict?"""
    artifact, _ = fit(prepared_of(tiny(epochs=1)))
    outputs = Predictor(artifact).outputs([])
    assert (len(outputs.probabilities), len(outputs.gates), len(outputs.hidden)) == (0, 0, 0)


def test_the_kept_weights_are_those_of_the_chosen_epoch(tiny, prepared_of):
    """Without a dev part, are the last epoch's weights kept; with one, those that scored best on it?"""
    first, last = (fit(prepared_of(tiny(epochs=epochs)))[0] for epochs in (1, 3))
    assert (first.metrics["kept_epoch"], last.metrics["kept_epoch"]) == (1, 3)
    assert not same_bits(weights(first.model), weights(last.model))
    prepared = prepared_of(tiny(dev_share=0.3, patience=6))
    artifact, _ = fit(prepared)
    history = artifact.metrics["history"]
    best = max(history, key=lambda record: (record["source-dev"]["accuracy"], -record["source-dev"]["nll"]))
    assert artifact.metrics["kept_epoch"] == best["epoch"]
    again, _ = fit(prepared_of(tiny(dev_share=0.3, patience=6, epochs=best["epoch"])))
    assert same_bits(weights(again.model), weights(artifact.model))


def test_a_fixed_embedding_stays_as_it_was_drawn(tiny, prepared_of):
    """Does an embedding that is kept as drawn change in training?"""
    prepared = prepared_of(tiny(embedding="fixed", epochs=1))
    before = weights(prepared.model)
    fit(prepared)
    after = weights(prepared.model)
    assert torch.equal(before["reader.embedding"], after["reader.embedding"])
    assert not torch.equal(before["reader.weights.0"], after["reader.weights.0"])


def paper_size(labels=2, domains=9, vocabulary=50_000, **options):
    with torch.device("meta"):
        return build(FitConfig(**options), Sizes(vocabulary, labels, domains))


def test_parameter_counts_at_the_paper_s_sizes():
    """Do the models have exactly as many parameters as the equations ask for?"""
    vocabulary, size, filters, hidden, widths = 50_000, 300, 128, 300, (3, 4, 5)
    vector = filters * len(widths)
    cnn = sum(width * size * filters + filters for width in widths)

    def head(inputs, labels):
        return (inputs + 1) * hidden + (hidden + 1) * labels

    def without_embedding(**options):
        total, without = count_parameters(paper_size(**options))
        assert total - without == vocabulary * size
        return without

    assert cnn == 461_184
    assert without_embedding(model="s-cnn") == cnn + head(vector, 2) == 577_286
    assert without_embedding(model="m-cnn", channels=13) == 13 * cnn + head(vector, 2)
    domain_heads = 2 * (vector + 1) * 9
    assert without_embedding(model="gen") == 2 * cnn + head(2 * vector, 2) + domain_heads
    assert without_embedding(model="dsda") == (9 + 1) * cnn + head(vector, 2) + (vector + 1) * 9
    k, answers, rows = 13, 4 + 16, (2 + 1) * 4 + (9 + 1) * 16
    dirichlet = (vector + 1) * (k + 1) + rows + (vector + answers + 1) * (k + 1)
    assert without_embedding(model="csda", gate="dirichlet") == (k + 2) * cnn + head(vector, 2) + dirichlet == 7_045_094
    two_maps = (vector + 1) * 2 * k + rows + (vector + answers + 1) * 2 * k
    for gate in ("beta", "gamma"):
        assert without_embedding(model="csda", gate=gate) == (k + 2) * cnn + head(vector, 2) + two_maps


def test_dsda_needs_a_channel_for_each_known_domain(make_model):
    """Is a DSDA with fewer channels than domains refused in a sentence?"""
    with pytest.raises(ValueError, match=r"--channels is 3, but 5 domains are known"):
        make_model(model="dsda", channels=3, sizes=Sizes(vocabulary=12, labels=2, domains=5))


def test_a_batch_keeps_its_values_when_it_moves(make_batch):
    """Does `Batch.to` carry every field?"""
    batch = make_batch([[1, 2], [3]], [0, -1], [-1, 1])
    moved = batch.to("cpu")
    assert isinstance(moved, Batch)
    assert all(torch.equal(getattr(batch, name), getattr(moved, name)) for name in Batch.__dataclass_fields__)
