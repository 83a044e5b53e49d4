"""The lines of inferometer's engine protocol, for the adapters that come with it.

An adapter is this file with its own behind it. Its own holds a class that is made of an order to
load, has `about`, and has `run(order)`; then it calls `serve`.
"""

import sys

# A folder here by the name of a package is not that package.
sys.path[:] = [folder for folder in sys.path if folder]

import json
import os
import random
import time

# The protocol has standard output for itself: what others print goes to standard error.
protocol = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


class Cannot(Exception):
    """What is asked for cannot be had; its text is the reason."""


def check(load, package):
    """Refuses what no adapter can do, and a Python without the package."""
    if load["protocol"] != 1:
        raise Cannot(f"protocol {load['protocol']} is not spoken, 1 is")
    keys, values = load["kv_keys"], load["kv_values"]
    if keys != values:
        raise Cannot(f"{package} keeps keys and values in one format, not {keys} and {values}")
    try:
        __import__(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise Cannot(f"{package} is not installed for {sys.executable}") from None


def weights(load):
    """What is to be set for the format of the weights; nothing for the model's own."""
    asked = load.get("weights")
    if asked in DTYPES:
        return {"dtype": DTYPES[asked]}
    return {"quantization": asked} if asked else {}


def prompts(order, vocabulary):
    """Token ids of each sequence, drawn by the seed: the preceding context, and the prompt. Without a
    prompt the steps begin behind one token."""
    draw = random.Random(order["seed"])

    def fresh(count):
        return [[draw.randrange(vocabulary) for _ in range(count)] for _ in range(order["batch_size"])]

    return fresh(order["depth_tokens"]), fresh(max(order["prompt_tokens"], 1))


def ran(order, stamps, **more):
    """The answer of stamps in nanoseconds: the begin, the first tokens, then each step."""
    times = [later - sooner for sooner, later in zip(stamps, stamps[1:])]
    if order["prompt_tokens"]:
        more["prompt_ns"] = times[0]
    return {"is": "ran", "seed": order["seed"], "step_ns": times[1:], **more}


def serve(engine_class):
    """Answers orders until there are no more."""
    engine = None
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if order["do"] == "load":
                engine = engine_class(order)
                told = engine.about.items()
                said = {"is": "ready", **{key: value for key, value in told if value is not None}}
            elif engine is None:
                raise Cannot("no model is loaded")
            else:
                said = engine.run(order)
        except Exception as error:
            why = str(error)
            if not isinstance(error, Cannot):
                # The first line says what is wrong; what follows is advice.
                why = f"{type(error).__name__}: {(why.strip().splitlines() or [''])[0]}"
            said = {"is": "cannot", "why": why, "seed": order.get("seed")}
        print(json.dumps(said), file=protocol, flush=True)
