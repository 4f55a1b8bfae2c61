"""Prior and posterior: the paper's parameterisation, what is unknown, and precision."""

import pytest
import torch
import torch.nn.functional as F
from torch.distributions import Categorical, Independent, kl_divergence

from domaingate.model.distributions import Beta, Dirichlet, Gamma
from domaingate.model.gates import GATES, BetaGate, CategoricalGate, DirichletGate, GammaGate, Posterior

from domaingate.model.gates import known_domain, known_label  # isort: skip

FLOOR = 0.01  # what every parameter has on top of the paper's formula


def linear(layer, context):
    return context @ layer.weight.T + layer.bias


@pytest.fixture
def context():
    torch.manual_seed(0)
    return 3 * torch.randn(7, 5, dtype=torch.float64)


def test_the_dirichlet_s_concentration_is_exp_f0_sigmoid_f(context):
    """Is the concentration alpha_0 alpha, as in the equations, with a floor?"""
    gate = DirichletGate(5, 4).double()
    distribution = gate(context)
    by_hand = linear(gate.scale, context).exp() * torch.sigmoid(linear(gate.affinity, context))
    assert isinstance(distribution, Dirichlet)
    assert by_hand.shape == (7, 4)
    torch.testing.assert_close(distribution.concentration, by_hand + FLOOR)


@pytest.mark.parametrize(("gate_type", "family"), [(BetaGate, Beta), (GammaGate, Gamma)])
def test_beta_and_gamma_take_elu_plus_one(context, gate_type, family):
    """Are both parameters elu(f) + 1 of their own linear maps, for each channel independently?"""
    gate = gate_type(5, 4).double()
    distribution = gate(context)
    assert isinstance(distribution, Independent)
    assert isinstance(distribution.base_dist, family)
    assert (distribution.batch_shape, distribution.event_shape) == ((7,), (4,))
    second = gate.beta if family is Beta else gate.rate
    first, second = (F.elu(linear(layer, context)) + 1 + FLOOR for layer in (gate.alpha, second))
    base = distribution.base_dist
    found = (base.concentration1, base.concentration0) if family is Beta else (base.concentration, base.rate)
    torch.testing.assert_close(found[0], first)
    torch.testing.assert_close(found[1], second)
    z = distribution.sample((3,))
    torch.testing.assert_close(distribution.log_prob(z), base.log_prob(z).sum(dim=-1))


def test_the_categorical_is_a_softmax(context):
    """Is DSDA's prior softmax(f)?"""
    gate = CategoricalGate(5, 4).double()
    distribution = gate(context)
    assert isinstance(distribution, Categorical)
    torch.testing.assert_close(distribution.probs, linear(gate.affinity, context).softmax(dim=-1))


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("size", [1.0, 30.0, 1000.0, 1e6])
def test_no_context_is_too_wild(name, size):
    """Are samples, density, KL and gradients finite whatever the CNN says, in float32?"""
    torch.manual_seed(0)
    q, p = GATES[name](5, 4), GATES[name](5, 4)
    context = (size * torch.randn(64, 5)).requires_grad_()
    one, other = q(context), p(context)
    z = one.rsample()
    for value in (z.sum(), one.log_prob(z).mean(), other.log_prob(z.detach()).mean(), kl_divergence(one, other).mean()):
        assert value.isfinite()
        gradients = torch.autograd.grad(
            value, [context, *q.parameters(), *p.parameters()], retain_graph=True, allow_unused=True
        )
        assert all(gradient.isfinite().all() for gradient in gradients if gradient is not None)


@pytest.mark.parametrize("name", [*GATES, "categorical"])
def test_autocast_does_not_lower_precision(name):
    """Inside a bfloat16 autocast, are parameters, samples and KL the very ones from outside?"""
    gate = {**GATES, "categorical": CategoricalGate}[name](5, 4)
    context = torch.randn(7, 5)
    outside = gate(context)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = gate(context)
        from_half = gate(context.bfloat16())
    assert inside.mean.dtype == from_half.mean.dtype == torch.float32
    assert torch.equal(kl_divergence(inside, outside), kl_divergence(outside, outside))
    if name == "categorical":
        assert torch.equal(inside.logits, outside.logits)
        return
    assert torch.equal(inside.mean, outside.mean)
    assert torch.equal(from_half.mean, gate(context.bfloat16().float()).mean)
    assert inside.rsample().dtype == from_half.rsample().dtype == torch.float32


@pytest.mark.parametrize("name", GATES)
def test_float64_stays_float64(context, name):
    """Does a wide context give a wide distribution?"""
    distribution = GATES[name](5, 4).double()(context)
    assert distribution.mean.dtype == distribution.rsample().dtype == torch.float64


# --- the posterior -----------------------------------------------------------------------------------------------


@pytest.fixture(params=GATES)
def posterior(request):
    torch.manual_seed(1)
    return Posterior(GATES[request.param], 5, 4, labels=3, domains=2, sizes=(2, 6)).double()


def means(posterior, context, labels, domains):
    return posterior(context, torch.tensor(labels), torch.tensor(domains)).mean


LABELS, DOMAINS = [0, 1, 2, -1, -1, 0, 2], [0, 1, -1, -1, 1, 0, -1]


def test_the_posterior_joins_the_vector_with_both_embeddings(posterior, context):
    """Is q the gate of [CNN(x); e(y); e(d)], with one more row for UNK?"""
    assert posterior.label.weight.shape == (4, 2)
    assert posterior.domain.weight.shape == (3, 6)
    joined = torch.cat([context, posterior.label.weight[LABELS], posterior.domain.weight[DOMAINS]], dim=-1)
    torch.testing.assert_close(means(posterior, context, LABELS, DOMAINS), posterior.gate(joined).mean)


def test_unk_is_for_the_unknown_only(posterior, context):
    """Does the row of UNK matter to -1 alone, and each other row to its own label or domain alone?"""
    before = means(posterior, context, LABELS, DOMAINS)
    for embedding, answers in ((posterior.label, LABELS), (posterior.domain, DOMAINS)):
        rows = len(embedding.weight)
        for row in range(rows):
            kept = embedding.weight.detach().clone()
            with torch.no_grad():
                embedding.weight[row] += 1
            after = means(posterior, context, LABELS, DOMAINS)
            with torch.no_grad():
                embedding.weight.copy_(kept)
            touched = torch.tensor([(answer if answer >= 0 else rows - 1) == row for answer in answers])
            assert torch.equal(after[~touched], before[~touched])
            assert (after[touched] != before[touched]).any(dim=-1).all()


def test_what_is_not_known_is_minus_one(make_batch):
    """Does the mask decide, whatever number stands behind it?"""
    batch = make_batch([[1], [2], [3]], [2, -1, 0], [-1, 1, -1])
    batch.label[1], batch.domain[0] = 7, 9
    assert known_label(batch).tolist() == [2, -1, 0]
    assert known_domain(batch).tolist() == [-1, 1, -1]
