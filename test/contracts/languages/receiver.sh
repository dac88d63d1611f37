#!/usr/bin/env bash
# A correct receiver for one connection, whose socket is stdin and stdout. It records events in the folder $STATE.
set -uo pipefail
export LC_ALL=C

limit=1048576
body=$(mktemp "$STATE/body.XXXXXX")
trap 'rm -f "$body"' EXIT

respond() {
  printf 'HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' "$1"
  exit
}

# The secret is in the list of processes for a moment, because openssl takes a key of any bytes in no other way.
is_genuine() {
  local expected
  expected=$(openssl dgst -sha256 -hmac "$SVC_WEBHOOK_SECRET" -hex <"$body")
  [[ ${#signatures[@]} == 1 && ${signatures[0]} == "sha256=${expected##* }" ]]
}

# Passes the event to the contract. A response other than 2xx is a failure.
handle() {
  curl --silent --fail --output /dev/null --header 'Content-Type: application/json' \
    --data-binary @"$body" "$HANDLER_URL"
}

read_head() {
  local name value
  signatures=() length=0 is_chunked=false
  IFS=' ' read -r method _
  while IFS= read -r line && line=${line%$'\r'} && [[ $line ]]; do
    name=${line%%:*} value=${line#*:}
    value=${value#"${value%%[! ]*}"}
    case ${name,,} in
      content-length) length=$value ;;
      transfer-encoding) is_chunked=true ;;
      x-svc-signature) signatures+=("$value") ;;
    esac
  done
}

read_chunks() {
  local size bytes total=0
  while IFS= read -r size && size=$((16#${size%%[!0-9A-Fa-f]*})) && ((size > 0)); do
    ((total += size))
    ((total <= limit)) || respond '413 Content Too Large'
    if ((size > 64)); then
      head -c "$size"
    else
      IFS= read -r -N "$size" bytes && printf %s "$bytes"
    fi >>"$body"
    IFS= read -r _
  done
  IFS= read -r _
}

member() {
  grep -ao "\"$1\":\"[^\"]*\"" "$body" | head -n 1 | cut -d '"' -f 4
}

main() {
  read_head
  if $is_chunked; then
    read_chunks
  else
    ((length <= limit)) || respond '413 Content Too Large'
    head -c "$length" >"$body"
    # The client has disconnected.
    (($(wc -c <"$body") == length)) || exit
  fi
  [[ $method == POST ]] || respond '405 Method Not Allowed'
  is_genuine || respond '401 Unauthorized'

  local id type
  id=$(member event_id) type=$(member type)
  [[ $(head -c 1 "$body") == '{' && $id =~ ^[A-Za-z0-9_-]+$ && $type ]] || respond '400 Bad Request'
  [[ $type == email.sent ]] || respond '200 OK'
  if ! mkdir "$STATE/$id" 2>/dev/null; then
    [[ -e $STATE/$id/done ]] && respond '200 OK'
    respond '503 Service Unavailable'
  fi
  if handle; then
    touch "$STATE/$id/done"
    respond '200 OK'
  fi
  rmdir "$STATE/$id"
  respond '500 Internal Server Error'
}

[[ ${BASH_SOURCE[0]} != "$0" ]] || main
