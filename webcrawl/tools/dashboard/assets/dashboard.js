// Fills the parts of a page that change, as the server makes them. Without this script a page loads itself again.
const where = document.body.dataset.events, place = document.getElementById("updates");
const busy = (part) => part.contains(document.activeElement) || (getSelection().rangeCount > 0 && !getSelection().isCollapsed && part.contains(getSelection().anchorNode));
const later = new Map();
let stream = null, wanted = true;

function fill(name, html) {
  const part = document.getElementById(name);
  if (part === null) return;
  if (busy(part)) { later.set(name, html); return; } // somebody reads, copies or is about to press something in it
  later.delete(name);
  const places = [...part.querySelectorAll(".scroll, .log")].map((one) => [one.scrollTop, one.scrollLeft]);
  part.innerHTML = html;
  sortable(part);
  [...part.querySelectorAll(".scroll, .log")].forEach((one, at) => { [one.scrollTop, one.scrollLeft] = places[at] ?? [0, 0]; });
}

function show(words, kind) {
  status.textContent = words;
  status.className = kind;
}

function open() {
  stream = new EventSource(where);
  stream.onopen = () => show("Live", "live");
  stream.onmessage = (event) => {
    for (const [name, html] of Object.entries(JSON.parse(event.data))) fill(name, html);
    for (const [name, html] of [...later]) fill(name, html);
  };
  stream.onerror = () => show(stream.readyState === EventSource.CLOSED ? "Disconnected: load the page again" : "Reconnecting", "lost");
}

function close() {
  if (stream !== null) stream.close();
  stream = null;
}

const status = document.createElement("span");
if (where && place !== null) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Pause updates";
  button.addEventListener("click", () => {
    wanted = !wanted;
    button.textContent = wanted ? "Pause updates" : "Update again";
    if (wanted) open(); else { close(); show("Updates paused", "lost"); }
  });
  status.setAttribute("role", "status");
  place.append(status, button);
  show("Connecting", "lost");
  open();
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => { if (event.persisted && wanted) open(); });
  document.addEventListener("visibilitychange", () => { // a page that nobody sees asks for nothing
    if (document.hidden) close(); else if (wanted && stream === null) open();
  });
}
