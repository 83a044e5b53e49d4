#!/usr/bin/env python3
"""Write the seeds of the targets `tokenizer`, `gguf` and `safetensors` into `seeds`.

The files are whole and of the smallest size that the readers accept, so that the fuzzer begins behind the first
checks. Equal on every machine. Only the standard library is needed.
"""

import json
import struct
from pathlib import Path

SEEDS = Path(__file__).parent / "seeds"
WIDTH = 32  # of the model: one block of the quantized formats
WORDS = ["<s>", "</s>", "H", "e", "l", "o", ",", "Ġ", "w", "r", "d", "!", "1", "2", "Ċ", "He", "ll", "Hell", "Ġw"]
MERGES = ["H e", "l l", "He ll", "Ġ w"]


def tokenizer(model, **parts):
    added = [{"id": i, "content": WORDS[i], "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for i in (0, 1)]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "decoder": None, "model": model, **parts}


def tokenizers():
    vocab = {word: index for index, word in enumerate(WORDS)}
    bpe = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
           "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
           "vocab": vocab, "merges": MERGES}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    split = {"type": "Split", "pattern": {"Regex": r"\p{L}+|\p{N}{1,3}|[^\s\p{L}\p{N}]+|\s*[\r\n]+|\s+(?!\S)|\s+"},
             "behavior": "Isolated", "invert": False}
    yield "bpe", tokenizer(bpe, pre_tokenizer={**level}, decoder={**level})
    yield "bpe_split", tokenizer(
        bpe,
        pre_tokenizer={"type": "Sequence", "pretokenizers": [split, {**level, "use_regex": False}]},
        post_processor={"type": "TemplateProcessing",
                        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
        decoder={**level})
    pieces = [["<unk>", 0.0], ["</s>", 0.0], ["▁", -1.5], ["H", -2.0], ["e", -2.0], ["l", -2.0], ["o", -2.5], ["▁w", -1.0]]
    yield "unigram", tokenizer(
        {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": pieces},
        added_tokens=[],
        normalizer={"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Prepend", "prepend": "▁"},
                    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}, {"type": "Lowercase"}]},
        pre_tokenizer={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True},
        decoder={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True})
    yield "word_piece", tokenizer(
        {"type": "WordPiece", "unk_token": "<s>", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
         "vocab": {"<s>": 0, "</s>": 1, "he": 2, "##llo": 3, ",": 4, "w": 5, "##orld": 6, "!": 7}},
        normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                    "lowercase": True},
        pre_tokenizer={"type": "BertPreTokenizer"},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})
    yield "word_level", tokenizer(
        {"type": "WordLevel", "unk_token": "<s>", "vocab": {"<s>": 0, "</s>": 1, "Hello": 2, ",": 3}},
        pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, {"type": "Digits", "individual_digits": True},
                       {"type": "Punctuation", "behavior": "Isolated"}]},
        decoder={"type": "Fuse"})


def tensors():
    """Names in both formats, rows, columns; one row is a vector."""
    yield "token_embd.weight", "model.embed_tokens.weight", len(WORDS), WIDTH
    yield "output_norm.weight", "model.norm.weight", 1, WIDTH
    layer, block = "model.layers.0", "blk.0"
    yield f"{block}.attn_norm.weight", f"{layer}.input_layernorm.weight", 1, WIDTH
    yield f"{block}.ffn_norm.weight", f"{layer}.post_attention_layernorm.weight", 1, WIDTH
    for gguf, name in [("attn_q", "self_attn.q_proj"), ("attn_k", "self_attn.k_proj"), ("attn_v", "self_attn.v_proj"),
                       ("attn_output", "self_attn.o_proj"), ("ffn_gate", "mlp.gate_proj"), ("ffn_up", "mlp.up_proj"),
                       ("ffn_down", "mlp.down_proj")]:
        yield f"{block}.{gguf}.weight", f"{layer}.{name}.weight", WIDTH, WIDTH


def text(word):
    raw = word.encode()
    return struct.pack("<Q", len(raw)) + raw


def gguf(number, block_bytes):
    """A file of version 3 whose matrices have the format of that number."""
    def entry(key, kind, value):
        return text(key) + struct.pack("<I", kind) + value
    u32 = lambda key, value: entry(key, 4, struct.pack("<I", value))
    f32 = lambda key, value: entry(key, 6, struct.pack("<f", value))
    word = lambda key, value: entry(key, 8, text(value))
    words = lambda key, values: entry(key, 9, struct.pack("<IQ", 8, len(values)) + b"".join(map(text, values)))
    kinds = struct.pack("<IQ", 5, len(WORDS)) + struct.pack(f"<{len(WORDS)}i", *[3, 3] + [1] * (len(WORDS) - 2))
    pairs = [
        word("general.architecture", "llama"), u32("llama.block_count", 1), u32("llama.embedding_length", WIDTH),
        u32("llama.attention.head_count", 1), u32("llama.attention.head_count_kv", 1),
        u32("llama.rope.dimension_count", WIDTH), u32("llama.feed_forward_length", WIDTH),
        u32("llama.context_length", 128), f32("llama.rope.freq_base", 10000.0),
        f32("llama.attention.layer_norm_rms_epsilon", 1e-5), word("tokenizer.ggml.model", "gpt2"),
        word("tokenizer.ggml.pre", "gpt-2"), words("tokenizer.ggml.tokens", WORDS),
        entry("tokenizer.ggml.token_type", 9, kinds), words("tokenizer.ggml.merges", MERGES),
        u32("tokenizer.ggml.bos_token_id", 0), u32("tokenizer.ggml.eos_token_id", 1),
    ]
    described, data = b"", b""
    listed = list(tensors())
    for name, _, rows, columns in listed:
        data += b"\0" * (-len(data) % 32)
        sizes = [columns] if rows == 1 else [columns, rows]
        kind, size = (0, 4 * columns) if rows == 1 else (number, rows * columns // 32 * block_bytes)
        described += text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, len(data))
        data += bytes(size)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(listed), len(pairs)) + b"".join(pairs) + described
    return head + b"\0" * (-len(head) % 32) + data


def safetensors(kind, width_bytes, **changes):
    """The configuration in one line, then the file."""
    config = {"model_type": "llama", "hidden_size": WIDTH, "num_attention_heads": 1, "num_key_value_heads": 1,
              "num_hidden_layers": 1, "intermediate_size": WIDTH, "vocab_size": len(WORDS), "hidden_act": "silu",
              "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "tie_word_embeddings": True, **changes}
    header, data = {}, b""
    for _, name, rows, columns in tensors():
        size = rows * columns * width_bytes
        header[name] = {"dtype": kind, "shape": [columns] if rows == 1 else [rows, columns],
                        "data_offsets": [len(data), len(data) + size]}
        data += bytes(size)
    raw = json.dumps(header).encode()
    return json.dumps(config).encode() + b"\n" + struct.pack("<Q", len(raw)) + raw + data


def write(target, name, content):
    path = SEEDS / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


for name, content in tokenizers():
    write("tokenizer", f"{name}.json", json.dumps(content, ensure_ascii=False).encode())
write("gguf", "q4_0.gguf", gguf(2, 18))
write("gguf", "q8_0.gguf", gguf(8, 34))
write("safetensors", "llama_bf16", safetensors("BF16", 2))
rope = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64}
write("safetensors", "qwen3_f16", safetensors("F16", 2, rope_scaling=rope))
