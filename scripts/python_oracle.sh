#!/usr/bin/env bash
# The package for Python as users get it: a wheel in a clean virtual environment, with NumPy from PyPI, and beside OpenCV and
# PyTorch where scripts/frameworks.sh and scripts/zoo.sh have installed them. Status 0 and a note when the registry does not answer.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/build/oracle/python
rm -rf "$folder/clean" "$folder/wheel" "$folder/package"
mkdir -p "$folder"
python3 -m venv "$folder/clean"
pip() { "$folder/clean/bin/pip" --quiet --disable-pip-version-check "$@" >>"$folder/pip.log" 2>&1; }
if ! pip install --timeout 20 --retries 1 numpy; then
  echo "python: skipped, the package registry does not answer ($folder/pip.log)"
  exit 0
fi
pip wheel . --no-deps -w "$folder/wheel" || { tail -n 20 "$folder/pip.log"; exit 1; }
pip install "$folder"/wheel/*.whl
status=0
run() {  # title, interpreter, arguments
  local title=$1
  shift
  if (cd "$folder" && GRAFT_BIN="$OLDPWD/build/bin" "$@") >"$folder/log" 2>&1; then echo "$title: passed"; else cat "$folder/log"; echo "$title: FAILED"; status=1; fi
}
run "the tests with the wheel in a clean environment" "$folder/clean/bin/python" -m unittest discover -s "$PWD/python/tests"
if pip install --timeout 20 --retries 1 mypy; then
  run "types of the package" "$folder/clean/bin/python" -m mypy --config-file "$PWD/pyproject.toml" "$PWD/python/graft"
else
  echo "types of the package: skipped, mypy cannot be installed"
fi
pip install --no-deps --target "$folder/package" "$folder"/wheel/*.whl
export PYTHONPATH=$folder/package
for peer in opencv:build/oracle/opencv torch:build/oracle/zoo/venv; do
  python=$PWD/${peer#*:}/bin/python
  if [ -x "$python" ]; then run "beside ${peer%%:*}" "$python" "$PWD/tests/oracle/python_${peer%%:*}.py"; else echo "beside ${peer%%:*}: skipped, it is not installed"; fi
done
exit $status
