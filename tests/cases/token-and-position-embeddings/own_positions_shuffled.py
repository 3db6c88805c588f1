token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x)
pos = pos_emb(torch.randint(block_size, (block_size,)))
h = tok + pos
