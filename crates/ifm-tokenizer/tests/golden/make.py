"""Makes the files of this folder again, with foreign code.

    python3 -m venv venv
    venv/bin/pip install sentencepiece==0.2.3 tiktoken==0.14.0 tokenizers==0.23.3 gguf==0.19.0
    # llama.cpp as vendored by llama-cpp-python 0.3.36, built; SRC and BUILD are its folders
    c++ -std=c++17 -I SRC/include -I SRC/ggml/include -I SRC/vendor llama_ids.cpp \
        BUILD/src/libllama.a BUILD/ggml/src/libggml*.a -fopenmp -ldl -o llama_ids
    # RANKS holds the four rank files that tiktoken downloads; tiktoken-rs 0.12.1 contains them
    venv/bin/python make.py RANKS ./llama_ids

Training is deterministic, but other releases may train other vocabularies; the ids are what
these libraries give for the texts, whatever the vocabularies are.
"""

import base64
import hashlib
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf
import sentencepiece
import tiktoken
import tiktoken_ext.openai_public as openai_public
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = Path(__file__).parent
RANKS, LLAMA_IDS = Path(sys.argv[1]), sys.argv[2]
# Texts whose ids are kept as they are, to be looked at; of the others only the digest.
SHOWN = 12

PLAIN = [
    "Hello, world!", "I'm you're WE'LL it's they'D 'S '\u017f", "  a  b   c    d  ", "1,000,000 x 3.14159",
    "fn main() {\n    println!(\"{}\", x);\n}\n", "na\u00efve caf\u00e9 e\u0301\u0301", "\u65e5\u672c\u8a9e\u30c6\u30ad\u30b9\u30c8 \u4e2d\u6587\uff0c\u3002",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea\u2764\ufe0f", "line1\r\n\r\nline2\n\n\nline3\t\t", "\ufb01 \uff26\uff35\uff2c\uff2c\u3000\uff11\uff12\u00b2\u00bd",
    "\u0639\u0631\u0628\u064a \u0661\u0662 \u05e2\u05d1\u05e8\u05d9\u05ea", "\u0939\u093f\u0928\u094d\u0926\u0940 \u0915\u094d\u0937 \u0e44\u0e17\u0e22",
    "", "a", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u200b", "\ufeff", "don't", "123", "1234567",
    "\u0130stanbul \u0131I \u1e9e\u00df \u01c4\u01c5\u01c6", "a\0b", "\x01\x02\x7f", "\u2581", "\u2581\u2581a", "a\u2581b", "<0x0A>",
    "trailing   ", "   leading", "!!!???...", "$100 \u20ac50 \u00a320 \u00a5", "a_b-c/d\\e", "http://example.org/a?b=c&d=e#f",
    "CamelCaseWord XMLHttpRequest", "x\u00b2+y\u00b2=z\u00b2", "\u2200x\u2208\u211d:\u2308x\u2309=\u2212\u230a\u2212x\u230b", "\u2028\u2029\x85", "\u1680 \u2003\u202f",
    "=====-----=====", "\n\n\n\n", "\r\r\n\n", " \n \n ", "\n ", "a\n b", "''''", "'s's", "1a2b3c", "ab12cd", "\u3002\u3002\u3002",
    "\U00020000\U00020001", "\ue000", "\uac01 \u1100\u1161\u11a8", "\U0001d573\U0001d58a", "`code` ~tilde~ ^caret^ |pipe|",
    "a+b<c>d=e", "\u00b5\u03a9 \u00ba\u00aa \u00bc \u2167 \u2460\u2461 \u0149", "O\u2019Reilly\u2019s l'eau d'\u00e9t\u00e9", "000 0000 \u0438\u0438\u0438 aaaaaaa",
    "the the  the", "x<tool>y", "x <tool>  y", "<sep>a<sep> b",
    "a<|endoftext|> b", "<|start|>user<|message|>hi<|end|>", "<|fim_prefix|>x<|endofprompt|>", "a<|im_end|>  b<|bos|>",
]
POOLS = [
    "abcdefghij", "ABCDEFGHIJ", "0123456789", " \n\t\r", "   ", "'\"`.,;:!?()[]{}<>=+-*/\\|_^~$#@&%", "\u00e9\u00e8\u00fc\u00f6\u00df\u00f1\u00e7\u00e0",
    "\u65e5\u672c\u8a9e\u4e2d\u6587\u5b57\u7b26\u6f22", "\ud55c\uad6d\uc5b4\ud14d\uc2a4", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629", "\u0939\u093f\u0928\u094d\u0926\u0940\u0915\u0937", "\u0e44\u0e17\u0e22\u0e20\u0e32\u0e29",
    "\u043a\u0438\u0440\u043b\u0446\u0430", "\u0391\u0392\u0393\u03b1\u03b2\u03b3", "\U0001f600\U0001f469\u200d\U0001f467\u2764\ufe0f", "\u0301\u0300\u0327\u20dd", "\u00a0\u3000\u2003\u2028\x85\u200b",
    "\uff11\uff12\uff21\uff41\uff0c\uff0e", "\u2461\u2163\u00bd\u00b2\u0663\u096b", "'s't're'LL'D've'm",
]
WORDS = (
    "the of and to in is that for it was on are as with his they at be this from have or by one had "
    "not but what all were when we there can an your which their said if do will each about how up out"
).split()
# The rows of the table of splits, by the first of the names that do the same.
SPLITS = [
    "default", "gpt-2", "llama-bpe", "dbrx", "glm4", "qwen2", "qwen35", "seed-coder", "bailingmoe",
    "deepseek-llm", "deepseek-coder", "deepseek-v3", "falcon", "starcoder", "tekken", "gpt-4o",
    "minicpm5", "poro-chat", "viking",
]


