//! What everybody but the user's own page is refused, and that a refusal changes nothing.

use crate::client::Page;
use crate::runs::{Shelf, noisy};

const ID: &str = "20261120-120000-0001";

#[test]
fn without_the_session_nothing_is_told() {
    let page = Page::over(Shelf::of_two());
    let host = page.address.to_string();
    let wrong = format!("/?token={}", "0".repeat(64));
    for target in ["/", "/assets/ui.css", &format!("/runs/{ID}"), "/compare", "/nothing", &wrong] {
        for lines in [
            vec![("Host", host.as_str())],
            vec![("Host", host.as_str()), ("Cookie", "a=b")],
            vec![("Host", host.as_str()), ("Authorization", "Bearer x")],
        ] {
            let answer = page.bare("GET", target, &lines, b"");
            assert_eq!(answer.status, 403, "{target} {answer:?}");
            assert!(!answer.body.contains("base") && answer.body.len() < 200, "{answer:?}");
            assert!(answer.header("set-cookie").is_none());
        }
    }
    let token = page.url.split_once("token=").unwrap().1;
    let as_cookie = [
        ("Host", host.as_str()),
        ("Cookie", &format!("inferometer_ui_{}={token}", page.address.port())),
    ];
    assert_eq!(page.bare("GET", "/", &as_cookie, b"").status, 403, "a token is not a session");
    let posted = page.bare("POST", &format!("/?token={token}"), &[("Host", &host)], b"");
    assert_eq!(posted.status, 403, "a session begins by GET alone");
}

#[test]
fn a_name_that_was_bound_to_this_address_is_refused() {
    let page = Page::over(Shelf::of_two());
    let cookie = page.session();
    let port = page.address.port();
    for (host, status) in [
        (format!("evil.example:{port}"), 403),
        ("127.0.0.1".to_owned(), 403),
        (format!("127.0.0.1:{}", port.wrapping_add(1)), 403),
        (format!("localhost:{port}"), 200),
    ] {
        let lines = [("Host", host.as_str()), ("Cookie", cookie.as_str())];
        assert_eq!(page.bare("GET", "/", &lines, b"").status, status, "{host}");
    }
    let token = page.url.split_once('?').unwrap().1;
    let lines = [("Host", "evil.example")];
    let answer = page.bare("GET", &format!("/?{token}"), &lines, b"");
    assert!(answer.status == 403 && answer.header("set-cookie").is_none(), "{answer:?}");
    assert_eq!(page.bare("GET", "/", &[("Cookie", &cookie)], b"").status, 403, "no host at all");
}

#[test]
fn nothing_leads_out_of_the_store() {
    let shelf = Shelf::of_two();
    let secret = "a secret beside the store";
    std::fs::write(shelf.folder.path().join("manifest.json"), secret).unwrap();
    std::fs::write(shelf.folder.path().join("import.json"), secret).unwrap();
    let page = Page::over(shelf);
    let outside = page.shelf.folder.path().display().to_string().replace('/', "%2F");
    let before = page.shelf.state();
    for id in [
        "..",
        "../..",
        "%2e%2e",
        "%2e%2e%2f",
        "..%2f",
        "%2e%2e%2fruns",
        "..%5c",
        ".",
        "%2f",
        &outside,
        "%252e%252e",
        "%00",
        &format!("{ID}%2f.."),
        &format!("..%2fruns%2f{ID}"),
        &format!("{ID}%00"),
        ".removed",
        "%ff%fe",
    ] {
        for target in [
            format!("/runs/{id}"),
            format!("/runs/{id}/page"),
            format!("/runs/{id}/audit"),
            format!("/runs/{id}/files"),
            format!("/runs/{id}/live"),
            format!("/runs/{id}/digest"),
            format!("/runs/{id}/download/json"),
            format!("/runs/{ID}/download/{id}"),
            format!("/imports/{id}"),
            format!("/imports/{id}/page"),
            format!("/imports/{id}/report"),
            format!("/imports/{id}/download/json"),
            format!("/assets/{id}"),
            format!("/compare?run={ID}&run={id}"),
        ] {
            let answer = page.get(&target);
            assert!(matches!(answer.status, 400 | 404), "{target} {}", answer.status);
            assert!(!answer.body.contains(secret), "{target}");
        }
        let id = id.replace("%2f", "/").replace("%2e", ".").replace("%2F", "/");
        for target in ["/tag", "/label", "/remove", "/restore", "/erase"] {
            let fields = [("id", id.as_str()), ("tag", "x"), ("name", "x"), ("sure", "yes")];
            let answer = page.post(target, &fields);
            assert!(matches!(answer.status, 400 | 404), "{target} {id} {}", answer.status);
        }
    }
    // A path that a client does not put right.
    let raw = format!(
        "GET /assets/../../../etc/passwd HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nConnection: close\r\n\r\n",
        page.address,
        page.session()
    );
    assert_eq!(page.raw(raw.as_bytes()).status, 404);
    assert!(page.shelf.state() == before, "nothing was changed");
}

