class MyEmbedding(nn.Module):
def __init__(self, n, d):
    super().__init__()
