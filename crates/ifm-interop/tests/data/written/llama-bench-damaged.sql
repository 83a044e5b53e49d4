INSERT INTO llama_bench (build_commit, n_prompt, n_gen, avg_ts) VALUES ('b', '512', '0', '99.5');
INSERT INTO llama_bench (build_commit, n_prompt, n_gen, avg_ts) VALUES
INSERT INTO llama_bench (build_commit, n_prompt, n_gen, avg_ts) VALUES ('b', '512', '0', '99.5');
