"""vLLM's offline engine.

A batch is passed to `add_request`, then `step()` runs in a loop. The time of the prompts runs
from just before the first `add_request` until every sequence has its first token, in as many passes
as vLLM makes of them; a step ends when every sequence has one token more. Sequences that had their
first token early go on until the last has its steps, so that every step is one of the whole batch.
"""

# The engine in this process, where its steps can be called.
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"

# Passes of the scheduler that may be under way when requests are ended.
PASSES_LEFT = 4


def passes(tokens, of_one):
    return -(-tokens // of_one)


def count_as_loaded():
    """Parameters and bytes of the weights as vLLM holds them, its padding of the vocabulary too; filled
    in while the model is loaded, since some backends repack them afterwards and keep no parameters.
    Stays empty where this vLLM loads in another way."""
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


class Vllm:
    def __init__(self, load):
        # Read when torch is imported.
        if load.get("threads"):
            os.environ["OMP_NUM_THREADS"] = str(load["threads"])
        check(load, "vllm")
        import torch
        import vllm
        from vllm.platforms import current_platform as platform

        self.sequences = load["sequences"]
        self.pass_tokens = max(load["pass_tokens"], load["sequences"])
        set_up = {
            "model": load["model"],
            "skip_tokenizer_init": True,
            "max_num_seqs": load["sequences"],
            "max_num_batched_tokens": self.pass_tokens,
            "kv_cache_dtype": DTYPES.get(load["kv_keys"], load["kv_keys"]),
            "disable_log_stats": True,
            **weights(load),
        }
        room = vllm.EngineArgs(**set_up).create_model_config().max_model_len
        asked = load["context_tokens"]
        if asked > room:
            raise Cannot(f"the model takes {room} tokens of a sequence, and {asked} are asked for")
        # Room for those that get their first token while others still wait for theirs.
        set_up["max_model_len"] = min(room, asked + self.ahead(self.sequences, asked))
        sizes = count_as_loaded()
        self.engine = vllm.LLMEngine.from_engine_args(vllm.EngineArgs(**set_up))
        config = self.engine.vllm_config
        self.model, self.cache = config.model_config, config.cache_config
        self.requests = 0
        on_cpu = platform.is_cpu()
        computed = str(self.model.dtype).removeprefix("torch.")
        quantization = self.model.quantization
        self.about = {
            "engine": "vllm",
            "engine_version": vllm.__version__,
            "backend": platform.device_type.upper(),
            "gpu": None if on_cpu else platform.get_device_name(0),
            "model": os.path.basename(os.path.normpath(load["model"])),
            # Elements of packed weights are no parameters.
            "parameters": None if quantization else sizes.get("parameters"),
            "weight_bytes": sizes.get("weight_bytes"),
            "stored": quantization or computed,
            "computed": computed,
            "threads": torch.get_num_threads() if on_cpu else None,
        }

    def ahead(self, sequences, tokens):
        """Most passes in which some of the sequences step while others still wait."""
        return passes(sequences * tokens, self.pass_tokens) + 1 if sequences > 1 else 0

    def add(self, batch, tokens):
        """Adds requests with this many output tokens each; returns their ids."""
        from vllm import SamplingParams

        names = []
        for prompt in batch:
            self.requests += 1
            names.append(str(self.requests))
            answer = SamplingParams(
                max_tokens=min(tokens, self.model.max_model_len - len(prompt)),
                temperature=0,
                ignore_eos=True,
                detokenize=False,
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

    def check_room(self, order):
        block, blocks = self.cache.block_size, self.cache.num_gpu_blocks
        tokens = order["depth_tokens"] + max(order["prompt_tokens"], 1) + order["steps"]
        needed = order["batch_size"] * passes(tokens, block)
        if blocks is not None and needed > blocks:
            raise Cannot(
                f"too little memory: keys and values of {needed * block} tokens are needed,"
                f" and there is room for {blocks * block}"
            )

    def run(self, order):
        batch, depth, steps = order["batch_size"], order["depth_tokens"], order["steps"]
        if depth and not self.cache.enable_prefix_caching:
            raise Cannot("context tokens need vLLM's prefix cache, and it is off for this model")
        self.check_room(order)
        fronts, own = prompts(order, self.model.get_vocab_size())
        if depth:
            names = self.add(fronts, 1)
            self.step_until(dict.fromkeys(names, 1), dict.fromkeys(names, 0), {})
        whole = [front + prompt for front, prompt in zip(fronts, own)]
        cached = {}
        stamps = [time.perf_counter_ns()]
        names = self.add(whole, steps + 1 + self.ahead(batch, len(own[0])))
        have = dict.fromkeys(names, 0)
        try:
            self.step_until(dict.fromkeys(names, 1), have, cached)
            stamps.append(time.perf_counter_ns())
            first = dict(have)
            for step in range(1, steps + 1):
                self.step_until({name: first[name] + step for name in names}, have, cached)
                stamps.append(time.perf_counter_ns())
        finally:
            self.engine.abort_request(names)
            for _ in range(PASSES_LEFT):
                self.engine.step()
        cached = sum(cached.values())
        whole_blocks = batch * (depth - depth % self.cache.block_size)
        if cached < whole_blocks:
            raise Cannot(
                f"too little memory: of {whole_blocks} context tokens {cached} were in the cache"
            )
        return ran(order, stamps, cached_tokens=cached)


serve(Vllm)
