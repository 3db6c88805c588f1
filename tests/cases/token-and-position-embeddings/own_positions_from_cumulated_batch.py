token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(x)
pos = pos_emb.weight[:x.shape[1]]
h = tok + pos[None, :, :].repeat(batch_size, 1, 1)
