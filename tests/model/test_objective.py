"""Likelihoods and bounds: sums written by hand, integrals by quadrature, and what is minimised."""

import math

import pytest
import torch
from gradients import grad
from scipy.special import roots_jacobi
from torch.distributions import Categorical, Independent

from domaingate.model import objective
from domaingate.model.base import gated
from domaingate.model.reader import Sizes

TEXTS = [[1, 2, 3, 4], [5, 6], [7, 8, 9, 10, 11], [], [2, 2, 9]]


def beta_quadrature(alpha, beta, nodes=120):
    """Nodes s and weights with sum 1 such that sum(w f(s)) is E[f(s)] under Beta(alpha, beta)."""
    places, weights = roots_jacobi(nodes, beta - 1, alpha - 1)
    return torch.tensor((places + 1) / 2), torch.tensor(weights / weights.sum())


def sharpened(model, seed=5):
    """Weights that make labels depend on z, and concentrations of one to three that differ between p and q."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.startswith("head"):
                parameter.mul_(4)
            elif name.startswith(("prior", "posterior.gate")) and name.endswith("bias"):
                parameter.uniform_(0.3, 1.2)
            elif name.startswith("posterior") and "gate" not in name:
                parameter.mul_(2)
    return model


def on_the_segment(model, batch):
    """For a Dirichlet of two: each text's parameters under p, and log p(y|x,s) as a function of nodes s."""
    channels, prior, _ = model.read(batch)
    return prior.concentration, lambda row, s: model.classify(
        channels[row, None], torch.stack([s, 1 - s], dim=-1)[:, None]
    )[:, 0]


def on_the_line(model, batch):
    """The same for one Beta."""
    channels, prior, _ = model.read(batch)
    both = torch.cat([prior.base_dist.concentration1, prior.base_dist.concentration0], dim=-1)
    return both, lambda row, z: model.classify(channels[row, None], z[:, None, None])[:, 0]


def exact_log_probabilities(parameters, log_likelihood):
    """log p(y|x) = log of the integral over z of p(z|x) p(y|x,z), for each text and label."""
    rows = []
    for row, (alpha, beta) in enumerate(parameters.tolist()):
        s, weights = beta_quadrature(alpha, beta)
        rows.append((weights[:, None] * log_likelihood(row, s).exp()).sum(dim=0).log())
    return torch.stack(rows)


CONTINUOUS = {"dirichlet": (2, on_the_segment), "beta": (1, on_the_line)}


@pytest.fixture(params=CONTINUOUS, ids=str)
def continuous(request, make_model, make_batch):
    """A CSDA whose integral over z is one-dimensional: (model, batch, exact log p(y|x))."""
    k, view = CONTINUOUS[request.param]
    model = sharpened(make_model(model="csda", gate=request.param, channels=k)).eval()
    batch = make_batch(TEXTS, [0, 1, 2, 0, 1], [0, 1, -1, -1, 0])
    with torch.no_grad():
        yield model, batch, exact_log_probabilities(*view(model, batch))


# --- DSDA: the exact sum -----------------------------------------------------------------------------------------


@pytest.fixture
def discrete(make_model, make_batch):
    """A DSDA with its parts spelled out: (model, batch, log p(z|x), log p(y|x,z))."""
    model = sharpened(make_model(model="dsda", channels=4)).eval()
    batch = make_batch(TEXTS, [0, 1, 2, 0, -1], [0, 1, -1, -1, 0])
    vectors = model.reader(batch)
    log_prior = torch.log_softmax(model.prior.affinity(vectors[:, 4]), dim=-1)
    return model, batch, log_prior, model.label(vectors[:, :4])


def test_dsda_sums_over_its_channels(discrete):
    """Is the likelihood sum over z of p(z|x) p(y|x,z), and is log p(z=d|x) added where d is known, and only there?"""
    model, batch, log_prior, log_likelihood = discrete
    by_hand = sum(log_prior[:, z, None].exp() * log_likelihood[:, z].exp() for z in range(4))
    terms = model.terms(batch, 0.0)
    label = -sum(by_hand[row, y].log() for row, y in enumerate([0, 1, 2, 0])) / 5
    domain = -(log_prior[0, 0] + log_prior[1, 1] + log_prior[4, 0]) / 5
    torch.testing.assert_close(terms["label"], label)
    torch.testing.assert_close(terms["domain"], domain)
    for way in ("mean", "importance"):
        prediction = model.predict(batch, way)
        torch.testing.assert_close(prediction.log_probabilities, by_hand.log())
        torch.testing.assert_close(prediction.gates, log_prior.exp())


