"""Samples of z, their densities and their gradients, from tiny concentrations to huge ones."""

import itertools
import math

import pytest
import torch
from scipy import stats
from scipy.special import roots_jacobi
from torch.distributions import kl_divergence

from domaingate.model.distributions import Beta, Dirichlet, Gamma

CONCENTRATIONS = (0.01, 0.1, 1.0, 100.0, 8000.0)
DRAWS = 40_000


def wide(*values):
    return torch.tensor(values, dtype=torch.float64)


def families(a, b, dtype=torch.float64):
    """Each family at concentrations a and b, without a batch."""
    a, b = torch.tensor(a, dtype=dtype), torch.tensor(b, dtype=dtype)
    return {
        "dirichlet": Dirichlet(torch.stack([a, b, a])),
        "beta": Beta(a, b),
        "gamma": Gamma(a, b),
    }


PAIRS = [*itertools.combinations_with_replacement(CONCENTRATIONS, 2), (8000.0, 0.01)]


def assert_follows(sample, reference, low, high):
    """Kolmogorov and Smirnov's distance on a grid within [low, high], outside of which floats have no room."""
    grid = torch.cat([
        torch.logspace(math.log10(low), -0.4, 400, dtype=torch.float64),
        torch.linspace(0.001, 0.999, 999, dtype=torch.float64) * high,
        torch.tensor(reference.ppf([(i + 0.5) / 200 for i in range(200)])),
    ])  # fmt: skip
    grid = grid[(grid >= low) & (grid <= high)].sort().values
    share = torch.searchsorted(sample.sort().values, grid, right=True) / len(sample)
    assert (share - torch.tensor(reference.cdf(grid.numpy()))).abs().max() < 1.95 / math.sqrt(len(sample))  # p = 0.001


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_samples_follow_their_distribution(pair):
    """Are samples of each family distributed as scipy says, at every concentration?"""
    a, b = pair
    torch.manual_seed(int(a * 100 + b))
    made = families(a, b)
    shares = made["dirichlet"].sample((DRAWS,))
    assert_follows(shares[:, 0], stats.beta(a, a + b), 1e-290, 1 - 1e-6)
    assert_follows(shares[:, 1], stats.beta(b, 2 * a), 1e-290, 1 - 1e-6)
    assert_follows(made["beta"].sample((DRAWS,)), stats.beta(a, b), 1e-290, 1 - 1e-6)
    assert_follows(made["gamma"].sample((DRAWS,)) * b, stats.gamma(a), 1e-290 * b, math.inf)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_samples_have_the_right_mean_and_variance(pair):
    """Do the sample's first two moments agree with the closed forms, within their standard errors?"""
    torch.manual_seed(int(pair[0] * 100 + pair[1]) + 1)
    for distribution in families(*pair).values():
        sample = distribution.sample((DRAWS,))
        error = sample.std(dim=0) / math.sqrt(DRAWS)
        slack = 1e-6 * distribution.mean  # shares stop short of 1
        assert ((sample.mean(dim=0) - distribution.mean).abs() <= 4.5 * error + slack + 1e-7).all()
        squares = (sample - distribution.mean) ** 2
        error = squares.std(dim=0) / math.sqrt(DRAWS)
        assert (
            (squares.mean(dim=0) - distribution.variance).abs() <= 5 * error + 1e-6 * distribution.variance + 1e-12
        ).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_samples_densities_and_gradients_are_finite_and_inside(pair, dtype):
    """Is there a concentration at which something is infinite, NaN or outside of the support?"""
    torch.manual_seed(int(pair[0] * 100 + pair[1]) + 2)
    for name in ("dirichlet", "beta", "gamma"):
        a, b = (torch.tensor([value] * 3, dtype=dtype, requires_grad=True) for value in pair)
        distribution = {"dirichlet": lambda a=a: Dirichlet(a), "beta": lambda a=a, b=b: Beta(a, b)}.get(
            name, lambda a=a, b=b: Gamma(a, b)
        )()
        sample = distribution.rsample((3000,))
        assert sample.dtype == dtype
        assert distribution.support.check(sample).all()
        assert (sample > 0).all()
        if name != "gamma":
            assert (sample < 1).all()
        density = distribution.log_prob(sample)
        assert density.isfinite().all()
        leaves = (a,) if name == "dirichlet" else (a, b)
        for value in (sample.sum(), sample.log().sum(), density.mean()):
            gradients = torch.autograd.grad(value, leaves, retain_graph=True, allow_unused=True)
            assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_kl_is_finite_with_its_gradients(dtype):
    """Is KL(q||p) finite, with finite gradients in all four parameters, between any two concentrations?"""
    for first, second in itertools.product(PAIRS, repeat=2):
        parameters = [torch.tensor(value, dtype=dtype, requires_grad=True) for value in (*first, *second)]
        a, b, c, d = parameters
        for q, p in (
            (Dirichlet(torch.stack([a, b, a])), Dirichlet(torch.stack([c, d, c]))),
            (Beta(a, b), Beta(c, d)),
            (Gamma(a, b), Gamma(c, d)),
        ):
            kl = kl_divergence(q, p)
            assert kl.isfinite()
            assert all(gradient.isfinite() for gradient in torch.autograd.grad(kl, parameters))
            if dtype == torch.float64:
                assert kl >= -1e-7


