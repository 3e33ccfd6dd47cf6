// Package outage is for tests alone: a volume that loses what was not synced when its power
// is cut, and that fails, writes short or hangs at one operation.
package outage

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"leakdiff/store/blob"
)

// Disk is blob.Files over a directory of the real volume. It keeps beside it what would
// survive a power cut.
type Disk struct {
	dir   string
	files blob.Files

	mu sync.Mutex
	// off is true after a cut: every operation fails.
	off bool
	// ops counts the operations that write. The one numbered fault fails with err.
	ops, fault int
	err        error
	// reached is closed at operation awaited.
	awaited int
	reached chan struct{}
	// hang, when set, holds every sync until it is closed; hanging receives each.
	hang    chan struct{}
	hanging chan struct{}
	// names are the entries of each directory, now and as last synced. A directory is an
	// entry without a node.
	now, synced map[string]map[string]*node
}

// node is the content of a file, whatever its name.
type node struct {
	dir bool
	// synced is nil for a file that was never synced.
	synced []byte
}

// New is a disk over an existing directory, whose content counts as synced.
func New(dir string) (*Disk, error) {
	d := &Disk{dir: dir, files: blob.OnVolume(), now: map[string]map[string]*node{}, synced: map[string]map[string]*node{}}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		n := &node{dir: e.IsDir()}
		if !n.dir {
			if n.synced, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		if path != dir {
			d.enter(d.now, path, n)
			d.enter(d.synced, path, n)
		}
		return nil
	})
	return d, err
}

func (d *Disk) enter(names map[string]map[string]*node, path string, n *node) {
	dir := filepath.Dir(path)
	if names[dir] == nil {
		names[dir] = map[string]*node{}
	}
	names[dir][filepath.Base(path)] = n
}

// FailAt makes the n-th operation that writes from now on fail, counted from 1. A write that
// fails writes half of its bytes before.
func (d *Disk) FailAt(n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ops, d.fault, d.err = 0, n, err
}

// Ops is the number of operations that wrote since FailAt.
func (d *Disk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops
}

// Reached returns a channel that is closed at the n-th operation that writes from now on.
func (d *Disk) Reached(n int) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.awaited, d.reached = d.ops+n, make(chan struct{})
	return d.reached
}

// HangSyncs holds every sync of a file until release is called. Each is announced.
func (d *Disk) HangSyncs() (announced <-chan struct{}, release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hang := make(chan struct{})
	d.hang, d.hanging = hang, make(chan struct{}, 100)
	return d.hanging, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.hang = nil
		close(hang)
	}
}

// begin counts an operation that writes, and returns its fault. The caller holds d.mu.
func (d *Disk) begin(op, path string) error {
	d.ops++
	if d.reached != nil && d.ops >= d.awaited {
		close(d.reached)
		d.reached = nil
	}
	switch {
	case d.off:
		return &fs.PathError{Op: op, Path: path, Err: syscall.EIO}
	case d.fault > 0 && d.ops == d.fault:
		return &fs.PathError{Op: op, Path: path, Err: d.err}
	}
	return nil
}

// Create implements blob.Files.
func (d *Disk) Create(dir string) (blob.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("create", dir); err != nil {
		return nil, err
	}
	f, err := d.files.Create(dir)
	if err != nil {
		return nil, err
	}
	n := &node{}
	d.enter(d.now, f.Name(), n)
	return &file{File: f, disk: d, node: n}, nil
}

// Open implements blob.Files.
func (d *Disk) Open(path string) (blob.File, error) { return d.files.Open(path) }

// Mkdir implements blob.Files.
func (d *Disk) Mkdir(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("mkdir", path); err != nil {
		return err
	}
	err := d.files.Mkdir(path)
	if err == nil {
		d.enter(d.now, path, &node{dir: true})
	}
	return err
}

// Rename implements blob.Files.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("rename", from); err != nil {
		return err
	}
	if err := d.files.Rename(from, to); err != nil {
		return err
	}
	d.enter(d.now, to, d.now[filepath.Dir(from)][filepath.Base(from)])
	delete(d.now[filepath.Dir(from)], filepath.Base(from))
	return nil
}

// Remove implements blob.Files.
func (d *Disk) Remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("remove", path); err != nil {
		return err
	}
	if err := d.files.Remove(path); err != nil {
		return err
	}
	delete(d.now[filepath.Dir(path)], filepath.Base(path))
	return nil
}

// SyncDir implements blob.Files.
func (d *Disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("sync", dir); err != nil {
		return err
	}
	kept := map[string]*node{}
	for name, n := range d.now[dir] {
		kept[name] = n
	}
	d.synced[dir] = kept
	return nil
}

type file struct {
	blob.File
	disk *Disk
	node *node
}

func (f *file) Write(p []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.begin("write", f.Name()); err != nil {
		n, other := f.File.Write(p[:len(p)/2])
		if errors.Is(err, io.ErrShortWrite) {
			return n, errors.Join(io.ErrShortWrite, other)
		}
		return n, err
	}
	return f.File.Write(p)
}

func (f *file) Sync() error {
	f.disk.mu.Lock()
	hang := f.disk.hang
	if hang != nil {
		f.disk.hanging <- struct{}{}
		f.disk.mu.Unlock()
		<-hang
		f.disk.mu.Lock()
	}
	defer f.disk.mu.Unlock()
	if err := f.disk.begin("sync", f.Name()); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	content := make([]byte, info.Size())
	if _, err := f.ReadAt(content, 0); err != nil && err != io.EOF {
		return err
	}
	f.node.synced = content
	return nil
}

// Cut cuts the power: every operation fails from now on, and what survives is written into
// a new directory. What was not synced survives or not, or in part, as random says.
func (d *Disk) Cut(to string, random *rand.Rand) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
	return d.survive(d.dir, to, random)
}

func (d *Disk) survive(dir, to string, random *rand.Rand) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	names := map[string]*node{}
	for name, n := range d.synced[dir] {
		if _, still := d.now[dir][name]; still || random.IntN(2) == 0 { // a removal that was not synced
			names[name] = n
		}
	}
	for name, n := range d.now[dir] {
		if names[name] != n && random.IntN(2) == 0 { // a new name that was not synced
			names[name] = n
		}
	}
	for name, n := range names {
		path := filepath.Join(to, name)
		if n.dir {
			if err := d.survive(filepath.Join(dir, name), path, random); err != nil {
				return err
			}
			continue
		}
		content := n.synced
		if content == nil { // any part of what was written may have reached the volume
			content = make([]byte, random.IntN(4096))
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
