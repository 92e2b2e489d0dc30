#!/bin/sh
# Writes random secrets of compose.yaml to files in a private folder. Existing files are kept, because a new Fernet key
# makes stored connections unreadable and a database keeps the password it was first started with.
# Usage: docker/make-secrets.sh [FOLDER]   (default: docker/secrets)
set -eu

folder="${1:-"$(dirname "$0")/secrets"}"

# On the host, the folder protects the files. Compose mounts each file with the mode it has here, and the containers'
# users have other ids than yours, so the files themselves must be readable.
umask 022
mkdir -p "$folder"
chmod 0700 "$folder"

random_hex() { od -An -v -N "$1" -tx1 /dev/urandom | tr -d ' \n'; }
fernet_key() { head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '\n'; }

put() {
    if [ -e "$folder/$1" ]; then
        echo "kept  $folder/$1"
        return
    fi
    cat >"$folder/.$1.partial"
    [ -s "$folder/.$1.partial" ]
    chmod 0444 "$folder/.$1.partial"
    mv "$folder/.$1.partial" "$folder/$1"
    echo "drawn $folder/$1"
}

for name in metadata_password warehouse_owner_password warehouse_reader_password research_password; do
    random_hex 24 | put "$name"
done
# Airflow signs its tokens with HMAC-SHA-512, which needs a key of at least 64 bytes.
for name in jwt_secret api_secret_key; do
    random_hex 64 | put "$name"
done
fernet_key | put fernet_key
random_hex 32 | put fingerprint_key
printf '{"admin": "%s"}\n' "$(random_hex 24)" | put ui_passwords
