token_emb = nn.Embedding(19, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
