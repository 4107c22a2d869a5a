// Exercises on a page: editors that keep what is written, one worker for all of them, and the card of a verdict.

const LIMIT_S = 10;
const RECORDS = "course.play.records";
const WORKER = new URL("worker.js", document.currentScript.src).href;

const store = {
  get(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // a browser that keeps nothing: the page works without
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(key, value);
    } catch {}
  },
  remove(key) {
    try {
      localStorage.removeItem(key);
    } catch {}
  },
};

/* ---- Python: a worker that is started by the first run, and anew where an answer did not come to its end ---- */

const python = { worker: null, ready: false, running: null, clock: 0 };

function start() {
  python.ready = false;
  try {
    python.worker = new Worker(WORKER, { type: "module" });
  } catch (error) {
    return fail(error.message);
  }
  python.worker.onmessage = ({ data }) => heard[data.kind](data);
  python.worker.onerror = (event) => {
    event.preventDefault();
    fail(event.message || "the browser did not start it");
  };
}

function stop() {
  clearTimeout(python.clock);
  if (python.worker) python.worker.terminate();
  python.worker = null;
  python.ready = false;
}

function fail(text) {
  const exercise = python.running;
  stop();
  python.running = null;
  const from = location.protocol === "file:" ? " A page opened from the disk cannot load it: open it from a web server." : "";
  if (exercise) exercise.end(`Python could not be loaded: ${text.replace(/\.$/, "")}.${from}`);
}

const heard = {
  ready() {
    python.ready = true;
  },
  failed({ text }) {
    fail(text);
  },
  began() {
    const exercise = python.running;
    exercise.say(exercise.busy);
    python.clock = setTimeout(() => {
      stop();
      python.running = null;
      exercise.end(
        `Stopped after ${exercise.limit} s: a loop that never ends, or far too much work. ` +
          "Python begins anew; your text is still here.",
      );
      start();
    }, 1000 * exercise.limit);
  },
  told(answer) {
    clearTimeout(python.clock);
    const exercise = python.running;
    python.running = null;
    store.set(RECORDS, answer.records);
    exercise.show(answer);
  },
  planned({ answer }) {
    clearTimeout(python.clock);
    const planner = python.running;
    python.running = null;
    planner.show(answer);
  },
  broken({ text }) {
    const exercise = python.running;
    stop();
    python.running = null;
    const deep = /stack|recursion/i.test(text);
    exercise.end(
      deep
        ? "Stopped: functions called each other more deeply than a browser allows. Python begins anew; your text is still here."
        : `Python has ended: ${text.trim().split("\n").pop()} It begins anew; your text is still here.`,
    );
    start();
  },
};

/* Hands a message to Python for somebody who has `run`, `limit`, `busy`, `say` and `end`. */
function ask(asker, message) {
  if (python.running) return asker.say("One after the other: Python is still busy.");
  python.running = asker;
  asker.run.setAttribute("aria-disabled", "true");
  if (!python.worker) start();
  if (!python.worker) return;
  asker.say(python.ready ? asker.busy : "Loading Python, 14 MB the first time ...");
  python.worker.postMessage(message);
}

/* ---- one exercise ---- */

class Play {
  constructor(place) {
    this.name = place.dataset.exercise;
    this.limit = Number(place.dataset.limit) || LIMIT_S;
    this.key = `course.play.${this.name}`;
    this.busy = "Judging ...";
    const find = (name) => place.querySelector(`.play-${name}`);
    [this.text, this.lines, this.run, this.anew] = ["text", "lines", "run", "anew"].map(find);
    [this.status, this.card, this.picture] = ["status", "card .text_html", "picture"].map(find);
    this.begun = this.text.defaultValue;
    this.text.value = store.get(this.key) ?? this.begun;
    this.text.addEventListener("input", () => this.changed());
    this.text.addEventListener("scroll", () => (this.lines.scrollTop = this.text.scrollTop));
    this.text.addEventListener("keydown", (event) => this.pressed(event));
    this.text.addEventListener("focus", () => (this.leaving = false));
    this.run.addEventListener("click", () => this.judge());
    this.anew.addEventListener("click", () => this.begin());
    this.run.disabled = this.anew.disabled = false;
    this.number();
  }

  changed() {
    store.set(this.key, this.text.value);
    this.number();
  }

  number() {
    const count = this.text.value.split("\n").length;
    this.lines.textContent = Array.from({ length: count }, (_, k) => k + 1).join("\n");
    this.text.rows = Math.min(30, Math.max(8, count + 1));
  }

  begin() {
    if (this.text.value !== this.begun && !confirm("Throw away what you have written here?")) return;
    this.text.value = this.begun;
    store.remove(this.key);
    this.number();
    this.say("As it was in the beginning.");
  }

  pressed(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.judge();
    } else if (event.key === "Escape") {
      this.leaving = true;
      this.say("Tab leaves the editor now.");
    } else if (event.key === "Tab" && !event.shiftKey && !this.leaving) {
      event.preventDefault();
      this.insert("    ");
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      const line = this.text.value.slice(0, this.text.selectionStart).split("\n").pop();
      this.insert(`\n${/^ */.exec(line)[0]}${line.trimEnd().endsWith(":") ? "    " : ""}`);
    }
  }

  insert(words) {
    // as if typed, so that it can be undone; where a browser knows no such command, all the same
    if (!document.execCommand("insertText", false, words)) {
      this.text.setRangeText(words, this.text.selectionStart, this.text.selectionEnd, "end");
      this.changed();
    }
  }

  say(words, seen = true) {
    this.status.classList.toggle("play-heard", !seen); // the card says the same to whoever sees it
    this.status.textContent = words;
  }

  judge() {
    const records = store.get(RECORDS) ?? "";
    ask(this, { exercise: this.name, source: this.text.value, records });
  }

  end(words) {
    this.run.removeAttribute("aria-disabled");
    this.card.innerHTML = this.picture.innerHTML = "";
    this.say(words);
  }

  show({ card, said, numbers, picture }) {
    this.end("");
    this.say(said, false);
    this.card.innerHTML = card; // made by the course's own renderer, which escapes what an answer says
    this.picture.innerHTML = picture;
    if (numbers) this.picture.insertAdjacentText("afterbegin", numbers);
    reachable();
  }
}

/* What scrolls by itself can be scrolled by the keyboard, too. */
function reachable() {
  document.querySelectorAll(".bd-content p:has(> img), .play-picture").forEach((place) => {
    if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
    else place.removeAttribute("tabindex");
  });
}

document.querySelectorAll(".play").forEach((place) => new Play(place));
addEventListener("load", reachable);
addEventListener("resize", reachable);
