module leakdiff/cmd/leakbench

go 1.26.0
