// Python beside the page: it is loaded when this worker starts, and judges one answer after the other.

import { loadPyodide } from "./pyodide/pyodide.mjs";

const here = (name) => new URL(name, import.meta.url).href;

async function load() {
  const [python, archive] = await Promise.all([
    loadPyodide({ indexURL: here("pyodide/"), stdout: () => {}, stderr: () => {} }),
    fetch(here("course.zip")).then((answer) => {
      if (!answer.ok) throw new Error(`course.zip: ${answer.status}`);
      return answer.arrayBuffer();
    }),
  ]);
  python.FS.mkdirTree("/course");
  python.unpackArchive(archive, "zip", { extractDir: "/course" });
  python.runPython(`
import sys
from pathlib import Path

sys.path.insert(0, "/course")
from autograder.browser import planning, session

WORK = Path("/work")
`);
  return python;
}

function plan(python, asked) {
  python.globals.set("asked", asked);
  return JSON.parse(python.runPython("planning.told(asked)"));
}

function judge(python, asked) {
  python.globals.set("asked", python.toPy([asked.exercise, asked.source, asked.records]));
  const told = python.runPython("session.keep(WORK, asked[2]); session.told(asked[0], asked[1], WORK)");
  return { ...JSON.parse(told), records: python.runPython("session.kept(WORK)") };
}

const loaded = load();
loaded.then(
  () => postMessage({ kind: "ready" }),
  (error) => postMessage({ kind: "failed", text: String(error) }),
);

onmessage = async ({ data }) => {
  const python = await loaded;
  postMessage({ kind: "began" });
  try {
    if (data.plan) postMessage({ kind: "planned", answer: plan(python, data.plan) });
    else postMessage({ kind: "told", ...judge(python, data) });
  } catch (error) {
    postMessage({ kind: "broken", text: String(error.message || error) });
  }
};
