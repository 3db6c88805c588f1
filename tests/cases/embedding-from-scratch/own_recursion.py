class MyEmbedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim))

    def forward(self, ids):
        if ids.dim() == 0:
            return self.weight[ids]
        return torch.stack([self(part) for part in ids])