#[test]
fn only_a_form_of_ours_changes_something() {
    let page = Page::over(Shelf::of_two());
    let (csrf, ours) = (page.csrf(), format!("http://{}", page.address));
    let before = page.shelf.state();
    let fields =
        [("id", ID), ("run", ID), ("tag", "x"), ("tags", "x"), ("name", "x"), ("sure", "yes")];
    let with = |csrf: &str| {
        let mut all = vec![("csrf".to_owned(), csrf.to_owned())];
        all.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        all
    };
    let seal = format!("/runs/{ID}/seal");
    for target in ["/label", "/tag", "/remove", "/restore", "/erase", &seal, "/import"] {
        for (origin, csrf) in [
            ("http://evil.example", csrf.as_str()),
            ("https://127.0.0.1", csrf.as_str()),
            ("null", csrf.as_str()),
            (&format!("http://127.0.0.1:{}", page.address.port().wrapping_add(1)), csrf.as_str()),
            (&ours, ""),
            (&ours, &"0".repeat(64)),
        ] {
            let all = with(csrf);
            let all: Vec<(&str, &str)> =
                all.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            let answer = page.form(target, &all, origin);
            // What is not a form with files is refused for that before its secret is looked at.
            let expect: &[u16] = if target == "/import" { &[400, 403] } else { &[403] };
            assert!(expect.contains(&answer.status), "{target} {origin} {answer:?}");
        }
        let query: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let got = page.get(&format!("{target}?csrf={csrf}&{}", query.join("&")));
        let expect = if target == "/import" { 200 } else { 405 };
        assert_eq!(got.status, expect, "{target} by GET");
    }
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let lines = [
            ("Host", page.address.to_string()),
            ("Cookie", page.session()),
            ("Origin", ours.clone()),
        ];
        let lines: Vec<(&str, &str)> = lines.iter().map(|(a, b)| (*a, b.as_str())).collect();
        assert_eq!(page.bare(method, &format!("/runs/{ID}"), &lines, b"").status, 405, "{method}");
    }
    assert!(page.shelf.state() == before, "nothing was changed");
}

#[test]
fn what_is_too_large_is_refused_in_words() {
    let page = Page::over(Shelf::of_two());
    let before = page.shelf.state();
    let label = "x".repeat(10 << 20);
    assert_eq!(page.post("/label", &[("id", ID), ("name", &label)]).status, 413);
    assert_eq!(page.post("/tag", &[("run", ID), ("tag", &label)]).status, 413);
    let long = page.post("/label", &[("id", ID), ("name", &"x".repeat(121))]);
    assert!(long.status == 400 && long.body.contains("120 are allowed"), "{long:?}");
    let long = page.post("/tag", &[("run", ID), ("tag", &"x".repeat(41))]);
    assert!(long.status == 400 && long.body.contains("40 are allowed"), "{long:?}");
    let host = page.address.to_string();
    let (cookie, long) = (page.session(), "x".repeat(40 << 10));
    let lines = [("Host", host.as_str()), ("Cookie", &cookie), ("X-Long", &long)];
    assert_eq!(page.bare("GET", "/", &lines, b"").status, 431);
    assert_eq!(page.get(&format!("/?q={}", "x".repeat(9 << 10))).status, 414);
    assert!(page.shelf.state() == before, "nothing was changed");
}

