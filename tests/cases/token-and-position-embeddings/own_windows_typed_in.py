token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x)
pos = torch.stack([pos_emb.weight[t] for t in range(8)])
h = tok + pos
