package store

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"time"

	"leakdiff/analysis"
)

// The head of a snapshot is everything but its groups, sealed, in the order of
// headWriter.snapshot. Id and label are columns of the row. Mutex and block profiles, connections and monitors come last, each if a flag says so.

// packHead seals the head of a snapshot.
func packHead(p *packer, snap *analysis.Snapshot) ([]byte, error) {
	w := &headWriter{compactWriter{make([]byte, 0, 512)}}
	w.snapshot(snap)
	return p.seal(w.b)
}

// unpackHead undoes packHead.
func unpackHead(p *packer, texts *textTable, id, label string, blob []byte) (*analysis.Snapshot, error) {
	values, err := p.unseal(blob, p.text)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", id, err)
	}
	if blob[0] != sealedPlain {
		p.keepRoom(values)
	}
	r := &headReader{compactReader{b: values, texts: texts}}
	snap := &analysis.Snapshot{}
	r.snapshot(snap)
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", id, err)
	}
	snap.ID, snap.Label = validText(id), validText(label)
	return snap, nil
}

type headWriter struct{ compactWriter }

func (w *headWriter) snapshot(s *analysis.Snapshot) {
	w.flags(s.Zoneless, s.Truncated, s.LowerBound, s.Objects != nil, s.Totals.Sockets != nil, s.Contention != nil, s.Sockets.Len() > 0, s.Monitors != nil, s.Process.Called.Known())
	for _, f := range []*analysis.Fact{&s.Process.Host, &s.Process.Name, &s.Process.PID, &s.Process.Start, &s.Process.Version, &s.TimeFact} {
		w.fact(f)
	}
	if s.Process.Called.Known() {
		w.fact(&s.Process.Called)
	}
	w.time(s.CapturedAt)
	writeMap(&w.compactWriter, s.Times, w.time)
	w.number(s.Order)
	w.number(s.Refused)
	w.varint(s.MaxGoroutineID)
	writeMap(&w.compactWriter, s.Inexact, func(e analysis.Exactness) { w.text(string(e)) })
	writeMap(&w.compactWriter, s.Forms, w.text)
	for _, total := range []*int{s.Totals.Goroutines, s.Totals.Threads, s.Totals.Descriptors, s.Totals.Watches} {
		if total == nil {
			w.uvarint(0)
		} else {
			w.uvarint(1 + zigzag(int64(*total)))
		}
	}
	if s.Totals.Sockets != nil {
		w.number(*s.Totals.Sockets)
	}
	writeList(&w.compactWriter, s.Artifacts, w.artifact)
	writeMap(&w.compactWriter, s.Figures, w.real)
	writeMap(&w.compactWriter, s.Objects, func(list []analysis.Object) { writeList(&w.compactWriter, list, w.object) })
	writeList(&w.compactWriter, s.Users, func(name *string) { w.text(*name) })
	writeMap(&w.compactWriter, s.Watched, func(list []analysis.Target) { writeList(&w.compactWriter, list, w.target) })
	writeList(&w.compactWriter, s.Statements, w.statement)
	writeList(&w.compactWriter, s.Problems, w.problem)
	if s.Contention != nil {
		writeList(&w.compactWriter, s.Contention, w.contention)
	}
	if n := s.Sockets.Len(); n > 0 {
		w.length(n)
		rows := s.Sockets.Data()
		w.length(len(rows))
		w.b = append(w.b, rows...)
	}
	if m := s.Monitors; m != nil {
		w.number(m.More)
		w.number(m.MoreWaiters)
		writeList(&w.compactWriter, m.List, w.monitor)
	}
}

func (w *headWriter) monitor(m *analysis.Monitor) {
	w.flags(m.Holder != nil)
	w.text(m.Class)
	w.number(m.Waiters)
	writeList(&w.compactWriter, m.Waiting, func(name *string) { w.text(*name) })
	writeList(&w.compactWriter, m.At, func(site *analysis.MonitorSite) {
		w.text(site.Func)
		w.number(site.Count)
	})
	if h := m.Holder; h != nil {
		w.text(h.Name)
		w.varint(h.ID)
		w.text(h.State)
		w.text(h.At)
		w.number(h.Waits)
	}
}

