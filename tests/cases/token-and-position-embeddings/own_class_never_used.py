class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.token_emb = nn.Embedding(vocab_size, n_embd)
        self.pos_emb = nn.Embedding(block_size, n_embd)

    def forward(self, x):
        tok = self.token_emb(x)
        pos = self.pos_emb(torch.arange(block_size))
        return tok + pos