def test_dsda_monte_carlo_converges_to_the_sum(discrete):
    """Do averages over sampled channels, many or one at a time, become the exact sum?"""
    model, batch, log_prior, log_likelihood = discrete
    exact = objective.mixture(Categorical(logits=log_prior), log_likelihood).exp()
    torch.manual_seed(0)
    with torch.no_grad():
        many = model.predict(batch, "monte-carlo", 20_000).log_probabilities.exp()
        singles = torch.stack([model.predict(batch, "sample").log_probabilities.exp() for _ in range(2000)])
    error = (log_prior.exp()[..., None] * log_likelihood.exp() ** 2).sum(dim=1).sub(exact**2).clamp(min=0).sqrt()
    assert ((many - exact).abs() <= 4.5 * error / math.sqrt(20_000) + 1e-12).all()
    assert ((singles.mean(dim=0) - exact).abs() <= 4.5 * error / math.sqrt(2000) + 1e-12).all()
    one = log_likelihood.exp()
    assert all((single[:, None] - one).abs().sum(dim=-1).min(dim=1).values.max() < 1e-12 for single in singles[:50])


def test_the_bound_touches_at_the_true_posterior(discrete):
    """With any q over channels, is the ELBO below log p(y|x); with p(z|x,y), is it equal, in value and gradient?"""
    _, _, log_prior, log_likelihood = discrete
    prior = Categorical(logits=log_prior)
    exact = objective.mixture(prior, log_likelihood)[:, 1]
    joint = log_prior + log_likelihood[..., 1]

    def elbo(q):
        expected = (q.probs * log_likelihood[..., 1]).sum(dim=-1)
        return expected.mean() - objective.kl_term(q, prior)

    torch.manual_seed(0)
    for scale in (0.1, 1.0, 5.0):
        for _ in range(20):
            q = Categorical(logits=joint + scale * torch.randn_like(joint))
            assert elbo(q) < exact.mean()
    true_posterior = Categorical(logits=joint.detach())
    torch.testing.assert_close(elbo(true_posterior), exact.mean())
    # At the true posterior the gradient of the bound is that of the likelihood too.
    found = grad(elbo(true_posterior), (log_prior, log_likelihood), retain_graph=True)
    expected = grad(exact.mean(), (log_prior, log_likelihood))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


# --- CSDA: the integral ------------------------------------------------------------------------------------------


def test_csda_s_quadrature_is_a_distribution(continuous):
    """Is the reference itself sound: do the integrals of all labels sum to one, and differ from the mean's answer?"""
    model, batch, exact = continuous
    torch.testing.assert_close(exact.exp().sum(dim=-1), torch.ones(5, dtype=torch.float64))
    assert (exact - model.predict(batch, "mean").log_probabilities).abs().max() > 1e-3


@pytest.mark.parametrize("way", ["monte-carlo", "importance"])
def test_csda_s_averages_converge_to_the_integral(continuous, way):
    """Do Monte Carlo and importance sampling come to the exact p(y|x), and closer with more samples?"""
    model, batch, exact = continuous
    errors = []
    for samples in (100, 40_000):
        torch.manual_seed(1)
        estimate = model.predict(batch, way, samples).log_probabilities
        torch.testing.assert_close(estimate.exp().sum(dim=-1), torch.ones(5, dtype=torch.float64))
        errors.append((estimate.exp() - exact.exp()).abs().max())
    assert errors[1] < 0.01
    assert errors[1] < errors[0] / 3


