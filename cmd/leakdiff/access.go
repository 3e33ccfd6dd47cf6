package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"leakdiff/analysis"
	"leakdiff/server/access"
)

// accessFlags decide who may use the server.
type accessFlags struct {
	Access       string   `help:"Who may use the server: loopback, the users of this machine; password, the accounts of --password-file; proxy, whom a proxy names in a header; open, everybody who reaches it, without a password: changing a case then needs its owner key. API tokens work in each." enum:"loopback,password,proxy,open" default:"loopback"`
	PasswordFile string   `help:"Accounts for --access password, a line user:role:hash for each; leakdiff password makes one. A change counts at once." type:"path" placeholder:"FILE"`
	InsecureHTTP bool     `help:"Let passwords cross the network unencrypted: --access password on an address that others reach, without TLS." name:"insecure-http"`
	ProxyHeader  string   `help:"Header in which the proxy of --access proxy names the user." default:"X-Forwarded-User" placeholder:"NAME"`
	GroupsHeader string   `help:"Header in which it names the user's groups, separated by commas." placeholder:"NAME"`
	TrustedProxy []string `help:"Address or network of a proxy that may say who a user is and where a request comes from (X-Forwarded-For). Repeatable." placeholder:"CIDR"`
	Role         []string `help:"Role of a user or a group of --access proxy: alice=admin, group:sre=upload. The roles are read, upload and admin. Repeatable." placeholder:"NAME=ROLE"`
	DefaultRole  string   `help:"Role of everybody else whom the proxy names: none, read, upload or admin." enum:"none,read,upload,admin" default:"read"`
	TLSCert      string   `help:"Certificate with its chain in PEM, for https. A changed file counts at once." name:"tls-cert" type:"path" placeholder:"FILE"`
	TLSKey       string   `help:"Its key in PEM." name:"tls-key" type:"path" placeholder:"FILE"`
}

// policy refuses an address that others can reach until somebody has decided who may use
// it. A proxy in front of a loopback address may admit everybody as well.
func (c *accessFlags) policy(m *Main, listen, baseURL string, log *slog.Logger) (p access.Policy, err error) {
	p.Mode = access.Mode(c.Access)
	p.Secure = c.TLSCert != "" || strings.HasPrefix(strings.ToLower(baseURL), "https://")
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return p, &analysis.Fault{Code: "invalid", What: "TLS needs a certificate and its key", Why: "one of both is missing", Hint: "give --tls-cert and --tls-key"}
	}
	if p.Trusted, err = proxyNetworks(c.TrustedProxy); err != nil {
		return p, err
	}
	local := access.Loopback(listen)
	switch p.Mode {
	case access.OnLoopback:
		if !local {
			return p, refuseAddress(listen)
		}
	case access.ByPassword:
		return p, c.byPassword(m, &p, local, listen, log)
	case access.ByProxy:
		return p, c.byProxy(&p)
	case access.Open:
		fmt.Fprintf(m.Stderr, "leakdiff: --access open: everybody who reaches %s can read every case and add new ones; changing one needs its owner key\n", listen)
	}
	return p, nil
}

func refuseAddress(listen string) error {
	return &analysis.Fault{Code: "refused", What: "this address can be reached from other machines", Where: listen,
		Why:  "nobody has decided who may use the server: everybody who reaches it could read and delete every case",
		Hint: "use --access password or --access proxy, listen on 127.0.0.1, or let everybody in with --access open"}
}

func (c *accessFlags) byPassword(m *Main, p *access.Policy, local bool, listen string, log *slog.Logger) (err error) {
	if c.PasswordFile == "" {
		return &analysis.Fault{Code: "invalid", What: "--access password needs accounts", Why: "no --password-file is given", Hint: "make one: leakdiff password alice --role admin >> passwords"}
	}
	if !local && !p.Secure {
		if !c.InsecureHTTP {
			return &analysis.Fault{Code: "refused", What: "passwords would cross the network unencrypted", Where: listen, Why: "others reach this address, and it speaks plain HTTP",
				Hint: "give --tls-cert and --tls-key, or --base-url https://… behind a proxy that speaks TLS, or accept it with --insecure-http"}
		}
		fmt.Fprintf(m.Stderr, "leakdiff: --insecure-http: passwords and sessions cross the network to %s unencrypted; whoever listens can use them\n", listen)
	}
	p.Passwords, err = access.ReadPasswords(c.PasswordFile, log)
	return err
}

