package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

// fleetConfig is a fleet whose captures are pushed into one or several servers.
type fleetConfig struct {
	snapshots, hosts, servers int
	database, blobs           string
}

// A fleet has a case for each host. Filling pushes fillRounds captures at once; what one more
// costs is the mean of measuredPushes pushes of one capture each, by senders at once.
const (
	fleetFamilies  = 20
	fillRounds     = 50
	measuredPushes = 200
	senders        = 4
	pageRequests   = 20
)

type fleet struct {
	fleetConfig
	servers []*serving
	dirs    []string
	hosts   []*fleetHost
	pushed  int
	// sent are the bytes of all uploads.
	sent atomic.Int64
}

type fleetHost struct {
	process *process
	caseID  string
}

// measureFleet prints what a push and a page cost at a tenth of the snapshots and at all.
func measureFleet(cfg fleetConfig, out io.Writer) error {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := program(dir)
	if err != nil {
		return err
	}
	f := &fleet{fleetConfig: cfg}
	var args []string
	for flag, value := range map[string]string{"--database": cfg.database, "--blobs": cfg.blobs} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	for i := range cfg.servers {
		data := filepath.Join(dir, fmt.Sprint("data", i))
		s, err := serve(binary, data, args...)
		if err != nil {
			return err
		}
		defer s.stop()
		f.servers, f.dirs = append(f.servers, s), append(f.dirs, data)
	}
	for i := range cfg.hosts {
		captures := max(cfg.snapshots/cfg.hosts, 1) + 3*fillRounds
		p := newProcess(fmt.Sprintf("node-%04d/agent", i), fleetFamilies, captures, 5*time.Minute, uint64(i+1))
		f.hosts = append(f.hosts, &fleetHost{process: p})
	}
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "snapshots\tserver ms\tdatabase ms\tpushes/s\tpush p50\tp95\tdatabase B\tupload B\tpage\tp50\tp95\t")
	for _, n := range []int{cfg.snapshots / 10, cfg.snapshots} {
		if err := f.fill(n); err != nil {
			return err
		}
		if err := f.measure(table); err != nil {
			return err
		}
		table.Flush()
	}
	return nil
}

// push sends captures of a host as one upload and waits until they are read.
func (f *fleet) push(h *fleetHost, s *serving, captures int) error {
	packed := newArchive()
	for range captures {
		packed.add(h.process)
	}
	body, err := packed.bytes()
	if err != nil {
		return err
	}
	f.sent.Add(int64(len(body)))
	up, err := s.put("captures.tar.gz", h.caseID, bytes.NewReader(body), int64(len(body)))
	h.caseID = up.Case
	return err
}

// each pushes so many captures of the next hosts, by several senders at once; a host is pushed
// by one sender alone. It returns how long each push took.
func (f *fleet) each(pushes, captures int) (times []time.Duration, err error) {
	times = make([]time.Duration, pushes)
	errs := make([]error, senders)
	var wait sync.WaitGroup
	for sender := range senders {
		wait.Go(func() {
			for i := sender; i < pushes && errs[sender] == nil; i += senders {
				h := f.hosts[(f.pushed+i)%len(f.hosts)]
				began := time.Now()
				errs[sender] = f.push(h, f.servers[i%len(f.servers)], captures)
				times[i] = time.Since(began)
			}
		})
	}
	wait.Wait()
	f.pushed += pushes
	return times, errors.Join(errs...)
}

// fill pushes until there are n snapshots.
func (f *fleet) fill(n int) error {
	have := 0
	for _, h := range f.hosts {
		have += h.process.taken
	}
	_, err := f.each((n-have)/fillRounds, fillRounds)
	return err
}

func (f *fleet) measure(out io.Writer) error {
	if err := f.rest(); err != nil {
		return err
	}
	servers, database, err := f.busy()
	if err != nil {
		return err
	}
	began := time.Now()
	times, err := f.each(measuredPushes, 1)
	if err != nil {
		return err
	}
	wall := time.Since(began)
	if err := f.rest(); err != nil {
		return err
	}
	serversAfter, databaseAfter, err := f.busy()
	if err != nil {
		return err
	}
	size, err := f.size()
	if err != nil {
		return err
	}
	n := 0
	for _, h := range f.hosts {
		n += h.process.taken
	}
	figures := fmt.Sprintf("%d\t%.1f\t%.1f\t%.1f\t%s\t%s\t%d\t%d", n, perPush(serversAfter-servers), perPush(databaseAfter-database),
		measuredPushes/wall.Seconds(), rounded(part50(times)), rounded(part95(times)), size/int64(n), f.sent.Load()/int64(n))
	for _, path := range []string{"/", "/fleet", "/cases/" + f.hosts[0].caseID, "/cases/" + f.hosts[0].caseID + ".json", "/search?q=kubelet"} {
		var asked []time.Duration
		for i := range pageRequests {
			began := time.Now()
			if _, _, err := f.servers[i%len(f.servers)].get(path); err != nil {
				return err
			}
			asked = append(asked, time.Since(began))
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t\n", figures, strings.ReplaceAll(path, f.hosts[0].caseID, "CASE"), rounded(part50(asked)), rounded(part95(asked)))
		figures = strings.Repeat("\t", 7)
	}
	return nil
}

// perPush is in milliseconds.
func perPush(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) / measuredPushes }

func part50(d []time.Duration) time.Duration { return quantile(d, 0.50) }
func part95(d []time.Duration) time.Duration { return quantile(d, 0.95) }

func quantile(d []time.Duration, q float64) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[min(int(q*float64(len(d))), len(d)-1)]
}

// rest waits until no server has anything to do.
func (f *fleet) rest() error {
	for _, s := range f.servers {
		if _, err := s.rest(); err != nil {
			return err
		}
	}
	return nil
}

// busy is the processor time of the servers, and of every PostgreSQL on the machine.
func (f *fleet) busy() (servers, database time.Duration, err error) {
	for _, s := range f.servers {
		one, err := s.busy()
		if err != nil {
			return 0, 0, err
		}
		servers += one
	}
	if f.database == "" {
		return servers, 0, nil
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, 0, err
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(stat, []byte(" (postgres) ")) {
			continue // it ended
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		// utime and stime, and those of the children that were waited for.
		for _, field := range fields[11:15] {
			ticks, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, 0, err
			}
			database += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return servers, database, nil
}

// size is that of the database in bytes, with its indexes.
func (f *fleet) size() (n int64, err error) {
	if f.database != "" {
		out, err := exec.Command("psql", f.database, "-Atc", "SELECT pg_database_size(current_database())").Output()
		if err != nil {
			return 0, fmt.Errorf("psql: %w", err)
		}
		return strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	}
	err = filepath.WalkDir(f.dirs[0], func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(entry.Name(), "leakdiff.db") {
			info, err := entry.Info()
			if err == nil {
				n += info.Size()
			}
			return err
		}
		return err
	})
	return n, err
}
