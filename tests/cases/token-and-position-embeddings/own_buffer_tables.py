class Table(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.register_buffer("weight", torch.randn(rows, n_embd))

    def forward(self, ids):
        return self.weight[ids]

token_emb = Table(vocab_size)
pos_emb = Table(block_size)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