func (c *accessFlags) byProxy(p *access.Policy) error {
	if len(p.Trusted) == 0 {
		return &analysis.Fault{Code: "invalid", What: "--access proxy needs the address of the proxy", Why: "no --trusted-proxy is given, so that the header of anybody would count", Hint: "give for example --trusted-proxy 127.0.0.1"}
	}
	p.Proxy = access.Proxy{Header: c.ProxyHeader, Groups: c.GroupsHeader, Roles: map[string]access.Role{}}
	p.Proxy.Default, _ = access.RoleNamed(c.DefaultRole)
	for _, text := range c.Role {
		i := strings.LastIndexByte(text, '=')
		if i < 1 {
			return &analysis.Fault{Code: "invalid", What: "the role was not understood", Where: text, Why: "it is no name and role with = between", Hint: "write --role alice=admin"}
		}
		role, known := access.RoleNamed(text[i+1:])
		if !known {
			return &analysis.Fault{Code: "invalid", What: "there is no such role", Where: text, Why: "the roles are read, upload and admin", Hint: "write --role alice=admin"}
		}
		if strings.HasPrefix(text, access.GroupPrefix) && c.GroupsHeader == "" {
			return &analysis.Fault{Code: "invalid", What: "the role of a group needs the header of groups", Where: text, Why: "no --groups-header is given", Hint: "give for example --groups-header X-Forwarded-Groups, if the proxy sets it and removes that of its clients"}
		}
		p.Proxy.Roles[text[:i]] = role
	}
	return nil
}

// proxyNetworks reads addresses and networks.
func proxyNetworks(texts []string) (out []netip.Prefix, err error) {
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			var a netip.Addr
			if a, err = netip.ParseAddr(text); err == nil {
				p = netip.PrefixFrom(a, a.BitLen())
			}
		}
		if err != nil {
			return nil, &analysis.Fault{Code: "invalid", What: "this is no address of a proxy", Where: text, Why: "it is neither an IP address nor a network", Hint: "write --trusted-proxy 10.0.0.0/8", Err: err}
		}
		out = append(out, p)
	}
	return out, nil
}

// https speaks TLS where a certificate is given.
func (c *accessFlags) https(listener net.Listener, log *slog.Logger) (net.Listener, error) {
	if c.TLSCert == "" {
		return listener, nil
	}
	files := &certificate{cert: c.TLSCert, key: c.TLSKey, log: log}
	if _, err := files.read(); err != nil {
		return nil, err
	}
	return tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: files.current}), nil
}

// certificate is read again when its files change.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	made    *tls.Certificate
	changed [2]time.Time
}

// read reads the files if they changed.
func (c *certificate) read() (*tls.Certificate, error) {
	var changed [2]time.Time
	var errs []error
	for i, path := range []string{c.cert, c.key} {
		state, err := os.Stat(path)
		if err == nil {
			changed[i] = state.ModTime()
		}
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	if err == nil && c.made != nil && changed == c.changed {
		return c.made, nil
	}
	var made tls.Certificate
	if err == nil {
		made, err = tls.LoadX509KeyPair(c.cert, c.key)
	}
	if err != nil {
		return nil, &analysis.Fault{Code: "unreadable", What: "the certificate cannot be used", Where: c.cert, Why: err.Error(), Hint: "give a certificate and its key in PEM, and let the user of the server read both", Err: err}
	}
	c.made, c.changed = &made, changed
	return c.made, nil
}

// current returns the certificate of the files as they are now, or the last one that could
// be used: the two files do not change at one instant.
func (c *certificate) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	made, err := c.read()
	if err != nil {
		c.log.Error("the certificate counts as it was before", "error", err)
		return c.made, nil
	}
	return made, nil
}
