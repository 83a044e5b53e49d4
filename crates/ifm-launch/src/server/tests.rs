//! Servers that misbehave, played by a process of this binary.

use super::*;
use ifm_probe::testing::{self, Asked, Said};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::thread::sleep;

/// The variables that set the fake server's address and behavior.
const PORT: &str = "IFM_STAND_IN_PORT";
const MANNER: &str = "IFM_STAND_IN";
const KEY: &str = "IFM_STAND_IN_KEY";
const MS: Duration = Duration::from_millis(1);

/// Bytes of a flood: more than a log keeps.
const FLOOD: usize = 26 * 1024 * 1024;

/// The server: its behavior is a word, for some with a path after a colon.
#[test]
#[ignore = "not a test: the server that the tests below start"]
fn the_server() {
    let manner = std::env::var(MANNER).unwrap();
    let (manner, path) = manner.split_once(':').unwrap_or((&manner, ""));
    eprintln!("the stand-in is {manner}, its key {:?}", std::env::var(KEY));
    match manner {
        "exits" => {
            eprintln!("ValueError: no such model, key {}", std::env::var(KEY).unwrap());
            eprintln!("bye");
            std::process::exit(1);
        }
        "refuses" => {
            eprintln!("serve: error: unrecognized arguments: --no-such-flag");
            eprintln!("error: see --help");
            std::process::exit(2);
        }
        "late for its port" if !Path::new(path).exists() => {
            std::fs::write(path, "").unwrap();
            eprintln!("OSError: [Errno 98] Address already in use");
            std::process::exit(1);
        }
        "deaf" => sleep(Duration::from_secs(600)),
        "slow" => sleep(300 * MS),
        "a flood" => {
            let line = [b'x'; 1023].iter().chain(b"\n").copied().collect::<Vec<u8>>();
            let mut out = std::io::stdout().lock();
            (0..FLOOD / line.len()).for_each(|_| out.write_all(&line).unwrap());
        }
        "stubborn" => {
            signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::default()).unwrap();
            let line = "trap '' TERM; while :; do sleep 1; done";
            // `--fork`: the process left behind is an orphan.
            let left = Command::new("setsid").args(["--fork", "sh", "-c", line]).status();
            assert!(left.unwrap().success());
        }
        _ => {}
    }
    let listener =
        TcpListener::bind(format!("127.0.0.1:{}", std::env::var(PORT).unwrap())).unwrap();
    let (manner, asked) = (manner.to_owned(), Times::default());
    testing::answer(&listener, move |request| say(&manner, request, &asked));
}

/// How often it was asked.
#[derive(Default)]
struct Times {
    health: AtomicUsize,
    reset: AtomicUsize,
    chat: AtomicUsize,
}

fn say(manner: &str, request: &Asked, times: &Times) -> Said {
    let before = |count: &AtomicUsize| count.fetch_add(1, Ordering::Relaxed);
    let error = |status| Said::Json(status, json!({"error": {"message": "out of order"}}));
    let event = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    match (request.path.as_str(), manner) {
        ("/health", "slow") if before(&times.health) < 3 => error(503),
        ("/health", _) => Said::Json(200, Value::Null),
        ("/v1/models" | "/v1/chat/completions", "closed") => error(401),
        ("/v1/models", "unlisted") => error(401),
        ("/v1/models", _) => Said::Json(200, json!({"data": [{"id": "stand-in"}]})),
        ("/reset_prefix_cache", _) if before(&times.reset) == 0 => error(400),
        ("/reset_prefix_cache", _) => Said::Json(200, Value::Null),
        ("/v1/chat/completions", "broken") => error(500),
        ("/v1/chat/completions", "silent") => Said::Silence,
        ("/v1/chat/completions", "empty") => Said::Events(vec![event(json!({}))]),
        ("/v1/chat/completions", "strict") if request.body.get("ignore_eos").is_some() => {
            error(400)
        }
        ("/v1/chat/completions", "dying") => std::process::exit(7),
        ("/v1/chat/completions", _) => {
            if manner == "compiling" && before(&times.chat) == 0 {
                sleep(500 * MS);
            }
            Said::Events(vec![event(json!({"content": "OK"}))])
        }
        _ => Said::Json(404, json!({"error": {"message": "no such path"}})),
    }
}

