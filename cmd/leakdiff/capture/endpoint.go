package capture

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// endpoint is the address at which a process serves profiles or metrics.
type endpoint struct {
	client *http.Client
	// base is what paths are appended to.
	base   *url.URL
	header http.Header
}

// dialContext makes connections for an http.Transport.
type dialContext = func(ctx context.Context, network, address string) (net.Conn, error)

// parseAddress parses the address of an endpoint: a URL of http or https, host:port, or
// unix:/path of a socket, which it returns as well. An address without a path gets home.
//
//	"127.0.0.1:6060"                 http://127.0.0.1:6060/debug/pprof
//	"unix:/run/containerd/debug.sock"  /debug/pprof over that socket
//	"https://10.0.0.1:10250/debug/pprof/goroutine?debug=2"  the same without the last part
//	"ftp://10.0.0.1"                 an error
func parseAddress(address, home string) (base *url.URL, socket string, err error) {
	of := address
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		socket = "/" + strings.TrimLeft(path, "/")
		of = "http://localhost" + home
	}
	if !strings.Contains(of, "://") {
		of = "http://" + of
	}
	base, err = url.Parse(of)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, "", fmt.Errorf("%q is no address of an endpoint: write http://127.0.0.1:6060, https://127.0.0.1:6060, 127.0.0.1:6060 or unix:/run/x.sock", Shown(address))
	}
	base.RawQuery, base.Fragment = "", ""
	if base.Path = strings.TrimSuffix(base.Path, "/"); base.Path == "" {
		base.Path = home
	}
	if path.Base(base.Path) == "goroutine" {
		base.Path = path.Dir(base.Path)
	}
	return base, socket, nil
}

// CheckAddress returns why no endpoint can be asked at an address. It asks nobody.
func CheckAddress(address string) error {
	_, _, err := parseAddress(address, "/")
	return err
}

// newEndpoint prepares requests to the address of an endpoint, see parseAddress.
func (c *collector) newEndpoint(address, home string, pid int) (*endpoint, error) {
	transport := &http.Transport{
		// One connection for all requests of a round: each connection is a goroutine of
		// the process.
		MaxIdleConns: 1, DisableCompression: true, Proxy: nil,
		TLSClientConfig: c.tls,
		DialContext:     c.dialer(pid),
	}
	base, socket, err := parseAddress(address, home)
	if err != nil {
		return nil, err
	}
	if socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
			if errors.Is(err, os.ErrNotExist) && pid != 0 {
				// The path is as the process sees it, which may have another root.
				return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(c.proc(pid, "root"), socket))
			}
			return conn, err
		}
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &endpoint{&http.Client{Transport: transport, CheckRedirect: refuse}, base, c.header}, nil
}

// Shown is the address of an endpoint or a server for messages and file names: scheme,
// host and path.
//
//	"https://me:secret@10.0.0.1:10250/debug?token=x"   https://10.0.0.1:10250/debug
//	"4711=me:secret@localhost:6060"                    4711=localhost:6060
//	"unix:/run/x.sock"                                 the same
func Shown(text string) string {
	if strings.HasPrefix(text, "unix:") {
		return text
	}
	before, rest, found := strings.Cut(text, "://")
	switch {
	case found:
		before += "://"
	default:
		before, rest, found = strings.Cut(text, "=")
		if before += "="; !found {
			before, rest = "", text
		}
	}
	// A password may hold characters that end an address, so cut at the last @ first.
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	return before + rest
}

func (e *endpoint) close() { e.client.CloseIdleConnections() }

// body describes what the answer to a request must be. A proxy with a login page, for
// example, answers 200 with something else.
type body struct {
	// is checks the first head bytes. name is for people.
	name string
	head int
	is   func(head []byte) bool
}

var (
	countedText = body{"goroutine profile", len("goroutine profile:"), func(head []byte) bool {
		return string(head) == "goroutine profile:"
	}}
	stackText = body{"goroutine dump", len("goroutine 1"), func(head []byte) bool {
		return bytes.HasPrefix(head, []byte("goroutine ")) && head[len(head)-1] >= '0' && head[len(head)-1] <= '9'
	}}
	// Some servers send the profile uncompressed.
	packedProfile = body{"goroutine profile", 2, func(head []byte) bool {
		return string(head) == gzipMagic || isProfile(head)
	}}
	metricsText = body{"metrics", 64, func(head []byte) bool {
		return !bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n\xef\xbb\xbf"), []byte("<"))
	}}
)

const gzipMagic = "\x1f\x8b"

// isProfile reports whether bytes begin a profile.proto. Its first field is a sample type
// (1) or a period type (11) of two small numbers.
//
//	"\x0a\x04\x08\x01\x10\x02", "\x5a\x04…"   true
func isProfile(head []byte) bool {
	return len(head) >= 2 && (head[0] == 1<<3|2 || head[0] == 11<<3|2) && head[1] >= 2 && head[1] <= 8
}

