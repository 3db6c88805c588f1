class MyEmbedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.table = torch.randn(num_embeddings, embedding_dim)

    def forward(self, ids):
        return self.table[ids]
