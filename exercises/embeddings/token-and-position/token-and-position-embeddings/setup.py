import torch
import torch.nn as nn

# 202 invented names, and the 19 characters they are written with
words = """
bonor mukar parom subil pekibam kopor nisu sadal mador kis vin yus huvi biledul kami yoyo rulu
yes dibim tepirar basiyel duduris tikos kiker rutabe mus moritan podam nibas hidaron sisur vasi
tutis paper dur lasur rul hitodul sen metan hivihel nosipen kanir hum levon rin yudam leyibo
mareter noyen vames dar piyuhus bobon reyel besom tes bayal mis nutenul tenuman tis home varam
kubu vuyam tebibis pelor pubin nayiter nino vobu nabom bikon bal bebuhir dinol dimomom lur naten
vor huruvas doso lokum poyolun rures rohas pivaden yor tadum yaror bekuhul kelolo ramir tibomel
daleval tar nava mal buyas divim ribun pan ben dutode kibor namo pem lohum petim pibom depe
hodan mikim tiben kakar povu teyiben sem viren tedes lan sokor yadus rener marar tipinos lidol
sovun yotaya vuladam nan hobi bum horon varimim yuhul reve nubil dehes tom sasen hil nutiham kus
yol puyis hivute yuhuvum dem veyul yis lahen nopin sukiyir nevever vodim vul yesi kahin sobihen
tareyos bivas setas talir lihum yosan rimuri yoyesam beho lade pehames von vas mayoder mukem
hena rukur supul kubevi relim nepel bino yukas sinubil kahum sel kobur pim yaletes dinel nun
nover nodiyu niku rayapil kuyus heter halum bim ririvom menu
""".split()
text = "\n".join(words) + "\n"
chars = sorted(set(text))
vocab_size = len(chars)

stoi = {ch: i for i, ch in enumerate(chars)}  # character -> id
itos = {i: ch for i, ch in enumerate(chars)}  # id -> character


def encode(s):
    return [stoi[ch] for ch in s]


def decode(ids):
    return "".join(itos[int(i)] for i in ids)


data = torch.tensor(encode(text))

block_size = 8  # characters in a window
batch_size = 32  # windows in a batch
n_embd = 32  # numbers in a row of a table

batches = torch.Generator().manual_seed(0)


def get_batch():
    starts = torch.randint(len(data) - block_size, (batch_size,), generator=batches)
    x = torch.stack([data[s : s + block_size] for s in starts])
    y = torch.stack([data[s + 1 : s + block_size + 1] for s in starts])
    return x, y


x, y = get_batch()  # ids: x is [batch_size, block_size]

torch.manual_seed(0)
