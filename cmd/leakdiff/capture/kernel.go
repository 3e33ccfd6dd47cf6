package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// kernel captures procfs. Descriptors come first: the mounts, cgroups and handles that
// explain them must not be older.
func (v *visit) kernel(ctx context.Context) {
	pid := v.p.identity.PID
	file := func(name string) string { return v.c.proc(pid, name) }
	targets := make(chan listing, 1)
	infos := v.takeDirectory(ctx, "fdinfo", "fdinfo", v.putFile, hashOfFile, func(ctx context.Context) ([]entry, error) {
		infos, links := v.descriptorFiles(ctx, file("fdinfo"), file("fd"))
		targets <- links
		return infos.entries, infos.err
	})
	links := v.takeDirectory(ctx, "fd", "fd", v.putLink, targetOfLink, func(ctx context.Context) ([]entry, error) {
		select {
		case links := <-targets:
			return links.entries, links.err
		case <-ctx.Done(): // reading fdinfo hangs
			return nil, ctx.Err()
		}
	})
	// This is the number that a reader counts.
	switch {
	case len(infos) > 0:
		v.descriptors = len(infos)
	case len(links) > 0:
		v.descriptors = len(links)
	}
	v.targets = make(map[int]string, len(links))
	for _, e := range links {
		if fd, err := strconv.Atoi(e.name); err == nil {
			v.targets[fd] = string(e.text)
		}
	}
	watches := watchesOf(infos)
	if len(infos) > 0 {
		v.watches = len(watches)
	}
	for _, name := range []string{"mountinfo", "stat", "status", "limits", "cgroup"} {
		v.take(ctx, name, name, copyOf(file(name)))
	}
	v.take(ctx, "cmdline", "cmdline", func(_ context.Context, w io.Writer) error {
		text, err := os.ReadFile(file("cmdline"))
		if err == nil {
			_, err = w.Write(masked(text))
		}
		return withoutPath(err)
	})
	for _, name := range []string{"tcp", "tcp6", "udp", "udp6", "unix", "netlink", "packet"} {
		if _, err := os.Stat(file("net/" + name)); err == nil {
			v.take(ctx, "net/"+name, "proc_net_"+name, copyOf(file("net/"+name)))
		}
	}
	v.take(ctx, "sysctls", "inotify-sysctls.txt", v.sysctls)
	if len(watches) == 0 {
		return
	}
	mounts, err := readMounts(file("mountinfo"))
	if err != nil {
		return
	}
	v.take(ctx, "cgroup inodes", "cgroup-inodes.txt", func(ctx context.Context, w io.Writer) error {
		return listCgroups(ctx, file("root"), mounts, watches, w)
	})
	denied := make(chan error, 1)
	v.take(ctx, "watch targets", "watches.jsonl", func(ctx context.Context, w io.Writer) error {
		err := v.c.resolve(ctx, pid, mounts, watches, w)
		if errors.Is(err, errDenied) {
			denied <- err
			return nil
		}
		return err
	})
	select {
	case err := <-denied:
		v.skip("watch handles", Skipped, err)
	default:
	}
}

// sysctls writes the limits of descriptors and watches.
func (v *visit) sysctls(_ context.Context, w io.Writer) error {
	var errs []error
	for _, name := range []string{"inotify/max_user_instances", "inotify/max_user_watches", "inotify/max_queued_events", "file-nr"} {
		value, err := os.ReadFile(filepath.Join(v.c.cfg.Proc, "sys/fs", name))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(w, "/proc/sys/fs/%s:%s\n", name, strings.TrimSpace(string(value)))
	}
	return errors.Join(errs...)
}

// endpoints captures profiles and metrics. debug=1 comes first: it is small and shows
// whether debug=2 would be too large. After an endpoint did not answer it is not asked
// again in this round: every hanging request is one goroutine more.
func (v *visit) endpoints(ctx context.Context) {
	if v.pprof.text != "" {
		e, err := v.endpoint(v.pprof, "/debug/pprof")
		if err != nil {
			v.skip("goroutines debug=1", Failed, err)
		} else {
			v.goroutineProfiles(ctx, e)
			e.close()
		}
	}
	if v.pprof.text == "" && v.c.cfg.Pair == PairAlways && v.p.identity.PID != 0 {
		v.skip("pairs", Skipped, noPairs("no goroutine dump is taken without --pprof"))
	}
	if v.metrics.text == "" {
		return
	}
	e, err := v.endpoint(v.metrics, "/metrics")
	if err != nil {
		v.skip("metrics", Failed, err)
		return
	}
	defer e.close()
	v.take(ctx, "metrics", "metrics.txt", func(ctx context.Context, w io.Writer) error { return e.get(ctx, "", "", metricsText, w) })
}

func (v *visit) endpoint(a address, home string) (*endpoint, error) {
	if err := a.ambiguous(v.p.identity.Name); err != nil {
		return nil, err
	}
	return v.c.newEndpoint(a.text, home, v.p.identity.PID)
}

func (v *visit) goroutineProfiles(ctx context.Context, e *endpoint) {
	get := func(query string, wanted body) taker {
		return func(ctx context.Context, w io.Writer) error { return e.get(ctx, "goroutine", query, wanted, w) }
	}
	s, head := v.take(ctx, "goroutines debug=1", "goroutine.debug1.txt", get("debug=1", countedText))
	load := &v.manifest.Load
	if n, ok := goroutineTotal(head); ok {
		v.goroutines, load.Goroutines = n, n
		load.StopMS = float64(n) * MicrosecondsPerGoroutine / 1000
	}
	if s.Status != Done {
		why := errors.New("the endpoint did not give debug=1, and is not asked again in this round")
		v.skip("goroutines proto", Skipped, why)
		v.skip("goroutines debug=2", Skipped, why)
		return
	}
	v.take(ctx, "goroutines proto", "goroutine.pb", func(ctx context.Context, w io.Writer) error {
		var packed bytes.Buffer
		err := e.get(ctx, "goroutine", "", packedProfile, &bounded{w: &packed, left: maxFile})
		return errors.Join(err, unpacked(&packed, w))
	})
	if most := v.c.cfg.MaxGoroutines; most > 0 && v.goroutines > most {
		v.skip("goroutines debug=2", Skipped, fmt.Errorf("%d goroutines would stop the world for about %.1f s, at %d us each; the limit is %d (--max-goroutines, --force)",
			v.goroutines, load.StopMS/1000, MicrosecondsPerGoroutine, most))
		return
	}
	if dump := get("debug=2", stackText); v.pairs(e.base) {
		v.pairedDump(ctx, dump)
	} else {
		v.stackDump(ctx, dump)
	}
}

func (v *visit) stackDump(ctx context.Context, dump taker) Step {
	s, _ := v.take(ctx, "goroutines debug=2", "goroutine.debug2.txt", dump)
	return s
}
