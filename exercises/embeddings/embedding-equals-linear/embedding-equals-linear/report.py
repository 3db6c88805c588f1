def first(row):
    return [round(float(number), 3) for number in row[:5]]


print(f"table: {list(embedding.shape)}  weight of the linear layer: {list(linear.shape)}")
print(f"idx: {idx.tolist()}  onehot: {list(onehot.shape)}")
for row in onehot.tolist():
    print("   ", *(f"{number:g}" for number in row))
print(f"looked up:  {list(emb_out.shape)}  first row {first(emb_out[0])}")
print(f"multiplied: {list(lin_out.shape)}  first row {first(lin_out[0])}")
print(f"the same numbers: {torch.allclose(emb_out, lin_out)}")
