"""Prints the titles of the service's vectors, as JSON: those with a valid signature, and the others."""

import hashlib
import hmac
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    vectors = json.load(file)

key = vectors["secret"].encode()
titles = {True: [], False: []}
for vector in vectors["vectors"]:
    body = vector["body"].encode()
    expected = "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest()
    given = vector["headers"].get("x-svc-signature", "")
    titles[hmac.compare_digest(expected, given)].append(vector["title"])
print(json.dumps([titles[True], titles[False]]))
