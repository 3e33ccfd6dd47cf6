package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"time"

	"go.opentelemetry.io/collector/config/configtls"
)

var authority string
var n int

func setup() {
	k, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	t := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a"}, NotAfter: time.Now().Add(time.Hour), IsCA: true}
	b, _ := x509.CreateCertificate(rand.Reader, t, t, &k.PublicKey, k)
	authority = os.TempDir() + "/ca.pem"
	_ = os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b}), 0o600)
}

// trigger configures a receiver that ends at once, at every fifth call: a user may have 128
// inotify instances.
func trigger() {
	if n++; n%5 != 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := configtls.ServerConfig{ClientCAFile: authority, ReloadClientCAFile: true}
	if _, err := c.LoadTLSConfig(ctx); err != nil {
		panic(err)
	}
}