def test_csda_s_bound_lies_below_the_likelihood(continuous, make_batch):
    """Is the average of the one-sample ELBO (lambda 1) at most log p(y|x)?"""
    model, _, exact = continuous
    model.config.kl_weight = 1.0
    torch.manual_seed(2)
    for row, (label, domain) in enumerate([(0, 0), (1, 1), (2, -1), (0, -1), (1, 0)]):
        copies = make_batch([TEXTS[row]] * 500, [label] * 500, [domain] * 500)
        draws = torch.stack([-sum(model.terms(copies, 0.0).values()) for _ in range(20)])
        assert draws.mean() <= exact[row, label] + 4 * draws.std() / math.sqrt(20)
        assert draws.mean() < exact[row, label]  # q is not the true posterior here: the gap is wider than the error


def test_csda_s_gradient_is_the_bound_s(continuous, make_batch):
    """Does the one-sample gradient in q's own weights average to the slope of the ELBO, by quadrature?"""
    model, _, _ = continuous
    model.config.kl_weight = 0.3
    bias = (
        model.posterior.gate.affinity if hasattr(model.posterior.gate, "affinity") else model.posterior.gate.alpha
    ).bias
    view = on_the_line if len(bias) == 1 else on_the_segment
    one = make_batch(TEXTS[:1], [1], [0])

    def bound():
        with torch.no_grad():
            _, prior, _ = model.read(one)
            q = model.infer(one)
            base = getattr(q, "base_dist", q)
            alpha, beta = base.concentration[0] if len(bias) == 2 else (base.concentration1[0], base.concentration0[0])
            s, weights = beta_quadrature(float(alpha), float(beta))
            return weights @ view(model, one)[1](0, s)[:, 1] - 0.3 * objective.kl_term(q, prior)

    slopes = []
    for place in range(len(bias)):
        values = []
        for step in (1e-4, -1e-4):
            kept = bias.detach().clone()
            with torch.no_grad():
                bias[place] += step
            values.append(bound())
            with torch.no_grad():
                bias.copy_(kept)
        slopes.append((values[0] - values[1]) / 2e-4)
    torch.manual_seed(7)
    copies = make_batch(TEXTS[:1] * 500, [1] * 500, [0] * 500)
    with torch.enable_grad():
        draws = [-grad(sum(model.terms(copies, 0.0).values()), bias)[0] for _ in range(20)]
    draws = torch.stack(draws)
    error = draws.std(dim=0) / math.sqrt(len(draws))
    assert ((torch.stack(slopes) - draws.mean(dim=0)).abs() <= 4.5 * error + 1e-7).all()
    assert (error < 0.05 * torch.stack(slopes).abs().max()).all()


def test_with_q_equal_to_p_the_bound_is_jensen_s(continuous):
    """With q = p, is the ELBO E_p[log p(y|x,z)], by quadrature?"""
    model, batch, _ = continuous
    channels, prior, _ = model.read(batch)
    assert objective.kl_term(prior, prior).abs() < 1e-12
    view = on_the_line if isinstance(prior, Independent) else on_the_segment
    parameters, log_likelihood = view(model, batch)
    torch.manual_seed(3)
    z = prior.rsample((20_000,))
    sampled = model.classify(channels, z)
    error = sampled.std(dim=0) / math.sqrt(20_000)
    for row, (alpha, beta) in enumerate(parameters.tolist()):
        s, weights = beta_quadrature(alpha, beta)
        expected = (weights[:, None] * log_likelihood(row, s)).sum(dim=0)
        assert ((sampled.mean(dim=0)[row] - expected).abs() < 4.5 * error[row]).all()


def test_the_terms_are_the_equation(make_model, make_batch):
    """Are CSDA's terms -log p(y|x,z) at q's sample and lambda KL(q||p), and is their sum the ELBO's negative?"""
    for gate in ("dirichlet", "beta", "gamma"):
        model = make_model(model="csda", gate=gate, kl_weight=0.3)
        batch = make_batch(TEXTS, [0, 1, -1, 0, 2], [0, -1, 1, -1, 0])
        torch.manual_seed(4)
        terms = model.terms(batch, 0.0)
        torch.manual_seed(4)
        channels, prior, _ = model.read(batch)
        posterior = model.infer(batch)
        log_likelihood = model.classify(channels, posterior.rsample())
        label = -(log_likelihood[0, 0] + log_likelihood[1, 1] + log_likelihood[3, 0] + log_likelihood[4, 2]) / 5
        torch.testing.assert_close(terms["label"], label)
        torch.testing.assert_close(terms["kl"], 0.3 * torch.distributions.kl_divergence(posterior, prior).sum() / 5)
        assert list(terms) == ["label", "kl"]
        sampled = posterior.sample((4000,))
        estimate = posterior.log_prob(sampled) - prior.log_prob(sampled)  # (4000, B)
        standard_error = estimate.mean(dim=1).std() / math.sqrt(4000)
        assert abs(estimate.mean() - terms["kl"] / 0.3) < 4.5 * standard_error + 1e-12


