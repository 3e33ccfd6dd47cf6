package server

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"leakdiff/server/intake"
)

// wideDump prints goroutines in that many families. Every family grows with round.
func wideDump(families, round int) string {
	var b strings.Builder
	id := 1
	for f := range families {
		for range 20 + f%30 + round*(f%3) {
			fmt.Fprintf(&b, "goroutine %d [select, %d minutes]:\nmain.(*Pool%d).run(0xc%09x, 0x1)\n\t/src/app/pool.go:%d +0x%x\nmain.serve%d(...)\n\t/src/app/serve.go:7\ncreated by main.start in goroutine 1\n\t/src/app/main.go:%d +0x1d\n\n",
				id*7, id%200, f, id, 10+f, f, f, 100+f)
			id++
		}
	}
	return b.String()
}

// BenchmarkDiffPage compares two snapshots with 400 families, for the first time and
// again.
func BenchmarkDiffPage(b *testing.B) {
	s := newSite(b)
	first := s.put("t0.txt", []byte(wideDump(400, 0)))
	r := s.do("PUT", "/api/v1/bundles/t1.txt?wait=1&case="+first.Case, strings.NewReader(wideDump(400, 1)), "Authorization", "Bearer "+first.OwnerKey)
	second := decode[intake.Uploaded](b, r.body)
	address := "/diff/" + first.Snapshots[0].ID + ".." + second.Snapshots[0].ID + "?case=" + first.Case
	b.Run("made", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if r := s.get(fmt.Sprintf("%s&try=%d", address, i)); r.status != 200 {
				b.Fatal(r.status)
			}
		}
	})
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			if r := s.get(address); r.status != 200 {
				b.Fatal(r.status)
			}
		}
	})
}

// BenchmarkSearch searches for a word in every snapshot of a large case.
func BenchmarkSearch(b *testing.B) {
	s := newSite(b)
	fleet(b, s)
	for b.Loop() {
		if r := s.get("/search?q=main.start"); r.status != 200 {
			b.Fatal(r.status)
		}
	}
}

// BenchmarkCasePage makes the page of 50 processes with 100 snapshots each, after a start
// of the server and again.
func BenchmarkCasePage(b *testing.B) {
	s := newSite(b)
	up := fleet(b, s)
	b.Run("made", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			s.restarted(fmt.Sprintf("%s?try=%d", up.Link, i), anew)
		}
	})
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			if r := s.get(up.Link); r.status != 200 {
				b.Fatal(r.status)
			}
		}
	})
}

// fleet uploads 100 dumps of each of 50 processes.
func fleet(b *testing.B, s *site) intake.Uploaded {
	var archive bytes.Buffer
	tw := tar.NewWriter(&archive)
	began := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for point := range 100 {
		at := began.Add(time.Duration(point) * time.Hour)
		for process := range 50 {
			var dump strings.Builder
			for g := range 20 + point/10 {
				fmt.Fprintf(&dump, "goroutine %d [select, %d minutes]:\nmain.(*Pool%d).run(0xc000010000)\n\t/src/app/pool.go:%d +0x1d\ncreated by main.start in goroutine 1\n\t/src/app/main.go:9 +0x1d\n\n",
					1+g*3+process, 60*point+g, g%10, 10+g%10)
			}
			name := fmt.Sprintf("capture/%s/worker-%c%c/goroutine-debug2.txt", at.Format("20060102T150405Z"), 'a'+process/26, 'a'+process%26)
			if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(dump.Len()), ModTime: at}); err != nil {
				b.Fatal(err)
			}
			tw.Write([]byte(dump.String()))
		}
	}
	tw.Close()
	up := s.put("fleet.tar", archive.Bytes())
	if len(up.Snapshots) != 5000 {
		b.Fatalf("%d snapshots", len(up.Snapshots))
	}
	return up
}
