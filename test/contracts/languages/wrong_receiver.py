"""A receiver that verifies the parsed body, written as JSON again."""

import json

import receiver

is_genuine = receiver.is_genuine


def is_genuine_when_written_again(body, signatures):
    try:
        body = json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        pass
    return is_genuine(body, signatures)


receiver.is_genuine = is_genuine_when_written_again
receiver.main()
