token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
nn.init.normal_(token_emb.weight, std=0.02)
nn.init.uniform_(pos_emb.weight, -0.1, 0.1)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
