token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb.weight.data[x]
pos = pos_emb.weight[torch.arange(block_size)]
h = tok + pos
