package store

import (
	"fmt"
	"testing"
)

func TestAChosenKindOutlivesACrashAndGoesWithItsBundle(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	b, other := f.filled(c.ID, "a", kubeletResult("1")), f.filled(c.ID, "b", kubeletResult("2"))
	f.ok(f.SetKind(f.ctx, b.ID, "t0/x.txt", "thread-dump"))
	f.ok(f.SetKind(f.ctx, b.ID, "t0/x.txt", "lsof"))
	f.ok(f.SetKind(f.ctx, b.ID, "t1/y.txt", "ignore"))
	f.ok(f.SetKind(f.ctx, b.ID, "t1/y.txt", ""))
	f.crash()
	got, err := f.Kinds(f.ctx, b.ID)
	f.ok(err)
	wantEqual(t, map[string]string{"t0/x.txt": "lsof"}, got)
	got, err = f.Kinds(f.ctx, other.ID)
	f.ok(err)
	wantEqual(t, map[string]string{}, got)
	f.ok(f.RemoveBundle(f.ctx, b.ID))
	f.wantEmpty("bundle_kind")
	wantCode(t, f.SetKind(f.ctx, b.ID, "x", "lsof"), "not_found")
}

func TestTheChosenKindsOfABundleAreBounded(t *testing.T) {
	f := open(t)
	b, _ := f.upload(f.newCase("a").ID, "a")
	for i := range maxKinds {
		f.ok(f.SetKind(f.ctx, b.ID, fmt.Sprint(i), "lsof"))
	}
	wantCode(t, f.SetKind(f.ctx, b.ID, "one more", "lsof"), "too_many")
	f.ok(f.SetKind(f.ctx, b.ID, "0", "metrics"))
	f.ok(f.SetKind(f.ctx, b.ID, "0", ""))
	f.ok(f.SetKind(f.ctx, b.ID, "one more", "lsof"))
}

func TestEveryReadingOfABundleIsAnotherGeneration(t *testing.T) {
	f := open(t)
	b := f.filled(f.newCase("a").ID, "a", kubeletResult("1"))
	before := must[Bundle](t)(f.Bundle(f.ctx, b.ID)).Generation
	_, err := f.Requeue(f.ctx, b.ID)
	f.ok(err)
	f.ingest(kubeletResult("1"))
	if after := must[Bundle](t)(f.Bundle(f.ctx, b.ID)).Generation; after <= before {
		t.Errorf("generation %d after %d", after, before)
	}
}
