"""A correct receiver for the standard library of Python."""

import hashlib
import hmac
import json
import os
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["SVC_WEBHOOK_SECRET"].encode()
LIMIT = 1_048_576

records = {}
lock = threading.Lock()


def handle(event):
    """Passes the event to the contract. A response other than 2xx is an exception."""
    request = urllib.request.Request(
        os.environ["HANDLER_URL"],
        data=json.dumps(event).encode(),
        headers={"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request).close()


def is_genuine(body, signatures):
    expected = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    # Two headers, or one that is not ASCII, would otherwise be compared in part or raise.
    if len(signatures) != 1 or not signatures[0].isascii():
        return False
    return hmac.compare_digest(expected, signatures[0])


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def respond(self, status):
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()

    def body(self):
        """Returns the bytes of the body, or None if there are too many."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            length = int(self.headers.get("Content-Length", "0"))
            return None if length > LIMIT else self.rfile.read(length)
        body = b""
        while True:
            size = int(self.rfile.readline(64).split(b";")[0], 16)
            if len(body) + size > LIMIT:
                return None
            body += self.rfile.read(size)
            self.rfile.readline(64)
            if size == 0:
                return body

    def status(self):
        body = self.body()
        if body is None:
            return 413
        if self.command != "POST":
            return 405
        if not is_genuine(body, self.headers.get_all("X-SVC-Signature", [])):
            return 401
        try:
            event = json.loads(body)
            key, kind = event["event_id"], event["type"]
        except (ValueError, RecursionError, TypeError, KeyError):
            return 400
        if kind != "email.sent":
            return 200
        with lock:
            if key in records:
                return 200 if records[key] == "done" else 503
            records[key] = "running"
        try:
            handle(event)
        except Exception:
            del records[key]
            return 500
        records[key] = "done"
        return 200

    def do_POST(self):
        try:
            self.respond(self.status())
        except (OSError, ValueError):
            self.close_connection = True

    do_GET = do_PUT = do_PATCH = do_DELETE = do_POST

    def log_message(self, *_):
        pass


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    # The process that started this one closes the pipe, even if it is killed.
    sys.stdin.read()


if __name__ == "__main__":
    main()