/// A fake vLLM server with this behavior.
fn stand_in(folder: &Path, manner: &str) -> Ask {
    let mut ask = Ask::new(Kind::named("vllm").unwrap(), folder.join("server.log"));
    let program = std::env::current_exe().unwrap().display().to_string();
    // Behind it come the model and the flags for host and port.
    let line = format!(
        "{PORT}=$4 exec '{program}' --ignored --exact --nocapture server::tests::the_server"
    );
    ask.command = ["sh".to_owned(), "-c".to_owned(), line].to_vec();
    ask.model = Some("stand-in".to_owned());
    ask.env =
        vec![(MANNER.to_owned(), manner.to_owned()), (KEY.to_owned(), "sk-0123456789".into())];
    ask.ready_within = Duration::from_secs(300);
    ask.grace = 50 * MS;
    ask
}

fn failure(guard: &Guard, ask: &Ask) -> String {
    start(guard, ask).unwrap_err().to_string()
}

#[test]
fn a_server_is_started_used_and_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let guard = Guard::start().unwrap();
    let mut server = start(&guard, &stand_in(folder.path(), "slow")).unwrap();
    let times = server.start_up;
    let (listening, ready) = (times.listening_s.unwrap(), times.ready_s.unwrap());
    assert!(
        0.3 <= listening && listening < ready && Some(ready) < times.first_token_s,
        "{times:?}"
    );
    assert!(server.is_alive() && server.model == "stand-in");
    assert_eq!(
        server.command.last(),
        server.url.split([':', '/']).nth(4).map(str::to_owned).as_ref()
    );
    // It refuses once, as if a request were under way.
    assert_eq!(server.reset_caches(), Reset::Done("/reset_prefix_cache"));
    let log = std::fs::read_to_string(server.log()).unwrap();
    assert!(log.contains("the stand-in is slow, its key Ok(\"***\")"), "{log}");
    let tree = server.process.tree.clone();
    assert!(tree.runs());
    let stopped = server.stop();
    assert!(stopped.is_gone && stopped.is_port_free && !tree.runs(), "{stopped:?}");
}

#[test]
fn the_first_token_of_a_server_that_compiles_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let guard = Guard::start().unwrap();
    let ask = stand_in(folder.path(), "compiling");
    assert!(cool(&ask).unwrap_err().contains("no files of stand-in are found"));
    let times = start(&guard, &ask).unwrap().start_up;
    assert!(times.first_token_s.unwrap() - times.ready_s.unwrap() >= 0.5, "{times:?}");
    // Whether the kernel lets go of them is the host's affair.
    std::fs::create_dir(folder.path().join("stand-in")).unwrap();
    std::fs::write(folder.path().join("stand-in/weights"), "w").unwrap();
    let files = Ask { folder: Some(folder.path().to_owned()), ..ask };
    assert!(cool(&files).err().is_none_or(|why| why.contains("1 of 1 files of stand-in stay")));
}

#[test]
fn what_is_wrong_with_a_server_is_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let guard = Guard::start().unwrap();
    for (manner, expect) in [
        ("exits", "vllm exited with code 1 before it was ready"),
        ("exits", "its log says: ValueError: no such model, key ***"),
        ("broken", "vllm is ready, but its first answer was an error: HTTP 500: out of order"),
        ("empty", "its first answer was an error: an answer without a token"),
        ("closed", "vllm is ready, but its first answer was an error: HTTP 401: out of order"),
        ("dying", "vllm exited with code 7 before it was ready"),
        ("refuses", "its log says: serve: error: unrecognized arguments: --no-such-flag"),
    ] {
        let said = failure(&guard, &stand_in(folder.path(), manner));
        let is_refused = refuses_command(&Failure::server(&said));
        assert_eq!(is_refused, manner == "refuses", "{manner}: {said}");
        assert!(said.contains(expect) && said.contains("server.log"), "{manner}: {said}");
    }
    let mut ask = stand_in(folder.path(), "deaf");
    ask.ready_within = 50 * MS;
    assert!(failure(&guard, &ask).contains("vllm did not listen within 0.05 s"));
    ask.command = vec!["no-such-program".to_owned()];
    let said = failure(&guard, &ask);
    assert!(
        said.contains("there is no program \"no-such-program\"") && said.contains("pip"),
        "{said}"
    );
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    ask.port = Some(taken.local_addr().unwrap().port());
    assert!(failure(&guard, &ask).contains("is taken"));
    // The host decides how much time it takes to get as far as the first request.
    let mut ask = stand_in(folder.path(), "silent");
    let late = (0..8).map(|round| {
        ask.ready_within = Duration::from_secs(1 << round);
        failure(&guard, &ask)
    });
    let wanted = "vllm did not answer its first request within";
    assert!(late.into_iter().any(|said| said.contains(wanted)));
    let ask = stand_in(folder.path(), "silent");
    ask.stop.store(true, Ordering::Relaxed);
    assert_eq!(start(&guard, &ask).unwrap_err().code, Code::Interrupted);
}

