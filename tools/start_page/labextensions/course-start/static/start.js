// The course's start page as a tab of JupyterLab. It is what a bundler would make of an extension, written by hand:
// a container with `init` and `get`, which takes what it needs from Lab itself. The page's HTML is the server's
// (autograder/start/server_extension.py); without it, or without this file, Lab shows its launcher as ever.
(function () {
  const NAME = 'course-start';
  const COMMAND = 'course:start';
  let shared = null;

  async function lab(name) {
    const versions = Object.values(shared[name] || {});
    if (!versions.length) throw new Error(`${NAME}: Lab shares no ${name}`);
    return (await versions[versions.length - 1].get())();
  }

  function pageClass(Widget, ask, open) {
    return class StartPage extends Widget {
      constructor() {
        super();
        this.id = NAME;
        this.title.label = 'Start';
        this.title.caption = 'Where you stand in the course';
        this.title.closable = true;
        this.node.style.overflow = 'auto';
        this.node.style.background = 'var(--jp-layout-color1)';
        this.node.style.outline = 'none';
        this.node.tabIndex = -1;
        this.node.addEventListener('click', event => this.clicked(event));
        this.seen = '';
        this.doctor = '';
      }

      onAfterAttach() {
        this.refresh();
        this.look();
      }

      onAfterShow() {
        this.refresh();
      }

      onActivateRequest() {
        this.node.focus({ preventScroll: true });
      }

      async refresh() {
        let text;
        try {
          text = await ask('course/start');
        } catch (error) {
          text = this.seen || 'The start page cannot be read. The notebooks are on the left, 00_start_here first.';
        }
        if (text === this.seen) return;
        const unfolded = [...this.node.querySelectorAll('details[open]')].map(one => one.dataset.unit);
        const top = this.node.scrollTop;
        this.node.innerHTML = this.seen = text;
        for (const one of this.node.querySelectorAll('details')) one.open = unfolded.includes(one.dataset.unit);
        this.node.scrollTop = top;
        this.putDoctor();
      }

      async look(again) {
        try {
          this.doctor = await ask(`course/doctor${again ? '?again=1' : ''}`);
        } catch (error) {
          this.doctor = ' ';
        }
        this.putDoctor();
      }

      putDoctor() {
        const place = this.node.querySelector('.course-doctor');
        if (place && this.doctor) place.innerHTML = this.doctor;
      }

      clicked(event) {
        if (event.target.closest('a[data-again]')) {
          event.preventDefault();
          this.doctor = 'Looking at this machine ...';
          this.putDoctor();
          this.look(true);
          return;
        }
        const link = event.target.closest('a[data-path]');
        if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
        event.preventDefault();
        open(link.dataset.path, link.dataset.cell);
      }
    };
  }

  async function plugin() {
    const { Widget } = await lab('@lumino/widgets');
    const { PageConfig } = await lab('@jupyterlab/coreutils');
    const { ServerConnection } = await lab('@jupyterlab/services');
    const { ICommandPalette } = await lab('@jupyterlab/apputils');
    const { ILauncher } = await lab('@jupyterlab/launcher');
    return {
      id: `${NAME}:plugin`,
      autoStart: true,
      optional: [ICommandPalette, ILauncher],
      activate: (app, palette, launcher) => {
        const open = async (path, cell) => {
          const document = await app.commands.execute('docmanager:open', { path });
          if (!document || !cell) return;
          await document.context.ready;
          if (document.revealed) await document.revealed;
          document.setFragment(`#cell-id=${cell}`);
        };
        const ask = async path => {
          // Lab's own way: it brings the token against forged requests, without which a hub answers nothing.
          const settings = ServerConnection.makeSettings();
          const answer = await ServerConnection.makeRequest(settings.baseUrl + path, {}, settings);
          if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
          return answer.text();
        };
        const StartPage = pageClass(Widget, ask, open);
        let page = null;
        const show = activate => {
          if (!page || page.isDisposed) page = new StartPage();
          if (!page.isAttached) app.shell.add(page, 'main', { activate, rank: 0 });
          if (activate) app.shell.activateById(page.id);
        };
        app.commands.addCommand(COMMAND, {
          label: 'Start page',
          caption: 'Where you stand in the course',
          execute: () => show(true)
        });
        if (palette) palette.addItem({ command: COMMAND, category: 'Course' });
        if (launcher) launcher.add({ command: COMMAND, category: 'Course', rank: -1 });
        if (PageConfig.getOption('mode') === 'single-document') return;
        const asked = /\/tree\//.test(window.location.pathname); // an address that names a notebook shows that one
        show(false);
        app.restored.then(() => {
          if (!asked) show(true);
        });
      }
    };
  }

  const container = {
    init: scope => {
      shared = shared || scope;
    },
    get: async name => {
      if (name !== './extension') throw new Error(`${NAME}: no ${name}`);
      const made = await plugin();
      return () => ({ __esModule: true, default: made });
    }
  };
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB[NAME] = container;
})();