@pytest.mark.parametrize("size", [2, 13])
def test_kl_in_float32_is_the_kl(size):
    """Are KL's gradients in float32 right to a thousandth, and its value to the rounding of its largest summand?"""
    torch.manual_seed(0)
    for scale in CONCENTRATIONS:
        values = [scale * (0.2 + 0.8 * torch.rand(50, size)) for _ in range(2)]
        for make in (lambda x: Dirichlet(x), lambda x: Beta(x, x.flip(-1)), lambda x: Gamma(x, x.flip(-1))):
            found = []
            for dtype in (torch.float32, torch.float64):
                q, p = (value.to(dtype).requires_grad_() for value in values)
                kl = kl_divergence(make(q), make(p))
                found.append((kl.detach().double(), *torch.autograd.grad(kl.sum(), (q, p))))
            (narrow, *gradients), (exact, *expected) = found
            assert (narrow - exact).abs().max() < 5e-6 * (1 + scale * size)
            for one, other in zip(gradients, expected, strict=True):
                assert (one - other).norm() < 1e-3 * other.norm()


def test_kl_is_zero_between_equals():
    """Is KL(q||p) = 0 where q = p, at every concentration?"""
    for pair in PAIRS:
        for distribution in families(*pair).values():
            assert kl_divergence(distribution, distribution).abs() < 1e-7


@pytest.mark.parametrize("pairs", [((0.5, 1.5), (1.0, 1.0)), ((3.0, 2.0), (1.0, 4.0)), ((100.0, 80.0), (90.0, 100.0))])
def test_kl_is_the_expected_log_ratio(pairs):
    """Does the closed form agree with an average over samples of q?"""
    torch.manual_seed(1)
    for q, p in zip(*(families(*pair).values() for pair in pairs), strict=True):
        sample = q.sample((DRAWS,))
        ratio = q.log_prob(sample) - p.log_prob(sample)
        assert abs(ratio.mean() - kl_divergence(q, p)) < 4.5 * ratio.std() / math.sqrt(DRAWS)


@pytest.mark.parametrize("concentration", [0.3, 1.0, 4.0, 50.0])
def test_densities_integrate_to_one(concentration):
    """Is exp(log_prob) a density?"""
    s = (torch.arange(200_000, dtype=torch.float64) + 0.5) / 200_000
    u = s**4  # more places near 0, where densities of small concentrations stand high
    jacobian = 4 * s**3
    density = Beta(wide(concentration), wide(2.0)).log_prob(u).exp()
    assert (density * jacobian).mean() == pytest.approx(1, abs=1e-3)
    on_segment = Dirichlet(wide(concentration, 2.0)).log_prob(torch.stack([u, 1 - u], dim=-1)).exp()
    torch.testing.assert_close(on_segment, density)
    reach = 400 / concentration
    amounts = Gamma(wide(concentration), wide(concentration)).log_prob(u * reach).exp()
    assert (amounts * jacobian * reach).mean() == pytest.approx(1, abs=1e-3)


# --- the gradient of an expectation ------------------------------------------------------------------------------


def sampled_gradient(make, parameters, f):
    """The mean over samples of d f(z) / d parameters through `rsample`, and its standard error."""
    leaves = [parameter.expand(DRAWS, *parameter.shape).clone().requires_grad_() for parameter in parameters]
    gradients = torch.autograd.grad(f(make(*leaves).rsample()).sum(), leaves)
    return [gradient.mean(dim=0) for gradient in gradients], [
        gradient.std(dim=0) / math.sqrt(DRAWS) for gradient in gradients
    ]


def finite_differences(expectation, parameters, step=1e-4):
    """d expectation / d parameters by central differences of relative size `step`."""
    slopes = []
    for place, parameter in enumerate(parameters):
        slope = torch.zeros_like(parameter)
        for index in itertools.product(*map(range, parameter.shape)):
            values = []
            for sign in (1, -1):
                moved = [one.clone() for one in parameters]
                moved[place][index] *= 1 + sign * step
                values.append(expectation(*moved))
            slope[index] = (values[0] - values[1]) / (2 * step * parameter[index])
        slopes.append(slope)
    return slopes


