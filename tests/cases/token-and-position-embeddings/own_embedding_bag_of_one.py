token_emb = nn.EmbeddingBag(vocab_size, n_embd, mode='sum')
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x.reshape(-1, 1)).reshape(*x.shape, n_embd)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
