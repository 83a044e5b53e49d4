"""Kernels of PyTorch for inferometer, which starts this file with the user's own Python.

It reads orders from standard input and answers on standard output, a JSON object to a line: the kernel
protocol. What is measured is what the installed PyTorch does; nothing is computed here.
"""

import sys

# A folder here by the name of a package is not that package.
sys.path[:] = [folder for folder in sys.path if folder]

import array
import gc
import json
import os
import platform
import time

# The protocol has standard output for itself: what others print goes to standard error.
protocol = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

torch = None

# Instructions by our names, and by PyTorch's.
CAPABILITIES = {"baseline": "default", "avx2": "avx2", "avx512": "avx512"}
# Numbers of each array that a check of a transfer looks at; rows and columns of a product.
MOVED, CORNER = 256, 16
# The factor of a triad, and what is written.
FACTOR, WRITTEN = 3.0, 7.0
# Kernels that are named.
NAMED = 5


class Cannot(Exception):
    """What is asked for cannot be had; its text is the reason."""


def load(order):
    """Imports PyTorch, and says what it is."""
    global torch
    if order["protocol"] != 1:
        raise Cannot(f"protocol {order['protocol']} is not spoken, 1 is")
    wanted = order.get("instructions")
    if wanted:
        if wanted not in CAPABILITIES:
            raise Cannot(f"PyTorch has no instructions {wanted}; there are {', '.join(CAPABILITIES)}")
        # It is read when PyTorch is imported.
        os.environ["ATEN_CPU_CAPABILITY"] = CAPABILITIES[wanted]
    try:
        import torch as imported
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise Cannot(f"PyTorch does not start: {error}") from None
        raise Cannot(f"PyTorch is not installed for {sys.executable}") from None
    except Exception as error:
        raise Cannot(f"PyTorch does not start: {first_line(error)}") from None
    torch = imported
    version = getattr(torch, "__version__", None)
    if version is None or not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        raise Cannot(f"PyTorch {version or 'of no version'} has no scaled_dot_product_attention; 2.0 has")
    name = order.get("device") or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except Exception as error:
        raise Cannot(f"PyTorch has no device {name}: {first_line(error)}") from None
    if order.get("threads"):
        torch.set_num_threads(order["threads"])
    # 32-bit floats are multiplied in full precision, unless tf32 is requested.
    allow_tf32(False)
    about = {"is": "ready", "provider": "torch", "version": version, "device": str(device)}
    versions = {"python": platform.python_version()}
    if device.type == "cuda":
        about["gpu"] = torch.cuda.get_device_name(device)
        for key, value in (("cuda", torch.version.cuda), ("rocm", torch.version.hip)):
            if value:
                versions[key] = value
    else:
        about["threads"] = torch.get_num_threads()
        capability = torch.backends.cpu.get_cpu_capability().lower()
        ours = {theirs: name for name, theirs in CAPABILITIES.items()}
        about["instructions"] = ours.get(capability, capability)
        if wanted and about["instructions"] != wanted:
            raise Cannot(f"this processor, or this PyTorch, has no {wanted}")
    for package in ("triton", "flash_attn", "flash_attn_interface"):
        version = version_of(package)
        if version:
            versions[package] = version
    about["versions"] = versions
    return device, about


def version_of(package):
    """The version of an installed package, without importing it."""
    from importlib import metadata

    try:
        return metadata.version(package.replace("_", "-"))
    except metadata.PackageNotFoundError:
        return None


