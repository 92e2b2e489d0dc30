#!/bin/sh
# Makes missing secrets, builds the image and starts everything. Arguments go to `docker compose up`.
set -eu

folder="$(dirname "$0")"
"$folder/make-secrets.sh"
exec docker compose --file "$folder/compose.yaml" up --build --detach "$@"