def texts():
    rng = random.Random(3)
    made = list(PLAIN)
    for _ in range(260):
        text, length = "", rng.randint(1, 30)
        while len(text) < length:
            pool = rng.choice(POOLS)
            text += "".join(rng.choice(pool) for _ in range(rng.randint(1, 5)))
        made.append(text)
    for _ in range(40):
        words = (rng.choice(WORDS) for _ in range(rng.randint(3, 25)))
        made.append(" ".join(word.capitalize() if rng.random() < 0.1 else word for word in words))
    for point in [*range(0xA1, 0x3400, 83), *range(0xA000, 0xD7A0, 997), *range(0xF900, 0xFFF0, 61)]:
        if chr(point).isprintable() or chr(point).isspace():
            made.append(f"a{chr(point)}b {chr(point)}1{chr(point)}{chr(point)}")
    return made


TEXTS = texts()
TRAINING = [text for text in TEXTS if "\0" not in text and text.strip()]
expected = {}


def digest(data):
    return hashlib.sha256(data).hexdigest()


def lines(ids):
    return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in ids)


def expect(name, ids, decoded=None):
    expected[name] = {"ids_sha256": digest(lines(ids).encode()), "first": ids[:SHOWN]}
    if decoded is not None:
        expected[name]["decoded_sha256"] = digest("\0".join(decoded).encode())


def tiktoken_encodings():
    def load(url, expected_hash=None):
        data = (RANKS / url.rsplit("/", 1)[-1]).read_bytes()
        assert digest(data) == expected_hash
        return {base64.b64decode(l.split()[0]): int(l.split()[1]) for l in data.splitlines()}

    openai_public.load_tiktoken_bpe = load
    for name in ["cl100k_base", "o200k_base", "o200k_harmony", "p50k_base", "r50k_base"]:
        encoding = tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[name]())
        ids = [encoding.encode(text, allowed_special="all") for text in TEXTS]
        expect(name, ids)
        expected[name]["vocab_size"] = encoding.n_vocab


def sentencepiece_models(folder):
    corpus = folder / "corpus.txt"
    corpus.write_text("\n".join(" ".join(text.split()) for text in TRAINING[:-60] * 2))
    # A map of characters that is small: full width to half, kinds of spaces, a ligature.
    rules = folder / "rules.tsv"
    pairs = [(chr(0xFF01 + i), chr(0x21 + i)) for i in range(94)]
    pairs += [("\u3000", " "), ("\u00a0", " "), ("\t", " "), ("\n", " "), ("\ufb01", "fi"), ("\u200b", ""), ("\u00e9", "e\u0301"), ("\u00bd", "1\u20442")]
    hex_of = lambda text: " ".join(f"{ord(character):X}" for character in text)
    rules.write_text("".join(f"{hex_of(a)}\t{hex_of(b)}\n" for a, b in pairs))
    mapped = {"normalization_rule_tsv": str(rules)}
    identity = {"normalization_rule_name": "identity"}
    models = {
        "unigram": {"model_type": "unigram", "vocab_size": 420, **mapped},
        "unigram-bytes": {
            "model_type": "unigram", "vocab_size": 680, "byte_fallback": True, "add_dummy_prefix": False,
            "remove_extra_whitespaces": False, "user_defined_symbols": ["<sep>", "  ", "\u65e5\u672c"],
            "control_symbols": ["<ctl>"], **mapped,
        },
        "bpe": {"model_type": "bpe", "vocab_size": 560, "treat_whitespace_as_suffix": True, **mapped},
        "bpe-bytes": {
            "model_type": "bpe", "vocab_size": 780, "byte_fallback": True, "split_digits": True,
            "remove_extra_whitespaces": False, "user_defined_symbols": ["<sep>", "    "], **identity,
        },
    }
    for name, settings in models.items():
        sentencepiece.SentencePieceTrainer.train(
            input=str(corpus), model_prefix=str(folder / name), character_coverage=0.98, num_threads=1,
            hard_vocab_limit=False, minloglevel=2, **settings,
        )
        model = sentencepiece_model_pb2.ModelProto()
        model.ParseFromString((folder / f"{name}.model").read_bytes())
        model.trainer_spec.ClearField("input")
        model.trainer_spec.ClearField("model_prefix")
        model.normalizer_spec.ClearField("normalization_rule_tsv")
        if name == "bpe":
            # Pieces that are only steps towards others.
            for index, piece in enumerate(model.pieces):
                if piece.type == 1 and len(piece.piece) > 1 and index % 3 == 0:
                    piece.type = 5
        path = HERE / f"{name}.model"
        path.write_bytes(model.SerializeToString())
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        ids = [processor.encode(text) for text in TEXTS]
        expect(f"{name}.model", ids, [processor.decode(one) for one in ids] if "bytes" in name else None)


