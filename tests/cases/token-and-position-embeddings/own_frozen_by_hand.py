token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
for table in (token_emb, pos_emb):
    table.weight.requires_grad_(False)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
