"""The Firefox of this machine by its own protocol, Marionette, which needs no driver and no package."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import subprocess
import time
from pathlib import Path

_CONTEXT = "chrome"
"""The context of scripts of the browser itself, which see requests and the console."""

_PROXY = "network.proxy."
_OFFLINE = {f"{_PROXY}type": 1} | {
    f"{_PROXY}{name}": value for kind in ("http", "ssl") for name, value in ((kind, "127.0.0.1"), (f"{kind}_port", 9))
}
"""Settings by which the program itself reaches no network either: a proxy that does not answer."""

_WATCH = """
const win = Services.wm.getMostRecentWindow("navigator:browser");
win.said = [];
Services.console.registerListener({ observe(message) {
  const error = message instanceof Ci.nsIScriptError ? message : null;
  if (error && error.sourceName.startsWith("file:")) win.said.push(error.errorMessage);
} });
Services.obs.addObserver((request) => {
  request.QueryInterface(Ci.nsIChannel);
  const asked = request.loadInfo.loadingPrincipal;
  if (asked && !asked.isSystemPrincipal) win.said.push(request.URI.spec);
}, "http-on-modify-request");
"""


class Firefox:
    """One window without a display.

    Args:
        program: Path of the program.
        folder: An empty folder for its profile.
    """

    def __init__(self, program, folder):
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
            port = free.getsockname()[1]
        settings = {"marionette.port": port, **_OFFLINE}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items()]
        Path(folder, "user.js").write_text("".join(lines), encoding="utf-8")
        arguments = ["--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", folder]
        self._process = subprocess.Popen(
            [program, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._socket = _connect(port)
        self._receive()  # its greeting
        self._number = 0
        self.ask("WebDriver:NewSession", capabilities={})
        self._in_browser(_WATCH)

    def ask(self, command, **parameters):
        """Return the answer to a command."""
        self._number += 1
        text = json.dumps([0, self._number, command, parameters])
        self._socket.sendall(f"{len(text)}:{text}".encode())
        _, _, error, result = self._receive()
        assert error is None, error
        return result

    def run(self, script, *arguments):
        """Return the result of a script on the page."""
        return self.ask("WebDriver:ExecuteScript", script=script, args=list(arguments))["value"]

    def open(self, address):
        """Open an address."""
        self.ask("WebDriver:Navigate", url=address)

    def said(self):
        """Return the messages and the requests of pages so far."""
        return self._in_browser('return Services.wm.getMostRecentWindow("navigator:browser").said;')

    def take_picture(self, path):
        """Write a picture of the page as PNG."""
        picture = self.ask("WebDriver:TakeScreenshot", full=False)["value"]
        Path(path).write_bytes(base64.b64decode(picture))

    def close(self):
        """End the program."""
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def _in_browser(self, script):
        self.ask("Marionette:SetContext", value=_CONTEXT)
        result = self.run(script)
        self.ask("Marionette:SetContext", value="content")
        return result

    def _receive(self):
        length = b""
        while not length.endswith(b":"):
            length += self._socket.recv(1)
        wanted = int(length[:-1])
        content = b""
        while len(content) < wanted:
            content += self._socket.recv(wanted - len(content))
        return json.loads(content)


def _connect(port):
    end = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except ConnectionRefusedError:
            assert time.monotonic() < end, "Firefox does not listen"
            time.sleep(0.2)
