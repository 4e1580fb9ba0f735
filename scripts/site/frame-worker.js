// SPDX-License-Identifier: Apache-2.0
// The theme searches in a Worker. Browsers start none for a page that was opened as a file. For such a page, this class
// runs the same script in a hidden frame. The theme's script recognizes it by the name IFrameWorker.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      const load = (address) =>
        new Promise((loaded, failed) => {
          const script = inside.document.createElement("script");
          script.src = address;
          script.onload = loaded;
          script.onerror = failed;
          inside.document.body.append(script);
        });
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...addresses) =>
        addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve());
      const started = load(new URL(url, location.href).href);
      this.postMessage = (data) =>
        started.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };
  window.Worker = window.IFrameWorker;
}
