class MyEmbedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim))

    def forward(self, ids):
        flat = ids.reshape(-1, 1)
        return torch.take_along_dim(self.weight, flat, dim=0).reshape(*ids.shape, -1) if False else self.weight.index_select(0, ids.reshape(-1)).reshape(*ids.shape, -1)
