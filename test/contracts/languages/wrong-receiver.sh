#!/usr/bin/env bash
# A receiver that accepts what has no signature, and keeps the record of a run that has failed.
source "${BASH_SOURCE[0]%/*}/receiver.sh"

eval "verify() $(declare -f is_genuine | tail -n +2)"
is_genuine() {
  ((${#signatures[@]} == 0)) || verify
}
rmdir() {
  :
}

main
