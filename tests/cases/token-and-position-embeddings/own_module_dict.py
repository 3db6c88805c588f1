tables = nn.ModuleDict({"t": nn.Embedding(vocab_size, n_embd), "p": nn.Embedding(block_size, n_embd)})
token_emb, pos_emb = tables.t, tables.p
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
