// Prints the ids that llama.cpp gives for texts, one list a line: `llama_ids FILE.gguf TEXTS.jsonl`.
// No token is added, and the text of special tokens becomes these. See make.py.
#include "llama.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

int main(int, char ** arguments) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_backend_init();
    llama_model_params parameters = llama_model_default_params();
    parameters.vocab_only = true;
    llama_model * model = llama_model_load_from_file(arguments[1], parameters);
    if (model == nullptr) {
        return 1;
    }
    const llama_vocab * vocab = llama_model_get_vocab(model);
    std::ifstream texts(arguments[2]);
    for (std::string line; std::getline(texts, line);) {
        const std::string text = nlohmann::json::parse(line).get<std::string>();
        std::vector<llama_token> ids(4 * text.size() + 16);
        const int count = llama_tokenize(vocab, text.data(), text.size(), ids.data(), ids.size(), false, true);
        ids.resize(count);
        std::printf("%s\n", nlohmann::json(ids).dump().c_str());
    }
}