def assert_unbiased(make, parameters, f, expectation, step=1e-4):
    found, errors = sampled_gradient(make, parameters, f)
    for gradient, error, slope in zip(found, errors, finite_differences(expectation, parameters, step), strict=True):
        assert ((gradient - slope).abs() <= 4.5 * error + 1e-5 * slope.abs() + 1e-9).all(), (gradient, slope, error)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_gradients_of_a_gamma_s_expectations(pair):
    """Does the gradient through Gamma samples average to the slope of E[z], E[z^2] and E[sqrt z]?"""
    torch.manual_seed(int(pair[0] * 100 + pair[1]) + 3)
    parameters = [torch.tensor(value, dtype=torch.float64) for value in pair]
    assert_unbiased(Gamma, parameters, lambda z: z, lambda a, r: a / r)
    assert_unbiased(Gamma, parameters, lambda z: z**2, lambda a, r: a * (a + 1) / r**2)
    assert_unbiased(
        Gamma, parameters, lambda z: z.sqrt(), lambda a, r: (torch.lgamma(a + 0.5) - torch.lgamma(a)).exp() / r.sqrt()
    )


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_gradients_of_a_beta_s_expectations(pair):
    """Does the gradient through Beta samples average to the slope of E[z] and E[z^2]?"""
    torch.manual_seed(int(pair[0] * 100 + pair[1]) + 4)
    parameters = [torch.tensor(value, dtype=torch.float64) for value in pair]
    assert_unbiased(Beta, parameters, lambda z: z, lambda a, b: a / (a + b))
    assert_unbiased(Beta, parameters, lambda z: z**2, lambda a, b: a * (a + 1) / ((a + b) * (a + b + 1)))


@pytest.mark.parametrize("pair", [(0.1, 0.2), (0.5, 2.0), (1.0, 1.0), (6.0, 3.0), (100.0, 40.0)], ids=str)
def test_gradients_of_any_function_of_a_beta(pair):
    """The same for log(1 + 5z) sin(3z), whose expectation comes from quadrature."""

    def f(z):
        return torch.log1p(5 * z) * torch.sin(3 * z)

    def expectation(a, b):
        places, weights = roots_jacobi(80, float(b) - 1, float(a) - 1)
        return (f(torch.tensor((places + 1) / 2)) * torch.tensor(weights / weights.sum())).sum()

    torch.manual_seed(5)
    assert_unbiased(Beta, [torch.tensor(value, dtype=torch.float64) for value in pair], f, expectation, 1e-3)


@pytest.mark.parametrize("scale", CONCENTRATIONS)
def test_gradients_of_a_dirichlet_s_expectations(scale):
    """Does the gradient through Dirichlet samples average to the slope of E[w . z], E[(w . z)^2]?"""
    torch.manual_seed(int(scale * 100) + 6)
    weight = wide(1.0, -2.0, 0.5, 3.0)
    concentration = scale * wide(0.3, 1.0, 0.6, 0.9)

    def second_moment(a):
        total = a.sum()
        return (torch.outer(a, a) + torch.diag(a)) / (total * (total + 1))

    assert_unbiased(Dirichlet, [concentration], lambda z: z @ weight, lambda a: (a / a.sum()) @ weight)
    assert_unbiased(
        Dirichlet, [concentration], lambda z: (z @ weight) ** 2, lambda a: weight @ second_moment(a) @ weight
    )


def test_a_sample_has_the_shape_that_was_asked_for():
    """Are sample shapes as in torch.distributions, and is `sample` without a gradient?"""
    a = torch.ones(5, 3, requires_grad=True)
    for distribution in (Dirichlet(a), Beta(a, a), Gamma(a, a)):
        for shape in ((), (2,), (4, 2)):
            assert distribution.rsample(shape).shape == (*shape, 5, 3)
            assert distribution.rsample(torch.Size(shape)).requires_grad
            assert not distribution.sample(shape).requires_grad


def test_shares_sum_to_one():
    """Do Dirichlet samples lie on the simplex, also where one share has it all?"""
    torch.manual_seed(0)
    for scale in CONCENTRATIONS:
        for dtype, tolerance in ((torch.float32, 1e-6), (torch.float64, 1e-7)):
            sample = Dirichlet(torch.full((13,), scale, dtype=dtype)).sample((500,))
            assert (sample.sum(dim=-1) - 1).abs().max() < tolerance
