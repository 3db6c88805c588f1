token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
out = tok + pos
