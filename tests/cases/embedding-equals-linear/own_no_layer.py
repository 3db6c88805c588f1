embedding = nn.Embedding(num_idx, out_dim)
emb_out = embedding(idx)
onehot = nn.functional.one_hot(idx, num_idx).float()
lin_out = onehot @ embedding.weight