def allow_tf32(allowed):
    """Whether products of 32-bit floats may round their operands to 19 bits."""
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def first_line(error):
    """What an error says first, without its end mark."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def dtype_of(name):
    """A type by its name."""
    known = {"f32": "float32", "tf32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64"}
    if name not in known:
        raise Cannot(f"no type {name} here; there are {', '.join(known)}")
    return getattr(torch, known[name])


def need(device, wanted):
    """Refuses what memory cannot hold: on a processor the kernel would end this process."""
    if device.type != "cpu":
        return
    try:
        with open("/proc/meminfo") as lines:
            told = dict(line.split(":", 1) for line in lines)
        available = int(told["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return
    if wanted > available:
        raise Cannot(f"it needs about {wanted / 1e9:.1f} GB of memory, and {available / 1e9:.1f} GB are free")


def floats(tensors):
    """The bytes of tensors as 32-bit floats, one behind the other, the least byte first."""
    parts = []
    for tensor in tensors:
        flat = tensor.detach().to(device="cpu", dtype=torch.float32).contiguous().flatten()
        numbers = array.array("f", flat.tolist())
        if sys.byteorder == "big":
            numbers.byteswap()
        parts.append(numbers.tobytes())
    return b"".join(parts)


def write(path, tensors):
    """Writes what is checked."""
    with open(path, "wb") as file:
        file.write(floats(tensors))


# Attention


class Attention:
    """One case of attention: inputs, the implementation, and its gradient where it has one."""

    def __init__(self, device, case, seed):
        self.device, self.case = device, case
        self.kind, self.mask = case["type"], case["mask"]
        self.dtype = dtype_of(self.kind)
        self.heads = (case["query_heads"], case["kv_heads"])
        self.tokens = (case["queries"], case["keys"])
        self.grouped = {"enable_gqa": True} if self.heads[0] != self.heads[1] else {}
        self.told = {}
        size = torch.finfo(self.dtype).bits // 8
        width = case["batch"] * case["width"]
        ours = width * (self.heads[0] * self.tokens[0] + self.heads[1] * self.tokens[1])
        # Inputs, output, gradients, and as much again on the way.
        need(device, 8 * ours * size)
        torch.manual_seed(seed)
        draw = lambda heads, tokens: torch.randn(
            case["batch"], heads, tokens, case["width"], device=device, dtype=self.dtype
        )
        self.q = draw(self.heads[0], self.tokens[0])
        self.k, self.v = draw(self.heads[1], self.tokens[1]), draw(self.heads[1], self.tokens[1])
        self.dout = draw(self.heads[0], self.tokens[0])
        self.backward = "backward" in case["passes"]
        for tensor in (self.q, self.k, self.v):
            tensor.requires_grad_(self.backward)

    # Masks

    def positions(self):
        """Positions of queries and keys: the last query is at the last key."""
        offset = self.tokens[1] - self.tokens[0]
        q = torch.arange(self.tokens[0], device=self.device) + offset
        return q, torch.arange(self.tokens[1], device=self.device)

    def tables(self):
        """The tables of the mask as tensors."""
        return {
            name: torch.tensor(values, device=self.device)
            for name, values in self.mask.get("tables", {}).items()
        }

    def allows(self):
        """Which pairs the mask allows, as a function of head, position of the query, and key; None
        where it allows all."""
        text = self.mask.get("allows")
        if text is None:
            return None
        # A function of its own, so that a compiler can look into it.
        names = {"__builtins__": {}, **self.tables()}
        exec(f"def allows(h, q, k):\n    return {text}", names)
        return names["allows"]

    def by_head(self):
        """Whether the mask is another for another head."""
        return "h" in compile(self.mask["allows"], "mask", "eval").co_names

    def dense(self):
        """The mask as a tensor: one for all heads where it is the same for them."""
        allows = self.allows()
        if allows is None:
            return None
        heads = self.heads[0] if self.by_head() else 1
        need(self.device, 10 * heads * self.tokens[0] * self.tokens[1])
        q, k = self.positions()
        h = torch.arange(heads, device=self.device)
        allowed = allows(h[:, None, None], q[None, :, None], k[None, None, :])
        if not torch.is_tensor(allowed):
            allowed = torch.tensor(bool(allowed), device=self.device)
        shape = (heads, self.tokens[0], self.tokens[1])
        return allowed.expand(shape).contiguous()[None]

    def slopes(self):
        """The slopes of ALiBi."""
        h = torch.arange(self.heads[0], device=self.device, dtype=torch.float32)
        return torch.exp2(-8.0 * (h + 1) / self.heads[0])

    def bias(self):
        """Mask and ALiBi as what is added to the scores."""
        q, k = self.positions()
        need(self.device, 12 * self.heads[0] * self.tokens[0] * self.tokens[1])
        distance = (k[None, :] - q[:, None]).to(torch.float32)
        bias = self.slopes()[:, None, None] * distance
        allowed = self.dense()
        if allowed is not None:
            bias = bias.masked_fill(~allowed[0], float("-inf"))
        return bias.to(self.dtype)[None]

    # Implementations: each gives a function of the forward pass.

    def attention(self, **more):
        """The function of PyTorch."""
        run = torch.nn.functional.scaled_dot_product_attention
        return lambda: run(self.q, self.k, self.v, **more, **self.grouped)

    def causal(self):
        """The causal mask, the last query at the last key."""
        if self.tokens[0] == self.tokens[1]:
            return self.attention(is_causal=True)
        from torch.nn.attention.bias import causal_lower_right

        return self.attention(attn_mask=causal_lower_right(*self.tokens))

    def sdpa(self):
        """Without a mask, or causal."""
        self.no_score("sdpa takes no function of scores; use flex")
        if self.mask.get("allows") is None:
            return self.attention()
        if self.mask["is_causal"]:
            return self.causal()
        raise Cannot("sdpa alone knows no such mask; use sdpa-mask")

    def sdpa_mask(self):
        """With the mask as a tensor. What becomes of scores it cannot know, but for ALiBi."""
        kind = self.mask["score"]["kind"]
        if kind == "alibi":
            return self.attention(attn_mask=self.bias())
        if kind != "plain":
            # As attention-gym times it: the pairs, without the cap.
            self.told["computes"] = {**self.mask, "score": {"kind": "plain"}, "name": pairs_alone(self.mask)}
        allowed = self.dense()
        if allowed is None:
            # A mask is a tensor here even where it allows everything.
            need(self.device, self.tokens[0] * self.tokens[1])
            allowed = torch.ones(1, 1, *self.tokens, dtype=torch.bool, device=self.device)
        return self.attention(attn_mask=allowed)

    def sdpa_causal(self):
        """Causal, whatever the mask."""
        if not (self.mask["is_causal"] and self.mask["score"]["kind"] == "plain"):
            self.told["computes"] = {
                "name": "causal", "allows": "(q >= k)", "is_causal": True, "score": {"kind": "plain"}
            }
        backend = ["FLASH_ATTENTION"] if self.device.type == "cuda" else None
        return within(backend, self.causal())

    def backend(name):
        """One backend of the function."""

        def run(self):
            if self.device.type == "cpu" and name != "MATH" and name != "FLASH_ATTENTION":
                raise Cannot(f"PyTorch has no backend {name.lower()} on a processor")
            if name == "MATH":
                pairs = self.case["batch"] * self.heads[0] * self.tokens[0] * self.tokens[1]
                need(self.device, 12 * pairs)
            return within([name], self.sdpa())

        return run

    sdpa_flash, sdpa_math = backend("FLASH_ATTENTION"), backend("MATH")
    sdpa_efficient, sdpa_cudnn = backend("EFFICIENT_ATTENTION"), backend("CUDNN_ATTENTION")

    def flex(self, compiled=True):
        """FlexAttention: a mask of blocks and a function of scores."""
        try:
            from torch.nn.attention import flex_attention as module
        except ImportError:
            raise Cannot(f"PyTorch {torch.__version__} has no FlexAttention; 2.5 has") from None
        allows, offset = self.allows(), self.tokens[1] - self.tokens[0]
        block_mask = None
        if allows is not None:
            # The mask is made pair by pair before its blocks are counted.
            need(self.device, 10 * self.tokens[0] * self.tokens[1])
            begun = time.perf_counter_ns()
            block_mask = module.create_block_mask(
                lambda b, h, q, k: allows(h, q + offset, k),
                None,
                self.heads[0] if self.by_head() else None,
                *self.tokens,
                device=self.device,
                BLOCK_SIZE=self.case["block"],
            )
            self.wait()
            self.told["mask_ns"] = time.perf_counter_ns() - begun
        run = module.flex_attention
        if compiled:
            # Without a reset PyTorch would report recompilations because of earlier cases.
            torch._dynamo.reset()
            run = torch.compile(run, dynamic=False)
        score, dense = self.score(offset), block_mask is None
        density = 1.0 if dense else 1.0 - block_mask.sparsity() / 100.0
        self.told["own_flop"] = self.gym(density)
        return lambda: run(
            self.q, self.k, self.v, score_mod=score, block_mask=block_mask, **self.grouped
        )

    def flex_eager(self):
        """The same, not compiled: the scores are a tensor."""
        need(self.device, 8 * self.case["batch"] * self.heads[0] * self.tokens[0] * self.tokens[1])
        return self.flex(compiled=False)

    def score(self, offset):
        """What becomes of a score."""
        score = self.mask["score"]
        kind = score["kind"]
        if kind == "plain":
            return None
        if kind == "alibi":
            slopes = self.slopes()
            return lambda s, b, h, q, k: s + slopes[h] * (k - (q + offset))
        cap = score["cap"]
        if kind == "softcap":
            return lambda s, b, h, q, k: cap * torch.tanh(s / cap)
        approximate = quick_tanh(self.device)
        return lambda s, b, h, q, k: cap * approximate(s / cap)

    def package(name, module):
        """A package of FlashAttention's own."""

        def run(self):
            try:
                package = __import__(module)
            except ImportError as error:
                raise Cannot(f"{module} is not installed ({first_line(error)})") from None
            more, score = {}, self.mask["score"]
            if score["kind"] == "softcap":
                more["softcap"] = score["cap"]
            elif score["kind"] == "alibi":
                more["alibi_slopes"] = self.slopes()
            elif score["kind"] != "plain":
                raise Cannot(f"{name} has no quick tanh of its own")
            parts = self.mask["name"].split("&")
            kinds = [part.strip().split(":") for part in parts]
            for kind in kinds:
                if kind[0] == "causal":
                    more["causal"] = True
                elif kind[0] == "sliding":
                    more.update(causal=True, window_size=(int(kind[1]), 0))
                elif kind[0] not in ("full", "alibi", "softcap"):
                    raise Cannot(f"{name} knows no mask {self.mask['name']}")
            if score["kind"] == "alibi" and "causal" not in more:
                raise Cannot(f"{name} has ALiBi by distance alone, which is another without a causal mask")
            # There, tokens precede heads.
            q, k, v = (tensor.transpose(1, 2).contiguous() for tensor in (self.q, self.k, self.v))

            def forward():
                out = package.flash_attn_func(q, k, v, **more)
                out = out[0] if isinstance(out, tuple) else out
                return out.transpose(1, 2)

            return forward

        return run

    fa2, fa3 = package("fa2", "flash_attn"), package("fa3", "flash_attn_interface")

    def no_score(self, why):
        """Refuses a mask that changes scores."""
        if self.mask["score"]["kind"] != "plain":
            raise Cannot(why)

    def gym(self, density):
        """Operations as attention-gym counts them: the pairs of blocks that are computed."""
        pairs = self.case["batch"] * self.heads[0] * self.tokens[0] * self.tokens[1]
        forward = 4.0 * density * pairs * self.case["width"]
        return {"forward": forward, "backward": 2.5 * forward}

    # A case

    def wait(self):
        """Waits until the device has finished its work."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def prepare(self, path):
        """Runs it once, and writes what is checked."""
        name = self.case["implementation"]
        makers = {
            "sdpa": self.sdpa, "sdpa-mask": self.sdpa_mask, "sdpa-causal": self.sdpa_causal,
            "sdpa-flash": self.sdpa_flash, "sdpa-math": self.sdpa_math,
            "sdpa-efficient": self.sdpa_efficient, "sdpa-cudnn": self.sdpa_cudnn,
            "flex": self.flex, "flex-eager": self.flex_eager, "fa2": self.fa2, "fa3": self.fa3,
        }
        if name not in makers:
            raise Cannot(f"PyTorch has no kernel {name} here; there are {', '.join(makers)}")
        if self.kind == "tf32":
            allow_tf32(True)
        self.forward = makers[name]()
        if name == "sdpa-mask":
            self.told["own_flop"] = self.gym(self.blocks())
        elif name == "sdpa-causal":
            self.told["own_flop"] = self.gym(0.5)
        cannot, begun = {}, time.perf_counter_ns()
        self.has_graph = self.backward
        try:
            with torch.set_grad_enabled(self.has_graph):
                out = self.forward()
        except Exception as error:
            if not self.backward or is_memory(error):
                raise
            # Some have no gradient, and say so before they compute anything.
            cannot["backward"] = first_line(error)
            self.has_graph = False
            for tensor in (self.q, self.k, self.v):
                tensor.requires_grad_(False)
            # What was compiled for a gradient is not what runs without one.
            self.forward = makers[name]()
            begun = time.perf_counter_ns()
            with torch.no_grad():
                out = self.forward()
        self.wait()
        if name == "flex":
            self.told["compile_ns"] = time.perf_counter_ns() - begun
        gradients = ()
        if self.backward and not cannot:
            try:
                gradients = torch.autograd.grad(out, (self.q, self.k, self.v), self.dout, retain_graph=True)
            except Exception as error:
                if is_memory(error):
                    raise
                cannot["backward"] = first_line(error)
        # A file without gradients is one of a case without a gradient.
        self.graph = out
        b, g = self.case["check_batch"], self.case["check_kv_head"]
        group = self.heads[0] // self.heads[1]
        rows = slice(g * group, (g + 1) * group)
        checked = [self.q[b, rows], self.k[b, g], self.v[b, g], self.dout[b, rows], out[b, rows]]
        if gradients:
            checked += [gradients[0][b, rows], gradients[1][b, g], gradients[2][b, g]]
        write(path, checked)
        kernels = self.names()
        told = {"is": "prepared", **self.told}
        if kernels:
            told["kernels"] = kernels
        if cannot:
            told["cannot"] = cannot
        return told

    def blocks(self):
        """Share of the mask's blocks that are not empty."""
        allowed = self.dense()
        if allowed is None:
            return 1.0
        block = self.case["block"]
        padding = [(-tokens) % block for tokens in self.tokens]
        whole = torch.nn.functional.pad(allowed[0], (0, padding[1], 0, padding[0]))
        heads, queries, keys = whole.shape
        cells = whole.view(heads, queries // block, block, keys // block, block).any(4).any(2)
        return cells.sum().item() * block * block / (heads * self.tokens[0] * self.tokens[1])

    def names(self):
        """The kernels that take most of the time, by their names."""
        try:
            from torch.profiler import ProfilerActivity, profile

            is_gpu = self.device.type == "cuda"
            with profile(activities=[ProfilerActivity.CUDA if is_gpu else ProfilerActivity.CPU]) as seen:
                with torch.set_grad_enabled(self.has_graph):
                    self.forward()
                self.wait()
            key = "self_device_time_total" if is_gpu else "self_cpu_time_total"
            events = [
                event
                for event in seen.key_averages()
                if getattr(event, key, 0) > 0 and "dynamo_timed" not in event.key
            ]
            events.sort(key=lambda event: -getattr(event, key))
            return [event.key for event in events[:NAMED]]
        except Exception:
            # Measure even if the profiler does not run.
            return []

    def once(self, name):
        """One pass."""
        if name == "forward":
            return self.forward
        return lambda: torch.autograd.grad(
            self.graph, (self.q, self.k, self.v), self.dout, retain_graph=True
        )


def pairs_alone(mask):
    """The name of a mask without what it does to scores."""
    parts = [part.strip() for part in mask["name"].split("&")]
    kept = [part for part in parts if not part.startswith(("softcap", "alibi"))]
    return " & ".join(kept) or "full"


def within(backends, run):
    """A function with some backends alone."""
    if backends is None:
        return run
    from torch.nn.attention import SDPBackend, sdpa_kernel

    chosen = [getattr(SDPBackend, name) for name in backends]

    def forward():
        with sdpa_kernel(chosen):
            return run()

    return forward


def quick_tanh(device):
    """The tanh of the GPU's own instruction, for FlexAttention's compiler."""
    if device.type != "cuda" or torch.version.cuda is None:
        raise Cannot("the quick tanh is an instruction of NVIDIA's GPUs")
    from torch._inductor.lowering import make_pointwise, register_lowering
    from torch._inductor.virtualized import ops

    if not hasattr(torch.ops, "inferometer") or not hasattr(torch.ops.inferometer, "quick_tanh"):

        @torch.library.custom_op("inferometer::quick_tanh", mutates_args=())
        def quick(x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(x)

        @quick.register_fake
        def _(x):
            return torch.empty_like(x)

        def lowered(x):
            return make_pointwise(
                lambda value: ops.inline_asm_elementwise(value, asm="tanh.approx.f32 $0, $1;")
            )(x)

        register_lowering(torch.ops.inferometer.quick_tanh)(lowered)

        class Quick(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return torch.ops.inferometer.quick_tanh(x)

            @staticmethod
            def setup_context(context, inputs, output):
                context.save_for_backward(output)

            @staticmethod
            def backward(context, gradient):
                (result,) = context.saved_tensors
                return gradient * (1 - result * result)

            @staticmethod
            def vmap(info, in_dims, x):
                return Quick.apply(x), 0

        quick_tanh.known = Quick.apply
    return quick_tanh.known


# Products and transfers


class Gemm:
    """A product of two matrices."""

    has_graph = False

    def __init__(self, device, case, seed):
        self.device = device
        if case["implementation"] != "gemm":
            raise Cannot(f"there is no product {case['implementation']}, only gemm")
        m, n, k = case["m"], case["n"], case["k"]
        need(device, 8 * (m * k + k * n + m * n))
        torch.manual_seed(seed)
        kind = case["type"]
        if kind == "int8":
            draw = lambda *sides: torch.randint(-127, 128, sides, device=device, dtype=torch.int8)
            self.a, self.b = draw(m, k), draw(k, n)
            self.run = lambda: torch._int_mm(self.a, self.b)
        elif kind == "fp8":
            if device.type != "cuda":
                raise Cannot("PyTorch multiplies fp8 on GPUs alone")
            draw = lambda *sides: torch.randn(*sides, device=device).to(torch.float8_e4m3fn)
            # The second matrix must be stored in column-major order.
            self.a, self.b = draw(m, k), draw(n, k).t()
            one = torch.ones((), device=device)
            self.run = lambda: torch._scaled_mm(
                self.a, self.b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16
            )
        else:
            if kind == "tf32" and device.type != "cuda":
                raise Cannot("tf32 is a type of NVIDIA's GPUs")
            allow_tf32(kind == "tf32")
            dtype = dtype_of(kind)
            self.a = torch.randn(m, k, device=device, dtype=dtype)
            self.b = torch.randn(k, n, device=device, dtype=dtype)
            self.out = torch.empty(m, n, device=device, dtype=dtype)
            self.run = lambda: torch.matmul(self.a, self.b, out=self.out)

    def prepare(self, path):
        """Runs it once, and writes the corner that is checked."""
        out = self.run()
        a = self.a[:CORNER].to(torch.float32)
        b = self.b[:, :CORNER].to(torch.float32).t()
        write(path, [a, b, out[:CORNER, :CORNER].to(torch.float32)])
        return {"is": "prepared"}

    def once(self, name):
        """One product."""
        return self.run


class Transfer:
    """Arrays that are moved."""

    has_graph = False

    def __init__(self, device, case, seed):
        self.device, kind = device, case["implementation"]
        count = max(case["bytes"] // 4, 1)
        need(device, 4 * count * 3)
        torch.manual_seed(seed)
        draw = lambda: torch.randn(count, device=device)
        empty = lambda: torch.empty(count, device=device)
        first = lambda tensor: tensor[:MOVED]
        if kind == "read":
            self.b = (torch.arange(count, device=device) % 8).to(torch.float32)
            self.run = lambda: torch.sum(self.b)
            self.checked = lambda out: [out.reshape(1)]
        elif kind == "write":
            self.a = empty()
            self.run = lambda: self.a.fill_(WRITTEN)
            self.checked = lambda out: [self.padded(first(self.a)), torch.tensor([WRITTEN])]
        elif kind == "copy":
            self.a, self.b = empty(), draw()
            self.run = lambda: self.a.copy_(self.b)
            self.checked = lambda out: [self.padded(first(self.a)), self.padded(first(self.b))]
        elif kind == "triad":
            self.a, self.b, self.c = empty(), draw(), draw()
            self.run = lambda: torch.add(self.b, self.c, alpha=FACTOR, out=self.a)
            self.checked = lambda out: [self.padded(first(one)) for one in (self.a, self.b, self.c)]
        else:
            raise Cannot(f"there is no transfer {kind}; there are read, write, copy, triad")

    @staticmethod
    def padded(tensor):
        """Pads the tensor to MOVED elements."""
        missing = MOVED - tensor.numel()
        return torch.nn.functional.pad(tensor, (0, missing)) if missing else tensor

    def prepare(self, path):
        """Runs it once, and writes what is checked."""
        write(path, self.checked(self.run()))
        return {"is": "prepared"}

    def once(self, name):
        """One transfer."""
        return self.run


# The course


def timed(case, device, order):
    """Times a pass, run by run."""
    run = case.once(order["pass"])
    room = order["flush_bytes"]
    flush = torch.empty(room, dtype=torch.int8, device=device) if room else None
    is_gpu = device.type == "cuda"
    walls, processors, events = [], [], []
    # What was checked is what is timed: with the graph, where there is one.
    grad = torch.enable_grad if case.has_graph else torch.no_grad
    if is_gpu:
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
    with grad():
        for index in range(order["warm_up"] + order["repeats"]):
            if flush is not None:
                flush.zero_()
            if is_gpu:
                first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                torch.cuda.synchronize(device)
            processor, wall = time.process_time_ns(), time.perf_counter_ns()
            if is_gpu:
                first.record()
            run()
            if is_gpu:
                last.record()
                torch.cuda.synchronize(device)
            wall = time.perf_counter_ns() - wall
            processor = time.process_time_ns() - processor
            if index < order["warm_up"]:
                continue
            walls.append(max(wall, 1))
            if is_gpu:
                events.append(max(int(first.elapsed_time(last) * 1e6), 1))
            else:
                processors.append(processor)
    told = {"is": "timed", "wall_ns": walls}
    if is_gpu:
        told.update(device_ns=events, peak_bytes=torch.cuda.max_memory_allocated(device) - room)
    else:
        told["cpu_ns"] = processors
    return told


def is_memory(error):
    """Whether memory ran out."""
    return isinstance(error, MemoryError) or "out of memory" in str(error) or "can't allocate" in str(error)


def serve():
    """Answers orders until there are no more."""
    device, case, made = None, None, None
    makers = {"attention": Attention, "gemm": Gemm, "bandwidth": Transfer}
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if order["do"] == "load":
                device, said = load(order)
            elif device is None:
                raise Cannot("nothing is loaded")
            elif order["do"] == "prepare":
                # A case and its functions reference each other, so their memory is not freed in
                # time otherwise.
                case = made = None
                gc.collect()
                if device.type == "cuda":
                    torch.cuda.empty_cache()
                allow_tf32(False)
                made = makers[order["case"]["operation"]](device, order["case"], order["seed"])
                said = made.prepare(order["check"])
                case = made
            elif case is None:
                raise Cannot("no case is prepared")
            else:
                said = timed(case, device, order)
        except Exception as error:
            why = first_line(error)
            if is_memory(error):
                # The rest of the message describes the device, and is advice.
                why = why.split(". GPU")[0]
                case = made = None
                why = why if "out of memory" in why else f"out of memory: {why}"
            elif not isinstance(error, Cannot):
                why = f"{type(error).__name__}: {why}"
            said = {"is": "cannot", "why": why}
        print(json.dumps(said), file=protocol, flush=True)


serve()
