"""Writes draws.txt: draws of Python's random and of numpy, and the lengths of vLLM and SGLang.

python3 -m venv v && v/bin/pip install numpy==2.4.6 pandas==3.1.1
pip download --no-deps vllm==0.33.0 sglang==0.5.23, both unpacked into the current folder
v/bin/python draws.py > draws.txt        (Python 3.11.7)
"""

import hashlib
import importlib.util
import random
import struct
import sys
import types

import numpy as np
import pandas as pd


def line(name, *lists):
    numbers = [str(int(x)) for xs in lists for x in xs]
    digest = hashlib.sha256(",".join(numbers).encode()).hexdigest()[:16]
    print(name, ",".join(numbers[:8]), len(numbers), digest)


def bits(floats):
    return [struct.unpack("<Q", struct.pack("<d", x))[0] for x in floats]


def shuffled(generator, count):
    xs = list(range(count))
    generator.shuffle(xs)
    return xs


for seed in (0, 1, 42, 2**40 + 7):
    r = random.Random(seed)
    line(f"python {seed} bits", [r.getrandbits(k) for k in (1, 8, 31, 32, 33, 64)])
    line(f"python {seed} below", [r.randrange(n) for n in (1, 2, 3, 10, 1000, 2**31, 2**40)])
    line(f"python {seed} random", bits(r.random() for _ in range(1000)))
    line(f"python {seed} shuffle", shuffled(r, 5000))
    line(f"python {seed} choice", [r.choice(range(77)) for _ in range(100)])
    line(f"python {seed} choices", r.choices(range(1000), k=1000))
    line(f"python {seed} randint", [r.randint(100, 200) for _ in range(100)])

for seed in (0, 1, 42, 2**40 + 7):
    g = np.random.default_rng(seed)
    for low, high, count in (
        (0, 10, 5),
        (819, 1230, 1000),
        (0, 2**32, 3),
        (0, 2**32 - 1, 3),
        (-(2**40), 2**41, 100),
        (0, 2**63 - 1, 2),
        (5, 6, 2),
        (0, 3, 1),
    ):
        line(f"numpy {seed} integers {high}", g.integers(low, high, size=count))
    line(f"numpy {seed} random", bits(g.random(1000).tolist()))
    line(f"numpy {seed} shuffle", shuffled(g, 50))
    line(f"numpy {seed} after", g.integers(0, 1000, size=3))

for seed in (0, 1, 42):
    g = np.random.RandomState(seed)
    line(f"legacy {seed} randint 10", g.randint(0, 10, size=5))
    line(f"legacy {seed} randint 1025", g.randint(204, 1025, size=1000))
    line(f"legacy {seed} randint 8", g.randint(7, 8, size=2))
    line(f"legacy {seed} permutation", g.permutation(5000))
    rows = pd.DataFrame({"row": range(1000)})
    line(f"pandas {seed} sample", rows.sample(n=700, random_state=seed).row)
    more = rows.sample(n=1500, random_state=seed, replace=True)
    line(f"pandas {seed} replace", more.row)

# vLLM's own function, with a tokenizer that adds one token to a text.
for name, names in (("vllm", {}), ("vllm.tokenizers", {"TokenizerLike": object})):
    module = types.ModuleType(name)
    module.__dict__.update(names)
    sys.modules[name] = module
spec = importlib.util.spec_from_file_location("utils", "vllm/benchmarks/datasets/utils.py")
vllm = importlib.util.module_from_spec(spec)
spec.loader.exec_module(vllm)


class Tokenizer:
    vocab_size = 128000

    def num_special_tokens_to_add(self):
        return 1


for seed in (0, 1, 7):
    for ratio, prompt, output, count in ((0.2, 1024, 128, 1000), (0.5, 1500, 250, 333)):
        rng = np.random.default_rng(seed)
        lists = vllm.get_sampling_params(rng, count, ratio, prompt, output, Tokenizer())
        line(f"vllm {seed} {prompt}", *lists)

# SGLang's own function, then the two steps of sample_random_requests that follow it.
source = open("sglang/benchmark/datasets/common.py").read()
source = source[source.index("def compute_random_lens") : source.index("@lru_cache")]
names = {"np": np, "List": list}
exec(source, names)
for seed in (0, 1, 42):
    for ratio, prompt, output, count in ((0.0, 1024, 1024, 1000), (0.5, 1500, 250, 333)):
        np.random.seed(seed)
        inputs = names["compute_random_lens"](prompt, ratio, count)
        outputs = names["compute_random_lens"](output, ratio, count)
        inputs = [max(1, length - 1) for length in inputs]
        offsets = np.random.randint(0, 128000, size=count)
        line(f"sglang {seed} {prompt}", inputs, outputs, offsets)
