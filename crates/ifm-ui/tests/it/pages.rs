//! What the pages show, and what their forms do.

use crate::client::Page;
use crate::runs::{Shelf, noisy};

const BASE: &str = "20261120-120000-0001";
const FASTER: &str = "20261120-130000-0002";

#[test]
fn the_list_finds_and_tells_what_fits() {
    let page = Page::over(Shelf::of_two());
    let all = page.get("/").body;
    assert!(all.contains("2 in all") && all.contains(BASE) && all.contains(FASTER));
    let found = page.get("/?q=fast").body;
    assert!(found.contains("1 of 2") && found.contains(FASTER) && !found.contains(BASE));
    assert!(page.get("/?q=neither").body.contains("Nothing fits"));
    let digest = page.get(&format!("/runs/{BASE}/digest"));
    assert!(digest.status == 200 && digest.body.starts_with("<td"), "{digest:?}");
    assert!(digest.body.contains("at least 4"), "{digest:?}");
    assert!(page.get("/").body.contains("at least 4"), "an answer is kept");
    assert!(Page::over(Shelf::empty()).get("/").body.contains("Nothing is stored yet"));
}

#[test]
fn a_run_has_its_report_audit_and_files() {
    let page = Page::over(Shelf::of_two());
    let run = page.get(&format!("/runs/{BASE}"));
    let frame = format!("src=\"/runs/{BASE}/page\"");
    assert!(run.status == 200 && run.body.contains(&frame), "{run:?}");
    assert!(
        run.body.contains("sandbox=\"allow-scripts") && !run.body.contains("allow-same-origin")
    );
    let report = page.get(&format!("/runs/{BASE}/page"));
    assert!(report.status == 200 && report.body.contains("How many users?"));
    let audit = page.get(&format!("/runs/{BASE}/audit"));
    assert!(audit.body.contains("rules applied"), "{audit:?}");
    assert!(page.get(&format!("/runs/{BASE}/files")).body.contains("requests.parquet"));
    for (format, begin) in
        [("json", "{"), ("csv", "label,"), ("md", "#"), ("html", "<!DOCTYPE"), ("requests", "{")]
    {
        let file = page.get(&format!("/runs/{BASE}/download/{format}"));
        assert!(file.status == 200 && file.body.contains(begin), "{format} {file:?}");
        assert!(
            file.header("content-disposition").is_some_and(|kept| kept.starts_with("attachment"))
        );
    }
    assert_eq!(page.get(&format!("/runs/{BASE}/download/exe")).status, 404);
    let unknown = page.get("/runs/20200101-000000-0000");
    assert!(unknown.status == 404 && unknown.body.contains("no such run"));
}

#[test]
fn runs_stand_side_by_side_with_what_differs_first() {
    let shelf = Shelf::of_two();
    shelf.sealed("20261120-140000-0003", noisy(100.0, 3), |head| {
        head.spec.workload.kind = "another".to_owned();
    });
    let page = Page::over(shelf);
    let found = page.get(&format!("/compare?run={BASE}&run={FASTER}"));
    assert_eq!(found.status, 200, "{found:?}");
    let differs = found.body.find("What differs besides the numbers").unwrap();
    assert!(found.body.find("✓ better").unwrap() > differs, "what differs stands first");
    let unlike = page.get(&format!("/compare?run={BASE}&run=20261120-140000-0003"));
    assert!(unlike.body.contains("answer different questions") && !unlike.body.contains("Verdict"));
    let even_so = page.get(&format!("/compare?run={BASE}&run=20261120-140000-0003&even_so=1"));
    assert!(even_so.body.contains("Verdict"));
    for few in ["/compare".to_owned(), format!("/compare?run={BASE}&run={BASE}")] {
        assert!(page.get(&few).body.contains("two or more"), "{few}");
    }
}

#[test]
fn runs_one_after_the_other_have_a_history() {
    let shelf = Shelf::empty();
    let ids: Vec<String> = (1..=10).map(|night| format!("202611{night:02}-120000-0001")).collect();
    for (night, id) in ids.iter().enumerate() {
        let ttft_ms = if night < 6 { 100.0 } else { 150.0 };
        shelf.sealed(id, noisy(ttft_ms, night as u64), |head| {
            let commit = if night < 6 { "1a2b3c" } else { "4d5e6f" };
            head.tags.insert("commit".to_owned(), commit.to_owned());
            head.name =
                Some(if night < 3 { "nights".to_owned() } else { format!("night {}", night + 1) });
        });
    }
    let page = Page::over(shelf);
    let tag =
        |id: &String| assert_eq!(page.post("/tag", &[("run", id), ("tag", "nightly")]).status, 303);
    ids.iter().skip(1).for_each(tag);

    let all = page.get("/history?tag=").body;
    assert!(all.contains("10 runs, the oldest first"), "{all}");
    assert!(
        all.contains("<option value=\"commit=1a2b3c\"") && all.contains("sandbox=\"allow-scripts"),
        "{all}"
    );
    let nightly = page.get("/history?tag=nightly").body;
    assert!(
        nightly.contains("9 runs") && nightly.contains("src=\"/history/page?tag=nightly\""),
        "{nightly}"
    );
    assert!(page.get("/history?tag=nobody").body.contains("No run that ended is among these"));
    // Runs with one name are a history; a name that one run has is asked for, and not offered.
    assert!(all.contains("<option value=\"nights\"") && !all.contains("\"night 10\""), "{all}");
    assert!(page.get("/history?tag=nights").body.contains("3 runs, the oldest first"));
    assert!(page.get("/history?tag=night%2010").body.contains("1 run, the oldest first"));
    let chosen = format!("/history?run={}&run={}&tag=", ids[0], ids[1]);
    assert!(page.get(&chosen).body.contains("2 runs, the oldest first"));

    let report = page.get("/history/page?tag=nightly");
    assert_eq!(report.status, 200, "{report:?}");
    let found = report.body.split("What changed").nth(1).unwrap_or_default();
    assert!(
        found.contains("worse from night 7 ") && found.contains("commit 1a2b3c → 4d5e6f"),
        "{found}"
    );
    assert_eq!(page.get("/history/page?tag=nobody").status, 200);
}

