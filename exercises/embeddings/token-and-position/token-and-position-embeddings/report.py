def first(row):
    return [round(float(number), 3) for number in row[:4]]


print(f"token table: {list(token_emb.shape)}  position table: {list(pos_emb.shape)}")
print(f"x: {list(x.shape)}  tok: {list(tok.shape)}  pos: {list(pos.shape)}  h: {list(h.shape)}")
print(f"x[0]: {decode(x[0])!r}   positions 2 and 4 hold {decode(x[0, 2:3])!r} and {decode(x[0, 4:5])!r}")
print(f"tok[0, 2] is row {decode(x[0, 2:3])} of the table: {torch.equal(tok[0, 2], token_emb[x[0, 2]])}")
print(f"tok, first 4 numbers:  position 2 {first(tok[0, 2])}   position 4 {first(tok[0, 4])}")
print(f"h, first 4 numbers:    position 2 {first(h[0, 2])}    position 4 {first(h[0, 4])}")
print(f"h[0, 2] is tok[0, 2] + pos[2]: {torch.allclose(h[0, 2], tok[0, 2] + pos[2])}")
print(f"numbers the model can learn: {learnable} | tok learns: {holds('tok-learns')}")