#[test]
fn what_a_server_calls_itself_is_text() {
    let shelf = Shelf::empty();
    let evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg onload=alert(3)>";
    for (id, seed) in [(ID, 1), ("20261120-120000-0002", 2)] {
        shelf.sealed(id, noisy(100.0, seed), |head| {
            head.name = Some(evil.to_owned());
            head.spec.target.model = evil.to_owned();
            head.server.kind = Some(evil.to_owned());
            head.spec.workload.tokenizer = format!("{evil}{seed}");
            head.command = vec![evil.to_owned()];
        });
    }
    let page = Page::over(shelf);
    let sent = page.send(&[(&format!("{}.json", evil.replace('"', "")), b"{}")]);
    assert_eq!(sent.status, 422);
    let (other, filter) =
        ("20261120-120000-0002", "/?q=%3Cscript%3E&tag=%22%3E%3Csvg%20onload%3D1%3E");
    for answer in [
        sent,
        page.get("/"),
        page.get(filter),
        page.get(&format!("/runs/{ID}")),
        page.get(&format!("/runs/{ID}/page")),
        page.get(&format!("/runs/{ID}/audit")),
        page.get(&format!("/runs/{ID}/files")),
        page.get(&format!("/runs/{ID}/digest")),
        page.get(&format!("/compare?run={ID}&run={other}")),
        page.get("/runs/%3Cscript%3E"),
        page.post("/tag", &[("run", ID), ("tag", "<script>,")]),
        page.post("/remove", &[("run", ID)]),
    ] {
        for forbidden in ["<script>alert", "<script>,", "<img src=x", "<svg onload"] {
            assert!(!answer.body.contains(forbidden), "{forbidden}: {answer:?}");
        }
    }
}

#[test]
fn every_answer_tells_the_browser_what_it_may_not_do() {
    let page = Page::over(Shelf::of_two());
    let host = page.address.to_string();
    let report = format!("/runs/{ID}/page");
    let file = format!("/runs/{ID}/download/html");
    let stranger = page.bare("GET", "/", &[("Host", &host)], b"");
    for (target, answer) in [
        ("stranger", stranger),
        ("/", page.get("/")),
        ("/nothing", page.get("/nothing")),
        ("/assets/ui.js", page.get("/assets/ui.js")),
        (&report, page.get(&report)),
        (&file, page.get(&file)),
    ] {
        let header = |name| answer.header(name).unwrap_or_default();
        let policy = header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{target} {policy}");
        assert!(target.starts_with("/runs") || !policy.contains("unsafe"), "{target} {policy}");
        assert!(!target.starts_with("/runs") || policy.contains("sandbox"), "{target} {policy}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{target}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{target}");
        assert_eq!(header("cache-control"), "no-store", "{target}");
        let frame = if target == report { "SAMEORIGIN" } else { "DENY" };
        assert_eq!(header("x-frame-options"), frame, "{target}");
        assert!(answer.header("access-control-allow-origin").is_none(), "{target}");
        assert!(!answer.body.contains(" style=\"") || target.starts_with("/runs"), "{target}");
    }
}

#[test]
fn other_machines_do_not_reach_it() {
    let shelf = Shelf::empty();
    for host in ["0.0.0.0", "::", "192.0.2.1"] {
        let options = ifm_ui::UiOptions {
            host: host.parse().unwrap(),
            ..ifm_ui::UiOptions::new(shelf.store.clone(), "0")
        };
        let refused = ifm_ui::Ui::bind(options);
        assert!(matches!(refused, Err(ifm_ui::UiError::NotLoopback { .. })), "{host}");
    }
    let page = Page::over(shelf);
    assert!(page.address.ip().is_loopback());
    assert_eq!(page.url.split_once("token=").unwrap().1.len(), 64, "256 bits");
}

#[test]
fn the_printed_address_begins_one_session() {
    let page = Page::over(Shelf::of_two());
    let host = page.address.to_string();
    let token = page.url.split_once('?').unwrap().1;
    let target = format!("/?{token}");
    // A browser that loads the address ahead of its user, or a check of the link, uses nothing up.
    for lines in [("Sec-Purpose", "prefetch;prerender"), ("Purpose", "prefetch")] {
        let answer = page.bare("GET", &target, &[("Host", &host), lines], b"");
        assert!(answer.status == 403 && answer.header("set-cookie").is_none(), "{answer:?}");
    }
    let first = page.bare("GET", &target, &[("Host", &host)], b"");
    assert_eq!(first.status, 303, "{first:?}");
    let cookie = first.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let second = page.bare("GET", &target, &[("Host", &host)], b"");
    assert!(second.status == 403 && second.header("set-cookie").is_none(), "{second:?}");
    assert!(second.body.contains("start inferometer ui again"), "{second:?}");
    // The browser of the session may follow the address once more.
    let own = [("Host", host.as_str()), ("Cookie", cookie.as_str())];
    let again = page.bare("GET", &target, &own, b"");
    assert!(again.status == 303 && again.header("set-cookie").is_none(), "{again:?}");
    assert_eq!(page.bare("GET", "/", &own, b"").status, 200);
}