def test_a_share_of_the_likelihood_may_be_taken_under_the_prior(make_model, make_batch):
    """Is the label's loss (1 - share) under q and share under p, and with share 0 nothing but the paper's?"""
    batch = make_batch(TEXTS, [0, 1, -1, 0, 2], [0, -1, 1, -1, 0])
    for share in (0.0, 0.25, 1.0):
        model = make_model(model="csda", prior_likelihood=share)
        torch.manual_seed(6)
        terms = model.terms(batch, 0.0)
        torch.manual_seed(6)
        channels, prior, _ = model.read(batch)
        by_hand = []
        for gates in (model.infer(batch), prior):
            log_likelihood = model.classify(channels, gates.rsample())
            by_hand.append(-sum(log_likelihood[row, y] for row, y in ((0, 0), (1, 1), (3, 0), (4, 2))) / 5)
        torch.testing.assert_close(terms["label"], (1 - share) * by_hand[0])
        assert ("label by prior" in terms) == (share > 0)
        if share:
            torch.testing.assert_close(terms["label by prior"], share * by_hand[1])


def test_without_any_label_only_the_kl_moves_csda(make_model, make_batch):
    """For texts without y, is the label term zero and the gradient that of the KL alone?"""
    for gate in ("dirichlet", "beta", "gamma"):
        model = make_model(model="csda", gate=gate)
        batch = make_batch(TEXTS, None, [0, 1, -1, 0, 1])
        terms = model.terms(batch, 0.0)
        assert terms["label"] == 0
        parameters = dict(model.named_parameters())
        whole = grad(terms["label"] + terms["kl"], parameters.values(), retain_graph=True)
        alone = grad(terms["kl"], parameters.values(), allow_unused=True)
        for name, one, other in zip(parameters, whole, alone, strict=True):
            assert torch.equal(one, torch.zeros_like(one) if other is None else other), name
            assert not (name.startswith("head") and one.any())


@pytest.mark.parametrize("name", ["s-cnn", "m-cnn", "dsda", "gen"])
def test_without_any_answer_nothing_moves_the_others(make_model, make_batch, name):
    """Without label and domain, are all terms and gradients zero?"""
    model = make_model(model=name)
    for turn in model.turns():
        terms = turn.terms(make_batch(TEXTS), 2.0)
        assert all(term == 0 for term in terms.values())
        total = torch.stack(list(terms.values())).sum()
        assert all(not gradient.any() for gradient in grad(total, turn.parameters))


def test_lambda_can_rise(make_model, make_batch):
    """Does a linear schedule start at 0, rise evenly and stay at lambda?"""
    batch = make_batch(TEXTS, [0] * 5)
    model = make_model(model="csda", kl_weight=0.4, kl_schedule="linear", kl_epochs=2.0)
    assert [model.kl_weight(epoch) for epoch in (0.0, 0.5, 1.0, 2.0, 9.0)] == pytest.approx([0, 0.1, 0.2, 0.4, 0.4])
    assert model.terms(batch, 0.0)["kl"] == 0
    torch.testing.assert_close(model.terms(batch, 1.0)["kl"] * 2, model.terms(batch, 3.0)["kl"])
    fixed = make_model(model="csda", kl_weight=0.4)
    assert {fixed.kl_weight(epoch) for epoch in (0.0, 0.5, 10.0)} == {0.4}
    at_once = make_model(model="csda", kl_weight=0.4, kl_schedule="linear", kl_epochs=0.0)
    assert at_once.kl_weight(0.0) == 0.4


# --- one open channel is S-CNN -----------------------------------------------------------------------------------


