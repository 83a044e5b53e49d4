"""SGLang's model runner, driven as its own one-batch script drives it: no scheduler, no server.

The prompts of a batch are one `extend`, a step is one `decode`, with the device waited for around
each. Tokens in front are extended first and held where they are. Nothing is split into passes.
Written after `sglang.bench_one_batch`, whose functions it calls; tested only against a stand-in.
"""

from types import SimpleNamespace

# Functions of the script that are needed.
NEEDED = [
    "ServerArgs",
    "PortArgs",
    "load_model",
    "prepare_synthetic_inputs_for_latency_test",
    "prepare_extend_inputs_for_correctness_test",
]
# What the script calls before it loads a model, where its version has it.
PREPARATIONS = [
    "_set_envs_and_config",
    "initialize_moe_config",
    "initialize_fp8_gemm_config",
    "initialize_fp4_gemm_config",
]


class Sglang:
    def __init__(self, load):
        if load.get("threads"):
            raise Cannot("SGLang's threads cannot be set")
        check(load, "sglang")
        import sglang
        import torch
        from sglang import bench_one_batch as script

        version = getattr(sglang, "__version__", None)
        missing = [name for name in NEEDED if not hasattr(script, name)]
        if missing:
            raise Cannot(f"SGLang {version} drives a batch in another way: it has no {missing[0]}")
        kv = load["kv_keys"]
        args = script.ServerArgs(
            model_path=load["model"],
            context_length=load["context_tokens"],
            max_running_requests=load["sequences"],
            kv_cache_dtype=DTYPES.get(kv, kv),
            **weights(load),
        )
        for name in PREPARATIONS:
            getattr(script, name, lambda args: None)(args)
        self.script = script
        self.runner, _ = script.load_model(args, script.PortArgs.init_new(args), 0, 0)
        self.torch_runner = getattr(self.runner, "torch_runner", None)
        for name in ["clear", "extend", "decode", "synchronize", "max_batch_size"]:
            if self.torch_runner is None or not hasattr(self.runner, name):
                raise Cannot(f"SGLang {version} drives a batch in another way: no {name}")
        model, config = self.torch_runner.model, self.torch_runner.model_config
        parameters = list(model.parameters())
        quantization = getattr(config, "quantization", None)
        dtype = str(config.dtype).removeprefix("torch.")
        device = str(self.torch_runner.device).split(":")[0]
        self.vocabulary = config.vocab_size
        self.about = {
            "engine": "sglang",
            "engine_version": version,
            "backend": device.upper(),
            "gpu": torch.cuda.get_device_name(0) if device == "cuda" else None,
            "model": os.path.basename(os.path.normpath(load["model"])),
            "parameters": None if quantization else sum(one.numel() for one in parameters),
            "weight_bytes": sum(one.nbytes for one in parameters),
            "stored": quantization or dtype,
            "computed": dtype,
        }

    def run(self, order):
        batch, depth, steps = order["batch_size"], order["depth_tokens"], order["steps"]
        fronts, own = prompts(order, self.vocabulary)
        room = self.runner.max_batch_size(depth + len(own[0]), steps + 1)
        if batch > room:
            raise Cannot(f"too little memory: there is room for {room} such sequences, not {batch}")
        self.runner.clear()
        whole = [front + prompt for front, prompt in zip(fronts, own)]
        requests = self.script.prepare_synthetic_inputs_for_latency_test(
            batch, depth or len(own[0]), fronts if depth else own
        )
        if depth:
            self.runner.extend(requests)
            requests = self.script.prepare_extend_inputs_for_correctness_test(
                SimpleNamespace(cut_len=depth), whole, requests, self.torch_runner
            )
        self.runner.synchronize()
        stamps = [time.perf_counter_ns()]
        tokens, _, state = self.runner.extend(requests)
        self.runner.synchronize()
        stamps.append(time.perf_counter_ns())
        for _ in range(steps):
            tokens, _ = self.runner.decode(tokens, state)
            self.runner.synchronize()
            stamps.append(time.perf_counter_ns())
        self.runner.cleanup(state)
        return ran(order, stamps)


serve(Sglang)
