"""The script's functions by their names and arguments, in the order in which it calls them. A wrong
call is an error, and an error is what the test sees."""

import time
from types import SimpleNamespace

# Tokens of all sequences that there is room for.
ROOM = 400
VOCABULARY = 100


class ServerArgs:
    def __init__(self, model_path, context_length, max_running_requests, kv_cache_dtype, dtype="auto"):
        self.model_path, self.dtype = model_path, dtype
        self.context_length, self.sequences = context_length, max_running_requests
        assert kv_cache_dtype == "auto"


class PortArgs:
    @staticmethod
    def init_new(args):
        return "ports"


def _set_envs_and_config(args):
    args.is_prepared = True


class Runner:
    """Holds the tokens of each sequence, and where in the course it is."""

    def __init__(self, args):
        weights = [SimpleNamespace(numel=lambda: 6, nbytes=12)]
        self.args, self.held, self.is_waited_for = args, None, False
        self.torch_runner = SimpleNamespace(
            model=SimpleNamespace(parameters=lambda: iter(weights)),
            model_config=SimpleNamespace(dtype="torch.bfloat16", vocab_size=VOCABULARY),
            device="cpu",
        )

    def clear(self):
        self.held = {}

    def max_batch_size(self, input_len, output_len):
        assert input_len + output_len <= self.args.context_length + 1
        return ROOM // (input_len + output_len)

    def synchronize(self):
        self.is_waited_for = True

    def extend(self, reqs):
        assert self.held is not None, "not cleared"
        assert len(reqs) <= self.args.sequences
        for req in reqs:
            held = self.held.get(req.rid, [])
            assert req.ids[: len(held)] == held and len(req.ids) > len(held)
            self.held[req.rid] = req.ids
        time.sleep(0.0001)
        return [7] * len(reqs), None, reqs

    def decode(self, next_token_ids, batch):
        assert self.is_waited_for and len(next_token_ids) == len(batch)
        self.is_waited_for = False
        time.sleep(0.0001)
        return [8] * len(batch), None

    def cleanup(self, batch):
        self.held = None


def load_model(server_args, port_args, gpu_id, tp_rank):
    assert server_args.is_prepared and (port_args, gpu_id, tp_rank) == ("ports", 0, 0)
    print("talk on standard output")
    return Runner(server_args), "tokenizer"


def prepare_synthetic_inputs_for_latency_test(batch_size, input_len, custom_inputs=None):
    assert [len(ids) for ids in custom_inputs] == [input_len] * batch_size
    assert all(0 <= token < VOCABULARY for ids in custom_inputs for token in ids)
    return [SimpleNamespace(rid=at, ids=list(ids)) for at, ids in enumerate(custom_inputs)]


def prepare_extend_inputs_for_correctness_test(bench_args, input_ids, reqs, model_runner):
    assert model_runner is not None
    for req, ids in zip(reqs, input_ids):
        assert ids[: bench_args.cut_len] == req.ids
        req.ids = req.ids + ids[bench_args.cut_len :]
    return reqs
