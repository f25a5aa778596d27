(() => {
  const live = document.getElementById("live");
  let busy = false, again = false;
  const say = (text) => { if (live.textContent !== text) live.textContent = text; };
  async function refresh() {
    if (busy) { again = true; return; }
    // What is being read or copied stays.
    if (!getSelection().isCollapsed || document.hidden) { again = true; return; }
    busy = true; again = false;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!answer.ok) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const old = document.getElementById("main"), main = fresh.getElementById("main");
      for (const open of old.querySelectorAll("details[open]")) main.querySelector("#" + open.id)?.setAttribute("open", "");
      const places = [...old.querySelectorAll(".scroll[id]")].map((box) => [box.id, box.scrollLeft, box.scrollTop]);
      const focus = document.activeElement?.id;
      old.replaceWith(main);
      for (const [id, left, top] of places) { const box = document.getElementById(id); if (box) { box.scrollLeft = left; box.scrollTop = top; } }
      if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
      document.title = fresh.title;
    } catch { say("the coordinator does not answer"); } finally { busy = false; }
  }
  const source = new EventSource("/api/v1/events");
  source.addEventListener("open", () => say("live"));
  source.addEventListener("error", () => say("the connection is lost; trying again"));
  source.addEventListener("changed", refresh);
  source.addEventListener("happened", refresh);
  setInterval(() => { if (again) refresh(); }, 1000);
  document.addEventListener("keydown", (key) => {
    if (key.ctrlKey || key.metaKey || key.altKey || (key.key !== "n" && key.key !== "p")) return;
    const jobs = [...document.querySelectorAll("#jobs a")];
    const at = jobs.findIndex((job) => job.closest("tr").hasAttribute("aria-current"));
    jobs[at + (key.key === "n" ? 1 : -1)]?.click();
  });
})();