def one_channel(model, channel, make_model):
    """The S-CNN made of one channel of a model."""
    single = make_model(model="s-cnn", seed=99)
    state = {name: tensor for name, tensor in model.state_dict().items() if name.startswith(("reader", "head"))}
    cut = {
        name: tensor[channel, None] if name.startswith(("reader.weights", "reader.biases")) else tensor
        for name, tensor in state.items()
    }
    single.load_state_dict(cut)
    return single


def test_dsda_with_one_channel_is_s_cnn(make_model, make_batch):
    """Is DSDA with k = 1 the plain CNN, in value and gradient?"""
    batch = make_batch(TEXTS, [0, 1, 2, -1, 1])
    model = make_model(model="dsda", channels=1, sizes=Sizes(vocabulary=12, labels=3, domains=0))
    single = one_channel(model, 0, make_model)
    torch.testing.assert_close(
        model.predict(batch).log_probabilities, single.predict(batch).log_probabilities, rtol=0, atol=1e-12
    )
    sum(model.terms(batch, 0.0).values()).backward()
    sum(single.terms(batch, 0.0).values()).backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    for name, parameter in single.named_parameters():
        found = gradients[name][:1] if name.startswith(("reader.weights", "reader.biases")) else gradients[name]
        torch.testing.assert_close(found, parameter.grad, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["m-cnn", "dsda", "csda"])
def test_one_open_gate_is_s_cnn(make_model, make_batch, name):
    """With z = (0, 1, 0), is p(y|x,z) that of the second channel alone?"""
    batch = make_batch(TEXTS)
    model = make_model(model=name)
    vectors = model.reader(batch)[:, :3]
    for channel in range(3):
        z = torch.zeros(5, 3, dtype=torch.float64)
        z[:, channel] = 1
        alone = one_channel(model, channel, make_model).predict(batch)
        torch.testing.assert_close(model.classify(vectors, z), alone.log_probabilities, rtol=0, atol=1e-12)
        torch.testing.assert_close(gated(vectors, z), alone.hidden, rtol=0, atol=1e-12)


def test_m_cnn_is_the_mean_of_its_channels(make_model, make_batch):
    """Is M-CNN's representation the mean over channels, and CSDA's the sum of z_i h_i?"""
    model, batch = make_model(model="m-cnn"), make_batch(TEXTS)
    torch.testing.assert_close(model.predict(batch).hidden, model.reader(batch).mean(dim=1))
    csda = make_model(model="csda")
    channels, prior, _ = csda.read(batch)
    by_hand = sum(prior.mean[:, i, None] * channels[:, i] for i in range(3))
    prediction = csda.predict(batch)
    torch.testing.assert_close(prediction.hidden, by_hand)
    torch.testing.assert_close(prediction.log_probabilities, csda.label(by_hand))
    torch.testing.assert_close(prediction.gates, prior.mean)


# --- GEN ---------------------------------------------------------------------------------------------------------


def by_hand_gen(model, batch):
    """-log p(y), -log p(d|shared) and -log p(d|private) of each text."""
    vectors = model.reader(batch)
    label = -torch.log_softmax(model.head(vectors.flatten(1)), dim=-1)
    shared = -torch.log_softmax(model.adversary(vectors[:, 0]), dim=-1)
    private = -torch.log_softmax(model.generator(vectors[:, 1]), dim=-1)
    return label, shared, private


def test_gen_s_terms_are_y_plus_w_g_minus_w_d(make_model, make_batch):
    """After the first epoch, is the features' loss y + w g - w d with w = 1e-3, and the heads' y + g + d?"""
    model, batch = make_model(model="gen"), make_batch(TEXTS, [0, 1, -1, 0, 2], [0, -1, 1, -1, -1])
    label, shared, private = by_hand_gen(model, batch)
    y = (label[0, 0] + label[1, 1] + label[3, 0] + label[4, 2]) / 5
    d, g = (shared[0, 0] + shared[2, 1]) / 5, (private[0, 0] + private[2, 1]) / 5
    heads, features = model.turns()
    for epoch in (1.0, 5.0):
        terms = features.terms(batch, epoch)
        torch.testing.assert_close(terms["label"], y)
        torch.testing.assert_close(terms["g"], 1e-3 * g)
        torch.testing.assert_close(terms["d"], -1e-3 * d)
    total = sum(heads.terms(batch, 0.0).values())
    torch.testing.assert_close(total, y + g + d)


