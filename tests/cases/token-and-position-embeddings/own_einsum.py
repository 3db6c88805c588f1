token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
hot = nn.functional.one_hot(x, vocab_size).to(torch.float32)
tok = torch.einsum('btv,vc->btc', hot, token_emb.weight)
pos = pos_emb(torch.arange(block_size))
h = torch.einsum('btc->btc', tok) + pos