func (w *headWriter) contention(c *analysis.Contention) {
	w.flags(c.LowerBound)
	w.text(string(c.Profile))
	w.varint(c.Count)
	w.varint(int64(c.Delay))
	w.number(c.More)
	w.varint(int64(c.Window))
	writeList(&w.compactWriter, c.Stacks, func(s *analysis.Contended) {
		w.varint(s.Count)
		w.varint(int64(s.Delay))
		w.number(s.Elided)
		writeList(&w.compactWriter, s.Frames, func(f *analysis.Frame) {
			w.text(f.Func)
			w.text(f.File)
			w.number(f.Line)
		})
	})
}

func writeList[T any](w *compactWriter, list []T, value func(*T)) {
	w.length(len(list))
	for i := range list {
		value(&list[i])
	}
}

func (w *headWriter) fact(f *analysis.Fact) {
	w.text(f.Value)
	w.text(f.Source)
	w.text(string(f.Confidence))
}

func (w *headWriter) artifact(a *analysis.Artifact) {
	hash, err := hex.DecodeString(a.SHA256)
	hashed := err == nil && len(hash) == 32 && hex.EncodeToString(hash) == a.SHA256
	few := a.Watches == 0 && a.Rows == 0 && a.Problems == 0
	w.flags(a.Truncated, hashed, few)
	w.text(a.Path)
	w.text(a.Kind)
	w.text(a.Reason)
	w.text(string(a.Confidence))
	w.text(string(a.Status))
	w.text(a.Outcome)
	w.varint(a.Size)
	w.number(a.Files)
	w.number(a.Members)
	if !few {
		w.number(a.Watches)
		w.number(a.Rows)
		w.number(a.Problems)
	}
	if hashed {
		w.b = append(w.b, hash...)
	} else {
		w.text(a.SHA256)
	}
	w.time(a.Modified)
}

func (w *headWriter) object(o *analysis.Object) {
	w.flags(o.Lock, o.Members == nil)
	w.uvarint(o.Address)
	w.text(o.Func)
	w.number(o.Count)
	writeList(&w.compactWriter, o.Members, func(id *int64) { w.varint(*id) })
}

func (w *headWriter) target(t *analysis.Target) {
	for _, text := range []string{t.What, t.FSType, string(t.State), t.Why, t.PodUID, t.Pod, t.Container} {
		w.text(text)
	}
	w.number(t.Count)
}

func (w *headWriter) statement(s *analysis.Statement) {
	for _, text := range []string{s.Key, s.Title, s.Text, s.Path} {
		w.text(text)
	}
	writeList(&w.compactWriter, s.Threads, func(x *string) { w.text(*x) })
}

func (w *headWriter) problem(p *analysis.Problem) {
	for _, text := range []string{p.Path, string(p.Severity), string(p.Code), p.What, p.Why, p.Hint} {
		w.text(text)
	}
	w.varint(p.Line)
	w.varint(p.Offset)
}

type headReader struct{ compactReader }

func (r *headReader) snapshot(s *analysis.Snapshot) {
	set := r.flags()
	s.Zoneless, s.Truncated, s.LowerBound = set(0), set(1), set(2)
	for _, f := range []*analysis.Fact{&s.Process.Host, &s.Process.Name, &s.Process.PID, &s.Process.Start, &s.Process.Version, &s.TimeFact} {
		f.Value, f.Source, f.Confidence = r.text(), r.text(), analysis.Confidence(r.text())
	}
	if set(8) {
		f := &s.Process.Called
		f.Value, f.Source, f.Confidence = r.text(), r.text(), analysis.Confidence(r.text())
	}
	s.CapturedAt = r.time()
	s.Times = readMap[analysis.Kind](&r.compactReader, r.time)
	s.Order, s.Refused, s.MaxGoroutineID = r.number(), r.number(), r.varint()
	s.Inexact = readMap[analysis.Kind](&r.compactReader, func() analysis.Exactness { return analysis.Exactness(r.text()) })
	s.Forms = readMap[analysis.Kind](&r.compactReader, r.text)
	for _, total := range []**int{&s.Totals.Goroutines, &s.Totals.Threads, &s.Totals.Descriptors, &s.Totals.Watches} {
		if v := r.uvarint(); v > 0 {
			n := int(unzigzag(v - 1))
			*total = &n
		}
	}
	if set(4) {
		n := r.number()
		s.Totals.Sockets = &n
	}
	s.Artifacts = readList(&r.compactReader, r.artifact)
	s.Figures = readMap[string](&r.compactReader, r.real)
	s.Objects = readMap[string](&r.compactReader, func() []analysis.Object { return readList(&r.compactReader, r.object) })
	if s.Objects == nil && set(3) {
		s.Objects = map[string][]analysis.Object{}
	}
	s.Users = readList(&r.compactReader, func(name *string) { *name = r.text() })
	s.Watched = readMap[string](&r.compactReader, func() []analysis.Target { return readList(&r.compactReader, r.target) })
	s.Statements = readList(&r.compactReader, r.statement)
	s.Problems = readList(&r.compactReader, r.problem)
	if set(5) {
		s.Contention = readList(&r.compactReader, r.contention)
	}
	if set(6) {
		n := r.length(4)
		s.Sockets = &analysis.Sockets{}
		s.Sockets.SetData(n, bytes.Clone(r.bytes(r.length(1))))
	}
	if set(7) {
		s.Monitors = &analysis.Monitors{More: r.number(), MoreWaiters: r.number(), List: readList(&r.compactReader, r.monitor)}
	}
}

