C = 32
token_emb = nn.Embedding(vocab_size, C)
pos_emb = nn.Embedding(block_size, C)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
