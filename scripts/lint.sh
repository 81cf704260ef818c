#!/usr/bin/env bash
# Format and clang-tidy over what differs from the main branch's last commit, or over all files with --all.
#   scripts/lint.sh [--all]
set -euo pipefail
cd "$(dirname "$0")/.."
list() { git ls-files "$@"; }
if [ "${1:-}" != "--all" ]; then
  changed=$( { git diff --name-only HEAD~1 2>/dev/null || git ls-files; git ls-files --others --exclude-standard; } | sort -u)
  list() { for f in $(git ls-files --cached --others --exclude-standard "$@"); do grep -qxF "$f" <<<"$changed" && [ -f "$f" ] && echo "$f"; done; true; }
fi

headers_and_sources=$(list '*.cpp' '*.hpp' '*.h')
if [ -n "$headers_and_sources" ]; then
  echo "== clang-format: $(wc -w <<<"$headers_and_sources") files"
  clang-format --dry-run --Werror $headers_and_sources
fi

# The SIMD kernels compile themselves once per instruction set, which clang-tidy cannot follow.
sources=$(list 'src/*.cpp' 'cli/*.cpp' 'examples/*.cpp' | grep -v '^src/devices/cpu/kernels/' || true)
if [ -n "$sources" ]; then
  echo "== clang-tidy: $(wc -w <<<"$sources") files"
  cmake --preset dev -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
  # Precompiled headers are GCC's; clang reads the sources without them.
  python3 - build/dev/compile_commands.json build/lint/compile_commands.json <<'PY'
import json, os, re, sys
commands = json.load(open(sys.argv[1]))
for c in commands:
    c["command"] = re.sub(r"-Winvalid-pch|-include \S*cmake_pch\.hxx|-Wno-(restrict|subobject-linkage|stringop-overflow)", "", c["command"])
    c["command"] = re.sub(r"^\S*ccache ", "", c["command"])
os.makedirs(os.path.dirname(sys.argv[2]), exist_ok=True)
json.dump(commands, open(sys.argv[2], "w"))
PY
  xargs -P "$(nproc)" -n 4 clang-tidy-19 -p build/lint --quiet --warnings-as-errors='*' <<<"$sources" 2> >(grep -v 'warnings generated' >&2)
fi
echo "lint: clean"
