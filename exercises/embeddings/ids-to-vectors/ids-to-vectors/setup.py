import torch
import torch.nn as nn

vocab_size = 50257  # tokens that GPT-2 knows
n_embd = 768  # numbers in a vector
batch_size = 4  # texts
block_size = 16  # tokens of each

torch.manual_seed(0)
ids = torch.randint(vocab_size, (batch_size, block_size))  # stands for four tokenised texts
