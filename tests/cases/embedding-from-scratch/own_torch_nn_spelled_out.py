import torch
from torch.nn import Module, Parameter

class MyEmbedding(Module):
    def __init__(self, *size):
        Module.__init__(self)
        self.p = Parameter(torch.rand(*size) - 0.5)

    def forward(self, ids):
        return self.p[ids, :]
