"""A receiver that needs only Python's base system. It keeps the ids of handled events in its memory."""

import hashlib
import hmac
import json
import os
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("SIGNING_SECRET", "").encode()
IS_ADDED_FIRST = os.environ.get("HANDLER") == "added first"
seen = set()


def mail():
    request = urllib.request.Request(os.environ["MAIL_URL"] + "/send", b"{}", method="POST")
    urllib.request.urlopen(request, timeout=20).read()


def handle(event_id):
    if event_id in seen:
        return
    if IS_ADDED_FIRST:
        seen.add(event_id)
        mail()
    else:
        mail()
        seen.add(event_id)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        expected = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
        status = 200
        try:
            if not hmac.compare_digest(self.headers["X-SVC-Signature"], expected):
                status = 401
            else:
                handle(json.loads(body)["event_id"])
        except Exception:
            status = 500
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