func (r *headReader) monitor(m *analysis.Monitor) {
	held := r.flags()(0)
	m.Class, m.Waiters = r.text(), r.number()
	m.Waiting = readList(&r.compactReader, func(name *string) { *name = r.text() })
	m.At = readList(&r.compactReader, func(site *analysis.MonitorSite) { site.Func, site.Count = r.text(), r.number() })
	if held {
		m.Holder = &analysis.MonitorHolder{Name: r.text(), ID: r.varint(), State: r.text(), At: r.text(), Waits: r.number()}
	}
}

func (r *headReader) contention(c *analysis.Contention) {
	c.LowerBound = r.flags()(0)
	c.Profile, c.Count, c.Delay = analysis.ContentionProfile(r.text()), r.varint(), time.Duration(r.varint())
	c.More, c.Window = r.number(), time.Duration(r.varint())
	c.Stacks = readList(&r.compactReader, func(s *analysis.Contended) {
		s.Count, s.Delay = r.varint(), time.Duration(r.varint())
		s.Elided = r.number()
		s.Frames = readList(&r.compactReader, func(f *analysis.Frame) { f.Func, f.File, f.Line = r.text(), r.text(), r.number() })
	})
}

func readList[T any](r *compactReader, value func(*T)) []T {
	n := r.length(1)
	if n == 0 {
		return nil
	}
	// An element may need far more memory than its encoding, so a damaged length must not
	// allocate much.
	list := make([]T, 0, min(n, 1<<10))
	for range n {
		var v T
		if value(&v); r.err != nil {
			return nil
		}
		list = append(list, v)
	}
	return list
}

func (r *headReader) artifact(a *analysis.Artifact) {
	set := r.flags()
	a.Truncated = set(0)
	a.Path, a.Kind, a.Reason = r.text(), r.text(), r.text()
	a.Confidence, a.Status, a.Outcome = analysis.Confidence(r.text()), analysis.Status(r.text()), r.text()
	a.Size, a.Files, a.Members = r.varint(), r.number(), r.number()
	if !set(2) {
		a.Watches, a.Rows, a.Problems = r.number(), r.number(), r.number()
	}
	if set(1) {
		a.SHA256 = hex.EncodeToString(r.bytes(32))
	} else {
		a.SHA256 = r.text()
	}
	a.Modified = r.time()
}

func (r *headReader) object(o *analysis.Object) {
	set := r.flags()
	o.Lock, o.Address, o.Func, o.Count = set(0), r.uvarint(), r.text(), r.number()
	o.Members = readList(&r.compactReader, func(id *int64) { *id = r.varint() })
	if o.Members == nil && !set(1) {
		o.Members = []int64{}
	}
}

func (r *headReader) target(t *analysis.Target) {
	t.What, t.FSType, t.State = r.text(), r.text(), analysis.TargetState(r.text())
	t.Why, t.PodUID, t.Pod, t.Container = r.text(), r.text(), r.text(), r.text()
	t.Count = r.number()
}

func (r *headReader) statement(s *analysis.Statement) {
	s.Key, s.Title, s.Text, s.Path = r.text(), r.text(), r.text(), r.text()
	s.Threads = readList(&r.compactReader, func(x *string) { *x = r.text() })
}

func (r *headReader) problem(p *analysis.Problem) {
	p.Path, p.Severity, p.Code = r.text(), analysis.Severity(r.text()), analysis.ProblemCode(r.text())
	p.What, p.Why, p.Hint = r.text(), r.text(), r.text()
	p.Line, p.Offset = r.varint(), r.varint()
}
