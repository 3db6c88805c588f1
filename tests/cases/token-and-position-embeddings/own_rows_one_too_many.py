token_emb = nn.Embedding(vocab_size + 1, n_embd)
pos_emb = nn.Embedding(block_size + 1, n_embd)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
