class MyEmbedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim))
        self.drop = nn.Dropout(0.5)

    def forward(self, ids):
        return self.drop(self.weight[ids])
