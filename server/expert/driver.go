package expert

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/pprof/driver"
	pprof "github.com/google/pprof/profile"
)

// inMemory returns the same profile for every name. It names no source, so that pprof
// stores no copy in the home directory.
type inMemory struct{ p *pprof.Profile }

func (f inMemory) Fetch(string, time.Duration, time.Duration) (*pprof.Profile, string, error) {
	return f.p, "", nil
}

// noSymbols leaves the names as they are.
type noSymbols struct{}

func (noSymbols) Symbolize(string, driver.MappingSources, *pprof.Profile) error { return nil }

var errSwitchedOff = errors.New("switched off")

// noObjects opens no binary. Without it pprof would use its own tool.
type noObjects struct{}

func (noObjects) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errSwitchedOff
}

func (noObjects) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) {
	return nil, errSwitchedOff
}

// noFiles writes nothing.
type noFiles struct{}

func (noFiles) Open(string) (io.WriteCloser, error) { return nil, errSwitchedOff }

// noNetwork sends no request.
type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) { return nil, errSwitchedOff }

// logOnly sends the messages of pprof to the log instead of a terminal.
type logOnly struct{ log *slog.Logger }

func (logOnly) ReadLine(string) (string, error) { return "", io.EOF }

func (logOnly) Print(...any) {}

func (logOnly) IsTerminal() bool { return false }

func (logOnly) WantBrowser() bool { return false }

func (logOnly) SetAutoComplete(func(string) string) {}

func (s logOnly) PrintErr(args ...any) {
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.log.Debug("pprof", "said", fmt.Sprint(args...))
	}
}

// arguments is the command line that pprof reads instead of that of the server.
type arguments struct {
	*flag.FlagSet
	args []string
}

func newArguments(args ...string) *arguments {
	set := flag.NewFlagSet("pprof", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	return &arguments{set, args}
}

// StringList defines a flag that may occur several times.
func (a *arguments) StringList(name, value, usage string) *[]*string {
	first := a.String(name, value, usage)
	return &[]*string{first}
}

func (a *arguments) ExtraUsage() string { return "" }

func (a *arguments) AddExtraUsage(string) {}

func (a *arguments) Parse(usage func()) []string {
	if err := a.FlagSet.Parse(a.args); err != nil {
		return nil
	}
	return a.Args()
}
