token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
tok = torch.tensor([[token_emb.weight[i].tolist() for i in row] for row in x])
pos = pos_emb(torch.arange(block_size))
h = tok + pos
