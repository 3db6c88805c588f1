token_emb = nn.Embedding(vocab_size, n_embd, max_norm=3.0)
pos_emb = nn.Embedding(block_size, n_embd, max_norm=3.0)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
