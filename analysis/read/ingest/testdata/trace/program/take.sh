#!/bin/bash
# take.sh binary directory: two dumps and a trace between them, and a dump of a second process.
set -e
b=$1; d=$2; a=127.0.0.1:7011; c=127.0.0.1:7012; mkdir -p $d
$b $a & p=$!; $b $c & q=$!
sleep 1
curl -s "$a/open?n=30"; curl -s "$a/grow?n=10"
sleep 1
curl -s "$a/debug/pprof/goroutine?debug=2" > $d/goroutine-1.txt
sleep 2
curl -s "$a/debug/pprof/trace?seconds=3" > $d/trace-2.out & t=$!
sleep 1
curl -s "$a/open?n=12"; curl -s "$a/grow?n=6"; curl -s "$a/jobs?n=20"
wait $t
sleep 1
curl -s "$a/open?n=8"
sleep 1
curl -s "$a/debug/pprof/goroutine?debug=2" > $d/goroutine-3.txt
# The second process gives the same ids to goroutines of others.
curl -s "$c/grow?n=70"
sleep 1
curl -s "$c/debug/pprof/goroutine?debug=2" > $d/other.txt
kill $p $q
