package streamable

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// noon is the time at which these tests check certificates.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// issued is a certificate with its key.
type issued struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

// issue makes a certificate that is valid for a time around noon. A nil issuer makes it
// self-signed.
func issue(t *testing.T, by *issued, name string, ca bool, from, to time.Duration) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: noon.Add(from),
		NotAfter: noon.Add(to),
		IsCA:     ca, BasicConstraintsValid: true, DNSNames: []string{name},
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if ca {
		template.KeyUsage |= x509.KeyUsageCertSign
	}
	parent := by
	if by == nil {
		parent = &issued{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.Certificate,
		key.Public(), parent.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issued{cert, key}
}

func writeChain(t *testing.T, file string, chain ...*issued) {
	t.Helper()
	var text []byte
	for _, c := range chain {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func writeKey(t *testing.T, file string, c *issued) {
	t.Helper()
	bytes, err := x509.MarshalPKCS8PrivateKey(c.key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes}),
		0o600); err != nil {
		t.Fatal(err)
	}
}

// pair writes the files of a chain.
func pair(t *testing.T, chain ...*issued) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeChain(t, cert, chain...)
	writeKey(t, key, chain[0])
	return cert, key
}

const day = 24 * time.Hour

func TestCertificatesThatClientsRefuse(t *testing.T) {
	root := issue(t, nil, "root", true, -day, 100*day)
	middle := issue(t, root, "middle", true, -day, 100*day)
	leaf := issue(t, middle, "leaf", false, -day, 100*day)
	late := issue(t, middle, "late", false, -2*day, -time.Hour)
	stale := issue(t, root, "stale", true, -2*day, -time.Hour)
	public := x509.NewCertPool()
	public.AddCert(issue(t, nil, "another root", true, -day, day).Certificate)
	own := public.Clone()
	own.AddCert(root.Certificate)
	for _, c := range []struct {
		name  string
		chain []*issued
		roots *x509.CertPool
		want  string // "" means no error
	}{
		{"a whole chain", []*issued{leaf, middle}, own, ""},
		{"with the root", []*issued{leaf, middle, root}, public, ""},
		{"in another order", []*issued{leaf, root, middle}, public, ""},
		{"self-signed", []*issued{issue(t, nil, "self", false, -day, day)}, public, ""},
		{"no intermediate", []*issued{leaf}, own,
			`the chain ends at "CN=leaf", and its issuer "CN=middle"`},
		{"an unknown root", []*issued{leaf, middle}, public,
			`the chain ends at "CN=middle", and its issuer "CN=root"`},
		{"a stranger in between", []*issued{leaf, issue(t, root, "other", true, -day, day)}, own,
			`the chain ends at "CN=leaf"`},
		{"expired", []*issued{late, middle}, own, `"CN=late" expired at 2026-06-01T11:00:00Z`},
		{"expired and alone", []*issued{late}, own, "expired"},
		{"an expired intermediate", []*issued{issue(t, stale, "x", false, -day, day), stale}, own,
			`"CN=stale" expired`},
		{"not yet valid", []*issued{issue(t, middle, "early", false, time.Hour, day), middle}, own,
			`"CN=early" is not valid before 2026-06-01T13:00:00Z`},
		{"a machine that trusts nobody", []*issued{leaf, middle}, x509.NewCertPool(), ""},
		{"the same with a leaf alone", []*issued{leaf}, x509.NewCertPool(), `ends at "CN=leaf"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			cert, key := pair(t, c.chain...)
			err := loaded(t, cert, key).Check(noon, c.roots)
			if (err == nil) != (c.want == "") ||
				err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), cert)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The chain of a private CA omits its root, which its clients trust and this machine may not. Check
// distinguishes it from a chain that no client accepts.
func TestChainWhoseRootIsUnknown(t *testing.T) {
	root := issue(t, nil, "root", true, -day, 100*day)
	middle := issue(t, root, "middle", true, -day, 100*day)
	lower := issue(t, middle, "lower", true, -day, 100*day)
	leaf := issue(t, middle, "leaf", false, -day, 100*day)
	stale := issue(t, root, "stale", true, -2*day, -time.Hour)
	public := x509.NewCertPool()
	public.AddCert(issue(t, nil, "another root", true, -day, day).Certificate)
	for _, c := range []struct {
		name  string
		chain []*issued
		want  bool
	}{
		{"without its root", []*issued{leaf, middle}, true},
		{"longer", []*issued{issue(t, lower, "x", false, -day, day), lower, middle}, true},
		{"a leaf alone", []*issued{leaf}, false},
		{"a gap", []*issued{issue(t, lower, "x", false, -day, day), middle}, false},
		{"a stranger in between", []*issued{leaf, issue(t, root, "other", true, -day, day)}, false},
		{"an expired intermediate", []*issued{issue(t, stale, "x", false, -day, day), stale}, false},
		{"a leaf that issues", []*issued{issue(t, leaf, "x", false, -day, day), leaf}, false},
	} {
		cert, key := pair(t, c.chain...)
		err := loaded(t, cert, key).Check(noon, public)
		if _, got := errors.AsType[*UnknownRootError](err); err == nil || got != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want && !strings.Contains(err.Error(), `clients have to trust "CN=root" themselves`) {
			t.Errorf("%s: told %v", c.name, err)
		}
	}
}

// Clients never get a certificate with the key of another, whichever file is written first. An
// unusable pair is reported once.
func TestCertificatesAreRenewedInPairs(t *testing.T) {
	one, two := issue(t, nil, "one", false, -day, day), issue(t, nil, "two", false, -day, day)
	cert, key := pair(t, one)
	c := loaded(t, cert, key)
	step := func(label string, atOnce, renewed bool, want string, serves *issued) {
		t.Helper()
		got, err := c.Renew(noon, atOnce)
		if got != renewed || (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %t, %v, want %t, %q", label, got, err, renewed, want)
		}
		if served, _ := c.get(nil); !served.Leaf.Equal(serves.Certificate) ||
			!serves.key.Equal(served.PrivateKey) {
			t.Errorf("%s: serves %v", label, served.Leaf.Subject)
		}
	}
	step("nothing", false, false, "", one)
	writeChain(t, cert, two)
	step("half of it is written", false, false, "", one)
	writeKey(t, key, two)
	step("all of it is", false, true, "", two)
	step("nothing more", true, false, "", two)

	const wrong = "private key does not match public key"
	writeKey(t, key, one)
	step("a wrong key", false, false, "", two)
	step("it stays", false, false, wrong, two)
	step("it is told", false, false, "", two)
	step("a reload", true, false, wrong, two)
	writeKey(t, key, two)
	step("the old pair is back", true, false, "", two)

	for label, text := range map[string]string{"no PEM": "x", "nothing": ""} {
		if err := os.WriteFile(cert, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		step(label, true, false, "failed to find", two)
	}
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	step("a missing file", true, false, "no such file", two)

	writeChain(t, cert, issue(t, nil, "late", false, -2*day, -day))
	writeKey(t, key, one)
	step("a wrong key for an expired one", true, false, wrong, two)
	late := issue(t, nil, "late", false, -2*day, -day)
	writeChain(t, cert, late)
	writeKey(t, key, late)
	step("an expired pair", true, false, `"CN=late" expired`, two)
	if renewed, err := c.Renew(noon.Add(2*day), true); !renewed || err != nil {
		t.Errorf("an expired pair for an expired one: got %t, %v", renewed, err)
	}
}

func TestExpiryOfAChain(t *testing.T) {
	root := issue(t, nil, "root", true, -day, day)
	middle := issue(t, root, "middle", true, -day, 2*day)
	for _, c := range []struct {
		name  string
		chain []*issued
		want  time.Duration
		soon  bool
	}{
		{"the leaf is first", []*issued{issue(t, middle, "leaf", false, -30*day, time.Hour), middle},
			time.Hour, true},
		{"the chain is first", []*issued{issue(t, middle, "leaf", false, -30*day, 60*day), middle},
			2 * day, true},
		{"a root is not sent for that", []*issued{issue(t, root, "leaf", false, -30*day, 60*day), root},
			60 * day, false},
		{"of a day", []*issued{issue(t, nil, "leaf", false, -12*time.Hour, 12*time.Hour)},
			12 * time.Hour, false},
		{"of a day, at its end", []*issued{issue(t, nil, "leaf", false, -20*time.Hour, 4*time.Hour)},
			4 * time.Hour, true},
	} {
		cert, key := pair(t, c.chain...)
		got := loaded(t, cert, key)
		if remaining := got.Expires().Sub(noon); remaining != c.want || got.ExpiresSoon(noon) != c.soon {
			t.Errorf("%s: %s, soon %t, want %s, %t", c.name, remaining, got.ExpiresSoon(noon),
				c.want, c.soon)
		}
	}
}

// New connections get the renewed certificate. Open connections continue.
func TestConnectionsGetTheRenewedCertificate(t *testing.T) {
	one, two := issue(t, nil, "one", false, -day, day), issue(t, nil, "two", false, -day, day)
	cert, key := pair(t, one)
	c := loaded(t, cert, key)
	address := start(t, ServerOptions{Handler: http.NotFoundHandler(), Certificate: c},
		func(*http.Server) {})
	dial := func(want string) *tls.Conn {
		// Only the identity of the certificate matters.
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if got := conn.ConnectionState().PeerCertificates[0].Subject.CommonName; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		return conn
	}
	open := dial("one")
	writeChain(t, cert, two)
	writeKey(t, key, two)
	if renewed, err := c.Renew(noon, true); !renewed || err != nil {
		t.Fatal(renewed, err)
	}
	dial("two")
	if _, err := open.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if n, err := open.Read(make([]byte, 100)); n == 0 {
		t.Errorf("the open connection: %v", err)
	}
}
