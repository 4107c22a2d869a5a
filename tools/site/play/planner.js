// The planner's form: asks Python in the worker of play.js, and shows the answer as bars and as a table.

const HELD = { parameters: "parameters", gradients: "gradients", optimizer: "optimizer states", activations: "activations" };
const SPENT = {
  computing: "computing",
  tensor: "tensor groups",
  context: "ring of a sequence",
  experts: "tokens to experts",
  pipeline: "hops between stages",
  data: "replicas",
  waiting: "idle in the pipeline",
};
const PLAN_KEY = "course.play.planner";

function made(tag, words = "", attributes = {}) {
  const node = document.createElement(tag);
  node.textContent = words;
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  return node;
}

const meshOf = ({ tensor, context, pipeline, data, experts }) =>
  [`${tensor} x `, context > 1 ? `${context} x ` : "", `${pipeline} x ${data}`, experts > 1 ? `, experts on ${experts}` : ""].join("");

class Planner {
  constructor(form) {
    this.form = form;
    this.limit = 60;
    this.busy = "Trying every mesh ...";
    [this.run, this.status, this.answer] = [".play-run", ".play-status", ".planner-answer"].map((c) => form.querySelector(c));
    this.models = JSON.parse(form.dataset.models);
    const kept = JSON.parse(store.get(PLAN_KEY) ?? "{}");
    for (const field of this.fields) if (kept[field.name] !== undefined) this.take(field, kept[field.name]);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.plan();
    });
    form.elements.model.addEventListener("change", () => this.hint());
    this.run.disabled = false;
    this.hint();
  }

  get fields() {
    return [...this.form.querySelectorAll("select, input")];
  }

  take(field, value) {
    const before = field.value;
    field.value = value;
    if (field.tagName === "SELECT" && field.selectedIndex < 0) field.value = before; // one that is no longer there
  }

  /* What an empty field stands for. */
  hint() {
    const [sequence, batch] = this.models[this.form.elements.model.value];
    this.form.elements.sequence.placeholder = sequence.toLocaleString("en");
    this.form.elements.batch.placeholder = this.form.elements.sequence.value ? "" : batch.toLocaleString("en");
  }

  plan() {
    const asked = Object.fromEntries(this.fields.map((field) => [field.name, field.value]));
    store.set(PLAN_KEY, JSON.stringify(asked));
    const number = (text) => Number(text) || 0;
    const question = {
      model: asked.model,
      machine: asked.machine,
      gpus: number(asked.gpus),
      sequence: number(asked.sequence),
      batch: number(asked.batch),
      tokens: 1e9 * number(asked.tokens),
      overlap: asked.overlap,
    };
    ask(this, { plan: JSON.stringify(question) });
  }

  say(words) {
    this.status.textContent = words;
  }

  end(words) {
    this.run.removeAttribute("aria-disabled");
    this.answer.replaceChildren();
    this.say(words);
  }

  show({ error, plan, heading, memory, picture, caption }) {
    if (error) return this.end(`No plan: ${error}.`);
    if (!plan.plans.length) return this.end(plan.reason);
    const best = plan.plans[0];
    this.end(
      `${plan.plans.length} meshes. The best, tensor ${best.mesh.tensor}, pipeline ${best.mesh.pipeline}, data ` +
        `${best.mesh.data}, takes ${best.seconds.seconds.toFixed(2)} s a step and ${best.days.toFixed(1)} days in all.`,
    );
    this.answer.append(
      made("p", `${heading.join("; ")}.`),
      made("h2", "Seconds of a step"),
      this.key(SPENT, plan.plans, "seconds"),
      this.bars(plan.plans, "seconds", SPENT, 1, "s"),
      made("p", plan.explanation),
      made("h2", "Memory of the fullest GPU"),
      this.key(HELD, plan.plans, "memory"),
      this.bars(plan.plans, "memory", HELD, 1e9, "GB", memory),
      made("p", `The dashed line: the ${(memory / 1e9).toFixed(0)} GB of a GPU, of which ${plan.reserve / 1e9} are kept for buffers.`),
      made("h2", "The ten best meshes"),
      this.table(plan.plans),
    );
    if (picture) {
      const place = made("div", "", { class: "planner-scroll", tabindex: "0", role: "group", "aria-label": "Pipeline of the best mesh" });
      place.innerHTML = picture; // made by the course's own renderer
      this.answer.append(made("h2", "The pipeline of the best mesh"), made("p", caption), place);
    }
  }

  key(parts, plans, what) {
    const list = made("ul", "", { class: "planner-key" });
    for (const [part, name] of Object.entries(parts)) {
      if (!plans.some((plan) => plan[what][part] > 0)) continue;
      const item = made("li");
      item.append(made("i", "", { style: `background: var(--plan-${part})` }), name);
      list.append(item);
    }
    return list;
  }

  bars(plans, what, parts, unit, name, limit = 0) {
    const total = (plan) => Object.keys(parts).reduce((sum, part) => sum + plan[what][part], 0);
    const most = Math.max(limit, ...plans.map(total));
    const box = made("div", "", { class: "planner-bars", "aria-hidden": "true" }); // the table says the same
    for (const plan of plans) {
      const bar = made("div", "", { class: "planner-bar" });
      for (const part of Object.keys(parts)) {
        const share = (100 * plan[what][part]) / most;
        bar.append(made("span", "", { style: `width: ${share}%; background: var(--plan-${part})`, title: parts[part] }));
      }
      if (limit) bar.append(made("b", "", { class: "planner-limit", style: `left: ${(100 * limit) / most}%` }));
      box.append(made("span", meshOf(plan.mesh)), bar, made("span", `${(total(plan) / unit).toFixed(unit > 1 ? 1 : 2)} ${name}`));
    }
    return box;
  }

  table(plans) {
    const spent = Object.keys(SPENT).filter((part) => part !== "experts" || plans.some((plan) => plan.seconds[part] > 0));
    const columns = {
      "tensor x pipeline x data": (plan) => meshOf(plan.mesh),
      "micro-batches": (plan) => `${plan.micro_batches} of ${plan.micro_batch}`,
      chunks: (plan) => plan.chunks,
      recompute: (plan) => plan.recompute,
      ZeRO: (plan) => plan.zero,
      ...Object.fromEntries(Object.keys(HELD).map((part) => [`GB ${HELD[part]}`, (plan) => (plan.memory[part] / 1e9).toFixed(1)])),
      "GB in all": (plan) => (plan.memory.total / 1e9).toFixed(1),
      ...Object.fromEntries(spent.map((part) => [`s ${SPENT[part]}`, (plan) => plan.seconds[part].toFixed(2)])),
      "s hidden": (plan) => Object.values(plan.hidden).reduce((sum, part) => sum + part, 0).toFixed(2),
      "s a step": (plan) => plan.seconds.seconds.toFixed(2),
      MFU: (plan) => `${(100 * plan.mfu).toFixed(1)} %`,
      days: (plan) => plan.days.toFixed(1),
      kWh: (plan) => (plan.kilowatt_hours === null ? "no source" : Number(plan.kilowatt_hours.toPrecision(3)).toLocaleString("en")),
    };
    const table = made("table", "", { class: "planner-table" });
    const head = table.createTHead().insertRow();
    Object.keys(columns).forEach((name) => head.append(made("th", name, { scope: "col" })));
    const body = table.createTBody();
    for (const plan of plans) {
      const row = body.insertRow();
      Object.values(columns).forEach((cell, place) => row.append(made(place ? "td" : "th", cell(plan), place ? {} : { scope: "row" })));
    }
    const box = made("div", "", { class: "planner-scroll", tabindex: "0", role: "group", "aria-label": "The ten best meshes" });
    box.append(table);
    return box;
  }
}

document.querySelectorAll("form.planner").forEach((form) => new Planner(form));