#[test]
fn forms_name_tag_remove_and_bring_back() {
    let page = Page::over(Shelf::of_two());
    let saved = page.post("/label", &[("id", BASE), ("name", "calm"), ("tags", "a, b")]);
    assert_eq!((saved.status, saved.header("location")), (303, Some("/runs/20261120-120000-0001")));
    let store = &page.shelf.store;
    assert_eq!(store.find("calm").unwrap().tags().unwrap(), ["a", "b"]);
    assert_eq!(page.post("/tag", &[("run", BASE), ("run", FASTER), ("tag", "c")]).status, 303);
    assert!(page.get("/?tag=c").body.contains("2 in all"));
    assert_eq!(store.entry(BASE).unwrap().unwrap().tags().unwrap(), ["a", "b", "c"]);
    assert_eq!(page.post("/label", &[("id", BASE), ("name", ""), ("tags", "")]).status, 303);
    assert!(store.find("calm").is_err());
    assert_eq!(page.post("/tag", &[("tag", "c")]).status, 400, "nothing is chosen");

    let asked = page.post("/remove", &[("run", BASE)]);
    assert!(asked.status == 200 && asked.body.contains("value=\"yes\""), "it asks first");
    assert!(store.entry(BASE).unwrap().is_some());
    assert_eq!(page.post("/remove", &[("run", BASE), ("sure", "yes")]).status, 303);
    assert!(store.entry(BASE).unwrap().is_none());
    assert!(page.get("/removed").body.contains(BASE));
    assert_eq!(page.post("/restore", &[("id", BASE)]).status, 303);
    assert!(store.entry(BASE).unwrap().is_some());
    page.post("/remove", &[("run", BASE), ("sure", "yes")]);
    assert_eq!(page.post("/erase", &[("id", BASE)]).status, 303);
    assert!(store.set_aside_ids().unwrap().is_empty());
}

#[test]
fn a_run_is_watched_until_it_ends() {
    let shelf = Shelf::of_two();
    let mut run = noisy(100.0, 5);
    run.manifest.run_id = "20261120-150000-0004".to_owned();
    run.manifest.levels.clear();
    let writer = shelf.begin(&run);
    let page = Page::over(shelf);
    let path = "/runs/20261120-150000-0004";
    assert!(page.get("/?kind=running").body.contains("1 of 3"));
    let shown = page.get(path);
    assert!(shown.body.contains("hx-trigger=\"every 1s\""), "{shown:?}");
    let live = page.get(&format!("{path}/live"));
    assert!(live.status == 200 && live.body.contains("Levels so far"), "{live:?}");
    assert!(
        live.body.contains("4 users")
            && live.body.contains("TTFT p50")
            && live.body.contains("ITL p99")
    );
    let refused = page.post("/remove", &[("run", "20261120-150000-0004"), ("sure", "yes")]);
    assert_eq!(refused.status, 409, "a run that is written stays");
    assert_eq!(page.post(&format!("{path}/seal"), &[]).status, 409);
    writer.seal(run.manifest, &[]).unwrap();
    let ended = page.get(&format!("{path}/live"));
    assert_eq!(ended.header("hx-refresh"), Some("true"));
    assert!(page.get(path).body.contains("<iframe"));
}

#[test]
fn a_killed_run_is_shown_and_can_be_sealed() {
    let shelf = Shelf::empty();
    let mut run = noisy(100.0, 6);
    run.manifest.run_id = "killed".to_owned();
    let journal = shelf.begin(&run).path().join(ifm_store::JOURNAL_FILE);
    // The end of the journal is torn off, as a crash leaves it.
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() - 5]).unwrap();
    let page = Page::over(shelf);
    assert!(page.get("/").body.contains("cut off"));
    let shown = page.get("/runs/killed").body;
    assert!(shown.contains("without sealing it") && shown.contains("<iframe"), "{shown}");
    assert!(page.get("/runs/killed/page").body.contains("How many users?"));
    assert_eq!(page.post("/runs/killed/seal", &[]).status, 303);
    assert!(page.get("/").body.contains("partial"));
}

#[test]
fn broken_folders_are_listed_and_told() {
    let shelf = Shelf::of_two();
    let broken = shelf.store.root().join("broken");
    std::fs::create_dir(&broken).unwrap();
    std::fs::write(broken.join("manifest.json"), "{").unwrap();
    std::fs::create_dir(shelf.store.root().join("empty")).unwrap();
    std::fs::write(shelf.store.root().join(BASE).join("requests.parquet"), "no").unwrap();
    std::fs::write(shelf.store.root().join(FASTER).join(ifm_store::TAGS_FILE), "no").unwrap();
    let page = Page::over(shelf);
    let list = page.get("/").body;
    assert!(list.contains("4 in all") && list.matches("✗</span> broken").count() == 2, "{list}");
    assert!(page.get("/runs/broken").body.contains("not JSON"));
    let damaged = page.get(&format!("/runs/{BASE}/page"));
    assert!(damaged.status == 500 && damaged.body.contains("is damaged"), "{damaged:?}");
    assert!(page.get(&format!("/runs/{BASE}/digest")).body.contains("cannot be read"));
    assert!(page.get(&format!("/runs/{FASTER}")).body.contains("Its tags cannot be read"));
}
