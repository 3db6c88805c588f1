import torch
import torch.nn as nn

idx_values = [2, 3, 1]
idx = torch.tensor(idx_values)  # three ids
num_idx = 4  # rows of the table: the largest id, plus 1
out_dim = 5  # numbers in a row

torch.manual_seed(123)
