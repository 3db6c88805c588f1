class MyEmbedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.w = nn.Parameter(torch.randn(num_embeddings, embedding_dim, dtype=torch.float64))

    def forward(self, ids):
        return self.w[ids]
