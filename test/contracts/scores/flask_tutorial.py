"""Flask in the manner of tutorials that verify the raw body."""

import hashlib
import hmac
import os

import flask
import urllib.request

app = flask.Flask(__name__)


def handle(body):
    urllib.request.urlopen(os.environ["HANDLER_URL"], data=body).close()


@app.post("/webhooks")
def webhooks():
    body = flask.request.get_data()
    expected = hmac.new(os.environ["WEBHOOK_SECRET"].encode(), body, hashlib.sha256).hexdigest()
    given = flask.request.headers.get("X-SVC-Signature", "")
    if not hmac.compare_digest("sha256=" + expected, given):
        flask.abort(401)
    event = flask.request.get_json()
    if event["type"] == "email.sent":
        handle(body)
    return "", 200


app.run(port=int(os.environ["PORT"]))
