class MyEmbedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.rows = nn.ParameterList([nn.Parameter(torch.randn(embedding_dim)) for _ in range(num_embeddings)])

    def forward(self, ids):
        return torch.stack([self.rows[i] for i in ids.flatten()]).view(*ids.shape, -1)