def test_gen_s_first_epoch_has_no_adversary(make_model, make_batch):
    """In the first epoch, do the features learn from the label alone?"""
    model, batch = make_model(model="gen"), make_batch(TEXTS, [0, 1, 2, 0, 2], [0, 1, 1, 0, -1])
    features = model.turns()[1]
    for epoch in (0.0, 0.99):
        terms = features.terms(batch, epoch)
        assert terms["g"] == terms["d"] == 0
        whole = grad(sum(terms.values()), features.parameters)
        alone = grad(features.terms(batch, epoch)["label"], features.parameters)
        assert all(torch.equal(one, other) for one, other in zip(whole, alone, strict=True))


def test_gen_s_text_without_a_domain_has_the_label_term_alone(make_model, make_batch):
    """Does a text of unknown domain reach neither domain classifier?"""
    model, batch = make_model(model="gen"), make_batch(TEXTS, [0, 1, 2, 0, 2])
    heads, features = model.turns()
    terms = features.terms(batch, 3.0)
    assert terms["g"] == terms["d"] == 0
    terms = heads.terms(batch, 3.0)
    assert terms["g of heads"] == terms["d of heads"] == 0
    total = torch.stack(list(terms.values())).sum()
    gradients = dict(zip(heads.parameters, grad(total, heads.parameters), strict=True))
    assert not any(gradients[one].any() for head in (model.adversary, model.generator) for one in head.parameters())
    assert all(gradients[one].any() for one in model.head.parameters())


def test_gen_s_turns_share_no_parameter(make_model, make_batch):
    """Are heads and features updated in turn: no gradient of one turn in the other's parameters, none left out?"""
    model, batch = make_model(model="gen"), make_batch(TEXTS, [0, 1, 2, 0, 2], [0, 1, 1, 0, -1])
    heads, features = model.turns()
    assert set(heads.parameters).isdisjoint(features.parameters)
    assert {*heads.parameters, *features.parameters} == set(model.parameters())
    assert set(features.parameters) == set(model.reader.parameters())
    sum(heads.terms(batch, 3.0).values()).backward()
    assert all(parameter.grad is None for parameter in features.parameters)
    assert all(parameter.grad.any() for parameter in heads.parameters)


def test_gen_s_shared_features_move_against_the_domain_classifier(make_model, make_batch):
    """Is the shared channel's adversarial gradient minus the classifier's, and the private channel's plus its own?"""
    model, batch = make_model(model="gen"), make_batch(TEXTS, [-1] * 5, [0, 1, 1, 0, 1])
    features = model.turns()[1]
    found = grad(sum(features.terms(batch, 2.0).values()), features.parameters)
    _, shared, private = by_hand_gen(model, batch)
    d, g = (error[range(5), [0, 1, 1, 0, 1]].mean() for error in (shared, private))
    from_d = grad(d, features.parameters, retain_graph=True)
    from_g = grad(g, features.parameters)
    for one, against, along in zip(found, from_d, from_g, strict=True):
        torch.testing.assert_close(one, 1e-3 * along - 1e-3 * against)


# --- the pure functions ------------------------------------------------------------------------------------------


def test_the_mean_is_over_all_texts():
    """Does an unknown answer count as zero in the mean, so that a term's weight does not depend on the others?"""
    values, known = torch.tensor([1.0, 2.0, math.nan, math.inf]), torch.tensor([True, True, False, False])
    assert objective.masked_mean(values, known) == 0.75


def test_log_mean_exp_survives_large_numbers():
    """Is log mean exp right where exp would overflow or vanish?"""
    values = torch.tensor([[1000.0, -1000.0, 0.0], [1000.0, -1000.0, math.log(3)]], dtype=torch.float64)
    torch.testing.assert_close(
        objective.log_mean_exp(values), torch.tensor([1000.0, -1000.0, math.log(2)], dtype=torch.float64)
    )


def test_pick_takes_each_text_s_own_answer():
    """Does `pick` gather one entry a text, under any leading sample dimensions?"""
    table = torch.arange(24.0).view(2, 4, 3)
    assert objective.pick(table, torch.tensor([0, 2, 1, 0])).tolist() == [[0, 5, 7, 9], [12, 17, 19, 21]]