def llama_ids(path, folder):
    asked = folder / "texts.jsonl"
    asked.write_text("".join(json.dumps(text) + "\n" for text in TEXTS))
    printed = subprocess.run([LLAMA_IDS, path, asked], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in printed.stdout.splitlines()]


def byte_level_vocabulary(folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=760, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(TRAINING, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    merges = [" ".join(merge) for merge in model["merges"]]
    rank_file(tokens[: 256 + len(merges)])
    # Merges across capitals, before all others, so that it shows who splits there.
    capitals = [("l", "C"), ("e", "W"), ("L", "H"), ("I", "s")]
    merges = [" ".join(pair) for pair in capitals] + merges
    tokens += ["".join(pair) for pair in capitals]
    kinds = [1] * len(tokens)
    # Whole words that no merge leads to, tokens of all other kinds, and one whose name says
    # more than its type.
    for token, kind in [
        ("\u0120Xzzq", 1), ("Hello", 1), ("123", 1), ("\u0120\u0120\u0120\u0120", 1), ("<|bos|>", 3),
        ("<|eos|>", 3), ("<tool>", 4), ("==", 4), ("<unk>", 2), ("<|im_end|>", 1), ("[unused]", 5),
    ]:
        if token not in tokens:
            tokens.append(token)
            kinds.append(kind)
    path = HERE / "byte-level.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("byte level")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(tokens.index("<|bos|>"))
    writer.add_eos_token_id(tokens.index("<|eos|>"))
    write(writer)
    data = path.read_bytes()
    for split in SPLITS:
        # The length of the name and the name, with other ones in their place.
        before = len("gpt-2").to_bytes(8, "little") + b"gpt-2"
        assert data.count(before) == 1
        other = folder / "other.gguf"
        other.write_bytes(data.replace(before, len(split).to_bytes(8, "little") + split.encode()))
        expect(f"byte-level.gguf {split}", llama_ids(other, folder))


def rank_file(tokens):
    back = {character: byte for byte, character in gguf_bytes().items()}
    ranks = {bytes(back[character] for character in token): rank for rank, token in enumerate(tokens)}
    (HERE / "small.tiktoken").write_bytes(
        b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
    )
    pattern = openai_public.ENCODING_CONSTRUCTORS["cl100k_base"]()["pat_str"]
    encoding = tiktoken.Encoding("small", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    expect("small.tiktoken", [encoding.encode(text, disallowed_special=()) for text in TEXTS])


def gguf_bytes():
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {b: chr(256 + i) for i, b in enumerate(rest)}


def sentencepiece_in_gguf(folder):
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString((HERE / "bpe-bytes.model").read_bytes())
    path = HERE / "pieces.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    # The name is what makes llama.cpp treat white space after special tokens as Phi 3 does.
    writer.add_name("Small Phi-3 vocabulary")
    writer.add_tokenizer_model("llama")
    # For models of that name it needs these tokens.
    more = ["<|endoftext|>", "<|im_end|>", "<|message|>"]
    writer.add_token_list([piece.piece for piece in model.pieces] + more)
    writer.add_token_scores([piece.score for piece in model.pieces] + [0.0] * len(more))
    writer.add_token_types([piece.type for piece in model.pieces] + [3] * len(more))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    write(writer)
    expect("pieces.gguf", llama_ids(path, folder))


def write(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


with tempfile.TemporaryDirectory() as temporary:
    temporary = Path(temporary)
    (HERE / "texts.json").write_text(json.dumps(TEXTS, indent=0) + "\n")
    tiktoken_encodings()
    sentencepiece_models(temporary)
    byte_level_vocabulary(temporary)
    sentencepiece_in_gguf(temporary)
    (HERE / "expected.json").write_text(
        "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in expected.items()) + "\n}\n"
    )
