"""Writes selections.txt: what vLLM and SGLang choose from a file that tests/it/selections.rs makes too.

python3 -m venv v && v/bin/pip install numpy==2.4.6 pandas==3.1.1 transformers==5.23.0 \
    datasets==5.2.0 pybase64 soundfile
pip download --no-deps vllm==0.33.0 sglang==0.5.23, both unpacked into the current folder
v/bin/python selections.py > selections.txt      (Python 3.11.7)
"""

import hashlib
import importlib.abc
import importlib.machinery
import json
import os
import random
import sys
import tempfile
from unittest.mock import MagicMock

import numpy as np
from transformers import PreTrainedTokenizerFast

HERE = os.path.dirname(os.path.abspath(__file__))
# What the two data set modules import of their own packages and do not need here.
OWN = ("vllm.benchmarks", "sglang.benchmark.datasets", "sglang.benchmark", "vllm", "sglang")


class Stub(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        top = name.split(".")[0]
        keep = name in OWN or name.startswith(("vllm.benchmarks.", "sglang.benchmark.datasets."))
        if top not in ("vllm", "sglang") or keep and name != "vllm.benchmarks.lib":
            return None
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__spec__ = spec
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


class Package(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The packages themselves, without running their __init__."""

    def find_spec(self, name, path, target=None):
        if name not in OWN:
            return None
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        spec.submodule_search_locations = [name.replace(".", "/")]
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Stub())
sys.meta_path.insert(0, Package())

from vllm.benchmarks.datasets import datasets as vllm  # noqa: E402

WORDS = (
    "the of speed light model token answer question , . red green blue one two three "
    'say "yes" tell\nme why naïve façade 東京 Straße 😀 x=1; C:\\dir a\tb'
).split(" ")


def text(r):
    kind = r.randrange(10)
    bound = 4 if kind == 0 else 120 if kind < 8 else 600 if kind == 8 else 2600
    return " ".join(WORDS[r.randrange(len(WORDS))] for _ in range(r.randrange(bound)))


def conversations(seed, count):
    r = random.Random(seed)
    rows = []
    for index in range(count):
        key = "conversation" if r.randrange(50) == 0 else "conversations"
        first = 1 if r.randrange(10) == 0 else 0
        turns = [
            {"from": ("human", "gpt")[(turn + first) % 2], "value": text(r)}
            for turn in range(r.randrange(6))
        ]
        rows.append({key: turns, "id": f"c{index}"})
    return rows


def selection(name, requests):
    lines = []
    for prompt, prompt_len, output_len in requests:
        digest = hashlib.sha256(prompt.encode()).hexdigest()
        lines.append(f"{digest} {prompt_len} {output_len}\n")
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    tokens = sum(request[1] for request in requests)
    print(name, len(requests), tokens, digest)


def of_vllm(requests):
    return [(r.prompt, r.prompt_len, r.expected_output_len) for r in requests]


tokenizer = PreTrainedTokenizerFast(tokenizer_file=f"{HERE}/tokenizer.json")
folder = tempfile.mkdtemp()
path = f"{folder}/sharegpt.json"
rows = conversations(2023, 5000)
content = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()
open(path, "wb").write(content)
print("file", len(content), hashlib.sha256(content).hexdigest())

ALL = 100000
for seed in (0, 1):
    for name, arguments in (
        ("all", {"num_requests": ALL, "no_oversample": True}),
        ("1000", {"num_requests": 1000}),
        ("output128", {"num_requests": ALL, "output_len": 128, "no_oversample": True}),
        ("oversampled", {"num_requests": 4000}),
    ):
        dataset = vllm.ShareGPTDataset(dataset_path=path, random_seed=seed)
        selection(f"vllm {seed} {name}", of_vllm(dataset.sample(tokenizer=tokenizer, **arguments)))
dataset = vllm.ShareGPTDataset(dataset_path=path, random_seed=0, disable_shuffle=True)
requests = dataset.sample(tokenizer=tokenizer, num_requests=500)
selection("vllm 0 unshuffled", of_vllm(requests))

from sglang.benchmark.datasets import sharegpt as sglang  # noqa: E402

sglang.is_file_valid_json = lambda path: True
sys.stdout, stdout = open(os.devnull, "w"), sys.stdout
for seed in (0, 1, 42):
    for name, count, fixed, context in (
        ("all", ALL, None, None),
        ("1000", 1000, None, None),
        ("output128", 1000, 128, None),
        ("context", ALL, None, 300),
    ):
        random.seed(seed)
        np.random.seed(seed)
        chosen = sglang.sample_sharegpt_requests(path, count, tokenizer, fixed, context)
        sys.stdout, hidden = stdout, sys.stdout
        chosen = [(row.prompt, row.prompt_len, row.output_len) for row in chosen]
        selection(f"sglang {seed} {name}", chosen)
        sys.stdout = hidden
sys.stdout = stdout

# A streamed data set of one file, as vLLM shuffles those of the hub; and its BurstGPT rows.
from datasets import load_dataset  # noqa: E402

for count in (300, 3500):
    path = f"{folder}/rows{count}.jsonl"
    with open(path, "w") as file:
        for index in range(count):
            file.write(json.dumps({"problem": f"the question {index}", "solution": "of " * 5}) + "\n")
    for seed in (0, 1):
        data = load_dataset("json", data_files=path, split="train", streaming=True)
        problems = [row["problem"] for row in data.shuffle(seed=seed)]
        selection(f"hf {seed} {count}", [(problem, 0, 0) for problem in problems])

path = f"{folder}/burst.csv"
with open(path, "w") as file:
    file.write("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n")
    r = random.Random(7)
    for index in range(2000):
        model = ("ChatGPT", "GPT-4")[r.randrange(2)]
        prompt, output = 1 + r.randrange(2000), r.randrange(500)
        output = 0 if r.randrange(20) == 0 else output
        file.write(f"{index * 5},{model},{prompt},{output},{prompt + output},API log\n")


class Decoder:
    vocab_size = 10

    def decode(self, ids):
        return ""


for seed in (0, 1):
    for count in (500, 1200):
        dataset = vllm.BurstGPTDataset(dataset_path=path, random_seed=seed)
        requests = dataset.sample(tokenizer=Decoder(), num_requests=count)
        selection(f"burst {seed} {count}", of_vllm(requests))