#[test]
fn a_server_that_lists_no_models_is_ready_once_it_answers_for_the_named_one() {
    let folder = tempfile::tempdir().unwrap();
    let guard = Guard::start().unwrap();
    let server = start(&guard, &stand_in(folder.path(), "unlisted")).unwrap();
    assert_eq!(server.model, "stand-in");
}

#[test]
fn a_strict_server_and_one_whose_port_was_taken_meanwhile_are_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let guard = Guard::start().unwrap();
    let path = folder.path().join("tried").display().to_string();
    for manner in ["strict", &format!("late for its port:{path}")] {
        let mut server = start(&guard, &stand_in(folder.path(), manner)).unwrap();
        assert!(server.is_alive());
        ifm_sys::process::end_group(server.pid);
        testing::eventually(|| !server.is_alive());
    }
    assert!(Path::new(&path).exists());
}

#[test]
fn a_flood_of_log_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let guard = Guard::start().unwrap();
    let mut ask = stand_in(folder.path(), "a flood");
    // Without a secret to look for.
    ask.env.retain(|(name, _)| name != KEY);
    let server = start(&guard, &ask).unwrap();
    let path = server.log();
    server.stop();
    let length = std::fs::metadata(&path).unwrap().len();
    assert!((16 << 20..17 << 20).contains(&length), "{length}");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("the stand-in is a flood") && text.contains("[inferometer left out "));
}

#[test]
fn a_server_that_does_not_end_is_killed_with_what_left_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let guard = Guard::start().unwrap();
    let server = start(&guard, &stand_in(folder.path(), "stubborn")).unwrap();
    let tree = server.process.tree.clone();
    testing::eventually(|| tree.count() > 0);
    let stopped = server.stop();
    assert_eq!(stopped, Stopped { was_killed: true, is_gone: true, is_port_free: true });
    assert!(!tree.runs());
    // The same by dropping it.
    let server = start(&guard, &stand_in(folder.path(), "stubborn")).unwrap();
    let tree = server.process.tree.clone();
    drop(server);
    assert!(!tree.runs());
}

#[test]
fn a_container_is_run_and_removed_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let guard = Guard::start().unwrap();
    let mut ask = stand_in(folder.path(), "plain");
    let (program, removed) = (folder.path().join("docker"), folder.path().join("removed"));
    let line = ask.command.pop().unwrap().replace("$4", "$port");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = rm ]; then echo \"$@\" > '{}'; exit; fi\nfor word; do case $word in \
         127.0.0.1:*) port=${{word#127.0.0.1:}}; port=${{port%:*}};; esac; done\n{line}\n",
        removed.display()
    );
    let text = folder.path().join("docker.sh");
    std::fs::write(&text, script).unwrap();
    // Another process copies it: a program cannot run while a concurrently started process holds an
    // inherited handle for writing.
    let copied = Command::new("install").args(["-m", "700"]).arg(text).arg(&program).status();
    assert!(copied.unwrap().success());
    ask.kind = Kind::named("container").unwrap();
    ask.command.clear();
    ask.container = Some(Container {
        image: "image".to_owned(),
        program: Some(program.display().to_string()),
        args: Vec::new(),
        port: None,
    });
    let server = start(&guard, &ask).unwrap();
    assert!(server.command.iter().any(|word| word == "image") && !removed.exists());
    assert!(server.stop().is_gone);
    let removed = std::fs::read_to_string(removed).unwrap();
    assert!(removed.starts_with("rm --force inferometer-"), "{removed}");
}

#[test]
#[ignore = "not a test: starts a server and is killed by the test below"]
fn the_starter() {
    let guard = Guard::start().unwrap();
    let folder = std::env::var("IFM_TEST_PATH").unwrap();
    let server = start(&guard, &stand_in(Path::new(&folder), "stubborn")).unwrap();
    println!("started {}", serde_json::to_string(&server.process.tree).unwrap());
    sleep(Duration::from_secs(600));
}

#[test]
fn a_server_ends_when_whoever_started_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut starter = testing::process("server::tests::the_starter")
        .env("IFM_TEST_PATH", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(starter.stdout.take().unwrap()).lines().map(Result::unwrap);
    let tree = lines.find_map(|line| line.strip_prefix("started ").map(str::to_owned)).unwrap();
    let tree: Tree = serde_json::from_str(&tree).unwrap();
    assert!(tree.runs());
    starter.kill().unwrap();
    starter.wait().unwrap();
    testing::eventually(|| !tree.runs());
}