// mismatch describes what came instead of a body.
//
//	`the endpoint answered 200 without a goroutine profile: text/html, "<html>login please</html>"`
func (b body) mismatch(contentType string, came []byte) error {
	const most = 80
	words := bytes.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, came[:min(len(came), most)])
	text := strings.TrimSpace(string(words))
	if text == "" {
		return fmt.Errorf("the endpoint answered 200 without %s: nothing that can be read", b.article())
	}
	if contentType != "" {
		contentType += ", "
	}
	return fmt.Errorf("the endpoint answered 200 without %s: %s\"%s\"", b.article(), contentType, text)
}

func (b body) article() string {
	if b.name == "metrics" {
		return b.name
	}
	return "a " + b.name
}

// get writes the body of an answer. An answer with another status than 200 is an error
// with the first line of its body, and so is an answer with a wrong beginning. The header
// of an answer is not stored.
func (e *endpoint) get(ctx context.Context, below, query string, wanted body, w io.Writer) error {
	u := *e.base
	if below != "" {
		u.Path += "/" + below
	}
	u.RawQuery = query
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	for name, values := range e.header {
		req.Header[name] = values
	}
	answer, err := e.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		answered, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
		line, _, _ := strings.Cut(strings.TrimSpace(string(answered)), "\n")
		return fmt.Errorf("the endpoint answered %s: %s", answer.Status, strconv.Quote(line))
	}
	in := bufio.NewReader(answer.Body)
	head, err := in.Peek(wanted.head)
	if len(head) < wanted.head && err != io.EOF {
		return withoutURL(err)
	}
	if !wanted.is(head) {
		came, _ := in.Peek(in.Buffered())
		return wanted.mismatch(answer.Header.Get("Content-Type"), came)
	}
	_, err = io.Copy(w, in)
	return withoutURL(err)
}

// withoutURL removes the address from an error of net/http. The manifest names it elsewhere,
// and it may hold secrets.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// unpacked writes gzip data unpacked: the archive compresses it again, and hashes are of
// unpacked data.
func unpacked(r io.Reader, w io.Writer) error {
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); string(magic) != gzipMagic {
		_, err := io.Copy(w, in)
		return err
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	in = bufio.NewReader(z)
	if head, err := in.Peek(2); err == nil && !isProfile(head) {
		came, _ := in.Peek(in.Buffered())
		return packedProfile.mismatch("packed", came)
	}
	_, err = io.Copy(w, in)
	return err
}

// goroutineTotal reads the first line of debug=1.
//
//	"goroutine profile: total 87\n1 @ 0x…"   87
func goroutineTotal(text []byte) (int, bool) {
	rest, ok := strings.CutPrefix(string(text), "goroutine profile: total ")
	digits, _, ended := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	return n, ok && ended && err == nil
}

// headers reads a file of header lines. A file without a colon is a bare token, as
// Kubernetes mounts it.
//
//	"Authorization: Bearer x\n"   Authorization = "Bearer x"
//	"eyJhbGciOi…"                 Authorization = "Bearer eyJhbGciOi…"
func headers(file string) (http.Header, error) {
	out := http.Header{}
	if file == "" {
		return out, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, ":")
		switch {
		case line == "":
		case ok && !strings.ContainsAny(name, " \t"):
			out.Add(name, strings.TrimSpace(value))
		case !ok && !strings.ContainsAny(line, " \t"):
			out.Set("Authorization", "Bearer "+line)
		default:
			return nil, fmt.Errorf("%s: a line is neither \"Name: value\" nor a token", file)
		}
	}
	return out, nil
}

// trust is the TLS configuration for endpoints.
func trust(cfg Config) (*tls.Config, error) {
	out := &tls.Config{InsecureSkipVerify: cfg.Insecure, MinVersion: tls.VersionTLS12}
	if cfg.CAFile == "" {
		return out, nil
	}
	text, err := os.ReadFile(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	out.RootCAs = x509.NewCertPool()
	if !out.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", cfg.CAFile)
	}
	return out, nil
}

// dialer connects from the network namespace of the process if it has its own: a loopback
// address is that of the process.
func (c *collector) dialer(pid int) dialContext {
	dial := (&net.Dialer{Timeout: c.cfg.Budget, FallbackDelay: -1 * time.Nanosecond}).DialContext
	ours, _ := os.Readlink("/proc/self/ns/net")
	theirs, _ := os.Readlink(c.proc(pid, "ns/net"))
	if pid == 0 || theirs == "" || ours == theirs {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, _ := net.SplitHostPort(address)
		own := loopback(host)
		if len(own) == 0 {
			return dial(ctx, network, address)
		}
		return inside(c.proc(pid, "ns/net"), func() (net.Conn, error) {
			var errs []error
			for _, host := range own {
				conn, err := dial(ctx, network, net.JoinHostPort(host, port))
				if err == nil {
					return conn, nil
				}
				errs = append(errs, err)
			}
			return nil, errors.Join(errs...)
		})
	}
}

// loopback returns the loopback addresses of a host, none for any other host. It does not
// resolve names: the resolver may be in our own namespace.
func loopback(host string) []string {
	if strings.EqualFold(host, "localhost") {
		return []string{"127.0.0.1", "::1"}
	}
	if ip := net.ParseIP(host); ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return []string{host}
	}
	return nil
}
