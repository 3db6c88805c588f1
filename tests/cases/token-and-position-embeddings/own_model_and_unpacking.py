class Input(nn.Module):
    def __init__(self, rows, places, width):
        super().__init__()
        self.tok_table = nn.Embedding(rows, width)
        self.pos_table = nn.Embedding(places, width)

    def forward(self, ids):
        B, T = ids.shape
        t = self.tok_table(ids)
        p = self.pos_table(torch.arange(T, device=ids.device))
        return t, p, t + p

model = Input(vocab_size, block_size, n_embd)
tok, pos, h = model(x)
token_emb = model.tok_table
pos_emb = model.pos_table
