#!/usr/bin/env bash
# Go on with plan-seeds.json on a borrowed GPU. From the root of the repository:
#
#     bash experiments/pavlitskaya/gpu.sh PICTURES SECONDS [WAIT]
#
# The same command each time, whatever was done before; PICTURES is a folder of batches that
# ../werpachowski/cifar10/pictures.py packed, and may hold some of them only. Copies code and pictures out of the tree
# and begins to compile. While batches are missing it says so and ends at once: send the others before the machine goes
# back. Once they are there it trains for SECONDS, less half a minute, which goes on when the command ends; it waits for
# that WAIT seconds at most (540), and puts what is finished into $OUT. RUN is the folder outside of the tree. Where the tree
# has src and PICTURES a folder lib with the packages that it needs there, the corrupted pictures are made, too.
set -u
pictures=$1 seconds=$2 wait=${3:-540}
run=${RUN:-/tmp/r} python=${PYTHON:-python3} plan=${PLAN:-plan-seeds.json}
code=$run/experiments/pavlitskaya
mkdir -p "$run/data"
[ -d "$code" ] || cp -r experiments "$run/"

if [ ! -e "$run/compile.log" ]; then
    # shellcheck disable=SC2016  # expanded by the inner shell
    setsid nohup bash -c 'cd "$1" || exit
        "$2" precompile.py "$4"
        touch "$3"' compile "$code" "$python" "$run/compiled" "$plan" > "$run/compile.log" 2>&1 < /dev/null &
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
    until [ -e "$run/compiled" ]; do sleep 0.5; done
    cat "$run/compile.log"
    cp -r src "$pictures/lib" "$run/" || echo "src or $pictures/lib is not there: no curves under corruptions" >&2
    minutes=$("$python" -c "print(($seconds - 30 - $SECONDS) / 60)")
    cd "$code" || exit
    PYTHONPATH="$run/src:$run/lib" setsid nohup "$python" corrupted.py "$run/data" "$run/pictures.npy" \
        > "$run/corrupted.log" 2>&1 < /dev/null &
    setsid nohup "$python" -u train.py "$run/data" "$run/pool" --plan "$plan" --store results --minutes "$minutes" \
        --corrupted "$run/pictures.npy" --patience 120 ${MORE:-} > "$run/log" 2>&1 < /dev/null &
    echo $! > "$run/pid"
fi

while [ "$SECONDS" -lt "$wait" ] && kill -0 "$(cat "$run/pid")" 2> /dev/null; do sleep 1; done
cd "$code" && "$python" train.py - "$run/pool" --merge "$OUT/pool-${POOL:-new}.npz"
cat "$run/corrupted.log"
tail -n 60 "$run/log"
