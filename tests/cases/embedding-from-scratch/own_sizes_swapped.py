class MyEmbedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(embedding_dim, num_embeddings))

    def forward(self, ids):
        return self.weight[ids]
