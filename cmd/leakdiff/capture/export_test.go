package capture

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"time"
)

// Put adds a file to an archive.
func (a *Archive) Put(name string, text []byte) error {
	return a.put(name, time.Time{}, int64(len(text)), bytes.NewReader(text))
}

// PairsAt pairs the goroutines of a dump as if Sysfd stood at offset. dump writes it, and
// between happens after it.
func PairsAt(proc string, offset int, dump func(io.Writer), between func()) (string, error) {
	p, err := openPairing(proc, runtime.Version(), time.Hour)
	if err != nil {
		return "", err
	}
	defer p.close()
	p.layout.offset = offset
	dump(&p.frames)
	between()
	p.begin()
	<-p.done
	var out strings.Builder
	if err := writePairs(&out, p.pairs); err != nil {
		return "", err
	}
	return out.String(), p.err
}
