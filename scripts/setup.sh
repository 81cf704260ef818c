#!/usr/bin/env bash
# Installs what a task needs from Debian's packages, only what is missing, quietly.
#   scripts/setup.sh build|test|oracle|compilers|fuzz|lint
# Waits for another package manager for GRAFT_SETUP_WAIT seconds (600).
set -euo pipefail

build="g++ cmake ninja-build ccache pkg-config libpugixml-dev nlohmann-json3-dev libcli11-dev libhwy-dev libpng-dev libjpeg-dev libtiff-dev libwebp-dev
  libopenjp2-7-dev libre2-dev zlib1g-dev python3
  python3-dev python3-numpy pybind11-dev"
test="libgtest-dev clang-14 clang-19 pocl-opencl-icd ocl-icd-libopencl1"
fuzz="clang-19 libclang-rt-19-dev"
oracle="python3-venv"
lint="clang-format clang-tidy-19"
# Those of scripts/compilers.py that this release of Debian has.
compilers() {
  for package in g++-{11..14} clang-{14..19}; do
    # As a pattern, because a + in a name makes it one anyway. grep -q would end before apt-cache has written everything,
    # which is a failure of the pipe.
    if apt-cache policy "^${package//+/[+]}\$" | grep 'Candidate: [0-9]' >/dev/null; then printf '%s ' "$package"; fi
  done
}

case "${1:-build}" in
  build) wanted="$build" ;;
  test) wanted="$build $test" ;;
  fuzz) wanted="$build $fuzz" ;;
  oracle) wanted="$build $oracle" ;;
  compilers) wanted="$build $(compilers)" ;;
  lint) wanted="$build $test $lint" ;;
  *) echo "setup.sh: there is no set of packages '$1'" >&2; exit 1 ;;
esac

missing=()
for package in $wanted; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "these packages are missing, and there is no sudo to install them with: ${missing[*]}" >&2; exit 1; }
  root=(sudo)
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() { "${root[@]}" apt-get update -qq && "${root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"; }
# Another package manager may be at work, such as the automatic upgrades of a machine that has just started.
for ((waited = 0; ; waited += 5)); do
  install >"$log" 2>&1 && exit 0
  grep -qE 'Could not get lock|is another process using it' "$log" && ((waited < ${GRAFT_SETUP_WAIT:-600})) || break
  ((waited)) || echo "waiting for another package manager to finish"
  sleep 5
done
cat "$log" >&2
exit 1
