#!/usr/bin/env bash
# Go on with plan-seeds.json on a borrowed GPU. From the root of the repository:
#
#     bash experiments/pavlitskaya/gpu.sh PICTURES SECONDS [WAIT]
#
# The same command each time, whatever was done before; PICTURES is a folder of batches that
# ../werpachowski/cifar10/pictures.py packed, and may hold some of them only. Copies code and pictures out of the tree
# and begins to compile. While batches are missing it says so and ends at once: send the others before the machine goes
# back. Once they are there it trains for SECONDS, less half a minute, which goes on when the command ends; it waits for
# that WAIT seconds at most (540), and puts what is finished into $OUT. Where the tree has src, the corrupted pictures
# are made beside it; packages that src needs and the machine has not may lie in PICTURES/lib, and mnist.npz, for the
# networks on it, in PICTURES: it has to be there before the last batch.
#
# RUN (a folder outside of the tree), PYTHON, PLAN, POOL (a name for what comes back), COMPILE (kernels are waited for
# until so many seconds after the start) and MORE (further options of train.py) may be set; RUN and OUT are whole paths.
set -u
pictures=$1 seconds=$2 wait=${3:-540}
run=${RUN:-/tmp/r} python=${PYTHON:-python3} plan=${PLAN:-plan-seeds.json}
code=$run/experiments/pavlitskaya
mkdir -p "$run/data" "$run/lib"
[ -d "$code" ] || cp -r experiments "$run/"
[ ! -d src ] || [ -d "$run/src" ] || cp -r src "$run/"
[ ! -d "$pictures/lib" ] || cp -r "$pictures/lib" "$run/"
[ ! -e "$pictures/mnist.npz" ] || cp "$pictures/mnist.npz" "$run/data/"

if [ ! -e "$run/compile.log" ]; then
    # shellcheck disable=SC2016  # expanded by the inner shell
    setsid nohup bash -c 'cd "$1" && "$2" precompile.py "$3" || echo "train.py has to compile by itself"' \
        compile "$code" "$python" "$plan" > "$run/compile.log" 2>&1 < /dev/null &
    echo $! > "$run/compiling"
fi

if [ ! -e "$run/log" ]; then
    "$python" experiments/werpachowski/cifar10/pictures.py unpack "$pictures" "$run/data" || exit 2
    missing=
    for b in 0 1 2 3 4 5; do
        [ -e "$run/data/batch-$b.npz" ] || missing="$missing $b"
    done
    if [ -n "$missing" ]; then
        echo "batches missing:$missing. Send them with the same command, now: nothing is trained without them." >&2
        exit 2
    fi
    while [ "$SECONDS" -lt "${COMPILE:-120}" ] && kill -0 "$(cat "$run/compiling")" 2> /dev/null; do sleep 0.5; done
    kill -- -"$(cat "$run/compiling")" 2> /dev/null && echo "compiling was ended after $SECONDS s"
    tail -n 20 "$run/compile.log"
    cd "$code" || exit
    corrupted=()
    if [ -d "$run/src" ]; then
        PYTHONPATH="$run/src:$run/lib${PYTHONPATH:+:$PYTHONPATH}" setsid nohup "$python" corrupted.py "$run/data" \
            "$run/pictures.npy" > "$run/corrupted.log" 2>&1 < /dev/null &
        corrupted=(--corrupted "$run/pictures.npy" --patience 120)
    fi
    minutes=$("$python" -c "print(($seconds - 30 - $SECONDS) / 60)")
    # shellcheck disable=SC2086  # several options
    setsid nohup "$python" -u train.py "$run/data" "$run/pool" --plan "$plan" --minutes "$minutes" \
        "${corrupted[@]}" ${MORE:-} > "$run/log" 2>&1 < /dev/null &
    echo $! > "$run/pid"
fi

while [ "$SECONDS" -lt "$wait" ] && kill -0 "$(cat "$run/pid")" 2> /dev/null; do sleep 1; done
cd "$code" && "$python" train.py - "$run/pool" --merge "$OUT/pool-${POOL:-new}.npz"
[ ! -e "$run/corrupted.log" ] || tail -n 3 "$run/corrupted.log"
tail -n 60 "$run/log"
