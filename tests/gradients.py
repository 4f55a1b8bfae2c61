"""Gradients as dense tensors: that of the embedding comes as rows."""

import torch


def grad(*arguments, **options):
    """`torch.autograd.grad`, dense."""
    found = torch.autograd.grad(*arguments, **options)
    return tuple(one.to_dense() if one is not None and one.is_sparse else one for one in found)
