package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/cespare/xxhash/v2"
)

func TestAProgramIsKnownByItsContent(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := program(), fmt.Sprintf("%016x-%x", xxhash.Sum64(content), len(content)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
