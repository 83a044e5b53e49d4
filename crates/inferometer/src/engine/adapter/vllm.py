"""vLLM's offline engine behind inferometer's engine protocol.

Batches of random token ids by `LLMEngine.add_request`, then `step()` in a loop. The prompts' time runs from
in front of the first `add_request` until every sequence has its first token, in as many passes as
vLLM makes of them; a step ends when every sequence has one token more. Sequences that had their
first token early go on until the last has its steps, so that every step is one of the whole batch.
"""

import json
import os
import random
import sys
import time

# The protocol has standard output for itself: what others print goes to standard error.
protocol = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
# The engine in this process, where its steps can be called.
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
os.environ.setdefault("DO_NOT_TRACK", "1")

DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
# Scheduler passes that a lookahead may leave behind after requests were ended.
PASSES_LEFT = 4


class Cannot(Exception):
    """What is asked for cannot be had; its text is the reason."""


def passes(tokens, of_one):
    return -(-tokens // of_one)


def count_as_loaded():
    """Parameters and bytes of the weights, filled in while the model is loaded: some backends repack
    them afterwards, and keep no parameters. Stays empty where this vLLM loads in another way."""
    from vllm.model_executor.model_loader import base_loader

    sizes = {}
    name = "process_weights_after_loading"
    process = getattr(base_loader, name, None)

    def counted(model, *rest, **named):
        parameters = list(model.parameters())
        sizes["parameters"] = sum(one.numel() for one in parameters)
        sizes["weight_bytes"] = sum(one.nbytes for one in parameters)
        return process(model, *rest, **named)

    if process is not None:
        setattr(base_loader, name, counted)
    return sizes


class Engine:
    def __init__(self, load):
        if load["protocol"] != 1:
            raise Cannot(f"protocol {load['protocol']} is not spoken, 1 is")
        if load.get("threads"):
            os.environ["OMP_NUM_THREADS"] = str(load["threads"])
        try:
            import torch
            import vllm
            from vllm import EngineArgs, LLMEngine
        except ImportError as error:
            raise Cannot(f"vllm is not installed for {sys.executable}: {error}") from None
        keys, values = load["kv_keys"], load["kv_values"]
        if keys != values:
            raise Cannot(f"vLLM keeps keys and values in one format, not {keys} and {values}")
        self.sequences = load["sequences"]
        self.pass_tokens = max(load["pass_tokens"], load["sequences"])
        weights = load.get("weights")
        words = {
            "model": load["model"],
            "skip_tokenizer_init": True,
            "max_num_seqs": load["sequences"],
            "max_num_batched_tokens": self.pass_tokens,
            "kv_cache_dtype": DTYPES.get(keys, keys),
            "disable_log_stats": True,
        }
        if weights in DTYPES:
            words["dtype"] = DTYPES[weights]
        elif weights:
            words["quantization"] = weights
        room = EngineArgs(**words).create_model_config().max_model_len
        asked = load["context_tokens"]
        if asked > room:
            raise Cannot(f"the model takes {room} tokens of a sequence, and {asked} are asked for")
        # Room for those that get their first token while others still wait for theirs.
        words["max_model_len"] = min(room, asked + self.ahead(self.sequences, asked))
        sizes = count_as_loaded()
        self.engine = LLMEngine.from_engine_args(EngineArgs(**words))
        self.config = self.engine.vllm_config
        self.vocabulary = self.config.model_config.get_vocab_size()
        self.requests = 0
        from vllm.platforms import current_platform as platform

        on_cpu = platform.is_cpu()
        dtype = str(self.config.model_config.dtype).removeprefix("torch.")
        self.about = {
            "engine": "vllm",
            "engine_version": vllm.__version__,
            "backend": platform.device_type.upper(),
            "gpu": None if on_cpu else platform.get_device_name(0),
            "model": os.path.basename(os.path.normpath(load["model"])),
            **sizes,
            "stored": self.config.model_config.quantization or dtype,
            "computed": dtype,
            "threads": torch.get_num_threads() if on_cpu else None,
        }

    def ahead(self, sequences, tokens):
        """Most passes in which some of the sequences step while others still wait."""
        return passes(sequences * tokens, self.pass_tokens) + 1 if sequences > 1 else 0

    def add(self, prompts, tokens):
        """Requests that give so many tokens each; their names."""
        from vllm import SamplingParams

        names = []
        for prompt in prompts:
            self.requests += 1
            names.append(str(self.requests))
            longest = self.config.model_config.max_model_len - len(prompt)
            answer = SamplingParams(
                max_tokens=min(tokens, longest), temperature=0, ignore_eos=True, detokenize=False
            )
            self.engine.add_request(names[-1], {"prompt_token_ids": prompt}, answer)
        return names

    def step_until(self, wanted, have, cached):
        """Steps until every sequence has the tokens that are wanted of it."""
        while any(have[name] < count for name, count in wanted.items()):
            if not self.engine.has_unfinished_requests():
                raise Cannot("sequences ended early: there is no room for the tokens that follow")
            for output in self.engine.step():
                have[output.request_id] = len(output.outputs[0].token_ids)
                cached[output.request_id] = output.num_cached_tokens or 0

    def check_room(self, batch, tokens):
        cache = self.config.cache_config
        block = cache.block_size
        needed = batch * passes(tokens, block)
        if cache.num_gpu_blocks is not None and needed > cache.num_gpu_blocks:
            raise Cannot(
                f"too little memory: keys and values of {needed * block} tokens are needed,"
                f" and there is room for {cache.num_gpu_blocks * block}"
            )

    def run(self, case):
        batch, depth, steps = case["batch_size"], case["depth_tokens"], case["steps"]
        # Steps without a prompt begin behind one token.
        prompt = max(case["prompt_tokens"], 1)
        cache = self.config.cache_config
        if depth and not cache.enable_prefix_caching:
            raise Cannot("tokens in front need vLLM's prefix cache, and it is off for this model")
        self.check_room(batch, depth + prompt + steps)
        draw = random.Random(case["seed"])
        fresh = lambda count: [draw.randrange(self.vocabulary) for _ in range(count)]
        fronts = [fresh(depth) for _ in range(batch)]
        if depth:
            names = self.add(fronts, 1)
            self.step_until(dict.fromkeys(names, 1), dict.fromkeys(names, 0), {})
        prompts = [front + fresh(prompt) for front in fronts]
        begun = time.perf_counter_ns()
        names = self.add(prompts, steps + 1 + self.ahead(batch, prompt))
        have, cached = dict.fromkeys(names, 0), {}
        try:
            self.step_until(dict.fromkeys(names, 1), have, cached)
            stamps = [time.perf_counter_ns()]
            first = dict(have)
            for step in range(1, steps + 1):
                self.step_until({name: first[name] + step for name in names}, have, cached)
                stamps.append(time.perf_counter_ns())
        finally:
            self.engine.abort_request(names)
            for _ in range(PASSES_LEFT):
                self.engine.step()
        cached = sum(cached.values())
        whole_blocks = batch * (depth - depth % cache.block_size)
        if cached < whole_blocks:
            raise Cannot(
                f"too little memory: of {whole_blocks} tokens in front {cached} were still in the cache"
            )
        ran = {"is": "ran", "seed": case["seed"], "cached_tokens": cached}
        if case["prompt_tokens"]:
            ran["prompt_ns"] = stamps[0] - begun
        ran["step_ns"] = [later - sooner for sooner, later in zip(stamps, stamps[1:])]
        return ran


def answer(engine, order):
    """The engine afterwards, and what is answered."""
    seed = order.get("seed")
    try:
        if order["do"] == "load":
            engine = Engine(order)
            told = {key: value for key, value in engine.about.items() if value is not None}
            return engine, {"is": "ready", **told}
        if engine is None:
            raise Cannot("no model is loaded")
        return engine, engine.run(order)
    except Cannot as why:
        return engine, {"is": "cannot", "why": str(why), "seed": seed}
    except Exception as error:
        # Its first line says what is wrong; what follows is advice.
        lines = str(error).strip().splitlines() or [""]
        return engine, {"is": "cannot", "why": f"vLLM: {type(error).__name__}: {lines[0]}", "seed": seed}


def main():
    engine = None
    for line in sys.stdin:
        engine, said = answer(engine, json.loads(line))
        print(json.dumps(said), file=protocol, flush=True)


if __name__ == "__main__":
    main()
