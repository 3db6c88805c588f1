from torch import Tensor
token_emb: nn.Embedding = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
if (tok := token_emb(x)) is not None:
    pos: Tensor = pos_emb(torch.arange(0, block_size, 1))
h: Tensor = pos.unsqueeze(0) + tok
