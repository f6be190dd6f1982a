package supervisor

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/gateway/config"
	"mcpd/internal/clock"
	"mcpd/telemetry"
	"mcpd/transport/streamable"
)

// writeCertificate writes a self-signed certificate that is valid for lives from now on.
func writeCertificate(t *testing.T, cert, key, name string, now time.Time, lives time.Duration) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(lives),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: bytes}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckCertificateOfAConfiguration(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	now := time.Now()
	writeCertificate(t, cert, key, "a", now, 24*time.Hour)
	for _, c := range []struct {
		name      string
		cert, key string
		now       time.Time
		want      string
	}{
		{"none", "", "", now, ""},
		{"good", cert, key, now, ""},
		{"expired", cert, key, now.Add(25 * time.Hour), `"CN=a" expired at`},
		{"missing", cert + "x", key, now, "no such file"},
		{"a missing key", cert, key + "x", now, "no such file"},
		{"swapped", key, cert, now, "failed to find"},
		{"the certificate for both", cert, cert, now, "found a certificate rather than a key"},
		{"a directory", dir, key, now, "not a regular file"},
	} {
		warning, err := CheckCertificate(&config.Config{TLS: config.TLS{Cert: c.cert, Key: c.key}}, c.now)
		if warning != nil || (err == nil) != (c.want == "") ||
			err != nil && (!strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), c.cert)) {
			t.Errorf("%s: got %v and doubt %v, want %q", c.name, err, warning, c.want)
		}
	}
}

// A certificate is renewed when its files change or a renewal is requested. It is reported once a
// day while clients refuse it or soon will.
func TestCertificateIsLookedAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		writeCertificate(t, cert, key, "first", time.Now(), 49*time.Hour)
		certificate, err := streamable.LoadCertificate(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex // guards told
		var told []string
		asked := make(chan struct{}, 1)
		r := &renewal{certificate: certificate, clock: clock.System, asked: asked,
			emit: func(e telemetry.Event) {
				mu.Lock()
				defer mu.Unlock()
				switch e := e.(type) {
				case telemetry.CertificateRenewed:
					told = append(told, fmt.Sprintf("renewed %s", e.Left.Round(time.Hour)))
				case telemetry.CertificateDoubted:
					told = append(told, e.Reason)
				}
			}}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Serve(ctx) }()
		step := func(label string, pass time.Duration, want ...string) {
			t.Helper()
			time.Sleep(pass)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			ok := len(told) == len(want)
			for i := range told {
				ok = ok && strings.Contains(told[i], want[i])
			}
			if !ok {
				t.Errorf("%s: told of %q, want %q", label, told, want)
			}
			told = nil
		}
		step("well", 38*time.Hour)
		step("soon", 2*time.Hour, "was not renewed")
		writeCertificate(t, cert, key, "second", time.Now(), 48*time.Hour)
		step("renewed", renewEvery, "renewed 48h0m0s")
		writeCertificate(t, cert, key, "third", time.Now(), 48*time.Hour)
		asked <- struct{}{}
		step("asked", 0, "renewed 48h0m0s")
		if err := os.WriteFile(key, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		step("a bad key is looked at twice", renewEvery)
		step("and told once", time.Minute, "the previous certificate is still served: ")
		asked <- struct{}{}
		step("but to whoever asks", 0, "the previous certificate is still served: ")
		step("its end", 40*time.Hour, "was not renewed")
		step("expired", 9*time.Hour, "expired at")
		step("still", 24*time.Hour, "expired at")
		stop()
		if err := <-ended; err != context.Canceled {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestCertificateIsMeasured(t *testing.T) {
	h := &host{clock: clock.System}
	if _, ok := h.certificateLeft(); ok {
		t.Error("a host without a certificate measures it")
	}
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, "a", time.Now(), time.Hour)
	c, err := streamable.LoadCertificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	h.certificate.Store(c)
	if remaining, ok := h.certificateLeft(); !ok || remaining < 59*time.Minute ||
		remaining > time.Hour {
		t.Errorf("got %s, %t", remaining, ok)
	}
}
