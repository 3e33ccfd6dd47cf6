package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
)

// Pairing is whether the descriptors are looked up that goroutines wait for.
type Pairing int

// PairLocal looks them up as root, of programs whose endpoint is on this host. PairAlways
// does so as any user and for any endpoint.
const (
	PairLocal Pairing = iota
	PairAlways
	PairNever
)

// pairs reports whether the pairs of a dump are wanted.
func (v *visit) pairs(base *url.URL) bool {
	switch v.c.cfg.Pair {
	case PairAlways:
		return v.p.identity.PID != 0
	case PairNever:
		return false
	}
	return v.p.identity.PID != 0 && os.Geteuid() == 0 && len(loopback(base.Hostname())) > 0
}

// pairedDump takes debug=2, and the descriptors that its goroutines wait for. Whatever
// those cost, the dump is not lost.
func (v *visit) pairedDump(ctx context.Context, dump taker) {
	p, refused := v.openPairing(ctx)
	if refused != nil {
		v.stackDump(ctx, dump)
		v.skip("pairs", Skipped, refused)
		return
	}
	defer p.close()
	s := v.stackDump(ctx, func(ctx context.Context, w io.Writer) error {
		err := dump(ctx, io.MultiWriter(w, &p.frames))
		if err == nil {
			p.begin()
		}
		return err
	})
	if s.Status != Done {
		v.skip("pairs", Skipped, noPairs("there is no whole dump"))
		return
	}
	v.take(ctx, "pairs", "goroutine-fds.txt", func(ctx context.Context, w io.Writer) error {
		select {
		case <-p.done:
			return errors.Join(writePairs(w, v.listed(p)), p.err)
		case <-ctx.Done():
			return fmt.Errorf("memory was not read within %s", v.c.cfg.Budget)
		}
	})
}

// openPairing opens the memory of the process, within the budget of a step.
func (v *visit) openPairing(ctx context.Context) (*pairing, error) {
	opened := make(chan *pairing, 1)
	_, err := v.within(ctx, nil, func(context.Context, io.Writer) error {
		p, err := openPairing(v.c.proc(v.p.identity.PID, ""), v.p.identity.Go, v.c.cfg.PairTime)
		if err == nil {
			opened <- p
		}
		return err
	})
	switch {
	case isNoPairs(err):
		return nil, err
	case err != nil:
		return nil, noPairs(err.Error())
	}
	p := <-opened
	if err := v.c.same(v.p); err != nil {
		p.close()
		return nil, noPairs(err.Error())
	}
	return p, nil
}

// listed returns the pairs whose descriptor is the one in the archive. The listing is older
// than the dump: the connection that asked for the dump is not in it.
func (v *visit) listed(p *pairing) []pair {
	var out []pair
	for _, x := range p.pairs {
		if link, ok := v.targets[x.fd]; ok && link == p.before[x.fd] {
			out = append(out, x)
		}
	}
	return out
}
