token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x)
steps = torch.ones(x.size(1), dtype=torch.long).cumsum(0) - 1
pos = pos_emb(steps)
h = sum([tok, pos])
