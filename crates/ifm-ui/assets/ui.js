// The script of the local page: choosing rows, taking dropped files, copying, telling errors.
// Everything here has a way without it: forms, links, and buttons that the server answers.
(function () {
  "use strict";
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  document.documentElement.classList.add("js");

  const csrf = () => one('meta[name="csrf"]').content;
  let hiding = 0;
  function tell(text, isBad) {
    const notice = one("#notice");
    notice.textContent = text;
    notice.classList.toggle("bad", Boolean(isBad));
    notice.classList.add("shown");
    clearTimeout(hiding);
    hiding = setTimeout(() => notice.classList.remove("shown"), isBad ? 12000 : 5000);
  }

  // How many rows are chosen, and what can be done with them.
  function count() {
    const chosen = all('input[name="run"]:checked').length;
    const label = one("[data-chosen]");
    if (!label) return;
    label.textContent = chosen === 0 ? "Nothing chosen" : chosen + " chosen";
    one(".actions").classList.toggle("some", chosen > 0);
    all("[data-least]").forEach((button) => {
      button.disabled = chosen < Number(button.dataset.least);
    });
  }
  document.addEventListener("change", (event) => {
    if (event.target.name === "run") count();
  });
  document.addEventListener("htmx:afterSettle", count);

  // Failures of what htmx asked for: the answer is one line of text.
  document.addEventListener("htmx:responseError", (event) => {
    tell(event.detail.xhr.responseText || "the page did not answer", true);
  });
  document.addEventListener("htmx:sendError", () => {
    tell("inferometer ui has ended: start it again and open the address that it prints", true);
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    const pause = one("#pause");
    if (event.target.id === "live" && ((pause && pause.checked) || document.hidden)) {
      event.preventDefault();
    }
  });

  // Files that are dropped anywhere, or chosen.
  async function send(files, name) {
    if (files.length === 0) return;
    const most = 64 * 1024 * 1024;
    const bytes = files.reduce((sum, file) => sum + file.size, 0);
    if (bytes > most) {
      tell("the files are larger than 64 MiB together: read them with inferometer import", true);
      return;
    }
    tell("reading " + (files.length === 1 ? files[0].name : files.length + " files") + " …");
    const form = new FormData();
    if (name) form.append("name", name);
    files.forEach((file) => form.append("file", file, file.name));
    let answer;
    try {
      answer = await fetch("/import", {
        method: "POST",
        headers: { "x-csrf-token": csrf(), "hx-request": "true" },
        body: form,
      });
    } catch (error) {
      tell("the files could not be sent: is inferometer ui still running?", true);
      return;
    }
    const text = await answer.text();
    const target = one("#imported");
    if (!target || !(answer.headers.get("content-type") || "").startsWith("text/html")) {
      tell(text, !answer.ok);
      return;
    }
    window.htmx.swap(target, text, { swapStyle: "innerHTML" });
    tell(answer.ok ? "imported" : "nothing was imported", !answer.ok);
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "nearest" });
    if (answer.ok && one("#list")) {
      window.htmx.ajax("GET", location.pathname + location.search, {
        target: "#list", select: "#list", swap: "outerHTML",
      });
    }
  }
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches("form.drop")) {
      event.preventDefault();
      send(Array.from(form.elements.file.files), form.elements.name.value).then(() => form.reset());
    }
  });

  const hasFiles = (event) =>
    one("#imported") && event.dataTransfer && Array.from(event.dataTransfer.types).includes("Files");
  let inside = 0;
  const show = (isOver) => document.body.classList.toggle("dropping", isOver);
  document.addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    inside += 1;
    show(true);
  });
  document.addEventListener("dragover", (event) => {
    if (hasFiles(event)) event.preventDefault();
  });
  document.addEventListener("dragleave", (event) => {
    if (!hasFiles(event)) return;
    inside = Math.max(0, inside - 1);
    if (inside === 0) show(false);
  });
  document.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    inside = 0;
    show(false);
    send(Array.from(event.dataTransfer.files), "");
  });

  // Keys: / finds, Escape leaves what was opened.
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.matches("input, select, textarea");
    const find = one("#q");
    if (event.key === "/" && !isTyping && find && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      find.focus();
      find.select();
    } else if (event.key === "Escape") {
      const open = event.target.closest("details.edit[open]");
      if (open) {
        open.open = false;
        open.querySelector("summary").focus();
      }
    }
  });

  all("[data-copy]").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
        tell("copied");
      } catch (error) {
        tell("the browser does not allow copying: mark the text and copy it", true);
      }
    });
  });
  count();
})();
